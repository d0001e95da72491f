/** Creates an account: records the intent, then makes the call that must not be repeated. */
import { commitOutcome } from "../../../iam/errors.ts";
import type { NewServiceAccount } from "../../../iam/model.ts";
import { keyOf } from "../../../kube/resource.ts";
import { parseInstant, toIso8601 } from "../../../util/time.ts";
import { addFinalizer } from "../../frame/finalizers.ts";
import { storeIntent } from "../../frame/intent.ts";
import type { ReconcileContext } from "../../frame/kind-controller.ts";
import { PartialFailure } from "../../frame/rules/outcome.ts";
import { reconciling } from "../../frame/rules/waiting.ts";
import { attemptId, markerOf } from "../../marker.ts";
import { CREATING } from "../../new-account.ts";
import { serviceAccountType } from "../../resource-types.ts";
import { intentText } from "../../stored-intent.ts";
import type { MarkedAccounts } from "../marked-accounts.ts";
import { fromConsole } from "../rules/account.ts";
import { expectedAccount } from "../rules/desired-account.ts";
import type { AccountKind, AccountProgress, AccountSnapshot } from "../rules/snapshot.ts";
import { accountStatusCodec } from "../rules/status.ts";
import { clientOf, connectionOf } from "./look-up.ts";

/**
 * Records the intent (S6) only if the object has not changed since it was read; rejects with Conflict otherwise. Writes
 * the intent to the annotation if descriptions will show what the attempt created, otherwise to the status, which
 * tenants cannot write.
 */
export async function recordAttempt(
  { snapshot, done }: AccountProgress,
  run: ReconcileContext<AccountKind>,
): Promise<AccountProgress> {
  const { clock, random } = run;
  const id = attemptId(snapshot.object.metadata.uid, random.id());
  const now = clock.now();
  // As it will be read back: times in a status have whole seconds.
  const startTime = parseInstant(toIso8601(now)) ?? now;
  // The call of an earlier attempt may still take effect.
  const recoveryTime = snapshot.attempt === undefined ? snapshot.recoveryTime : now;
  const described = isDescribed(snapshot) || undefined;
  const attempt = { id, startTime, described };
  const announced = { ...snapshot, attempt, recoveryTime };
  const { object: held, isStored } =
    described === undefined
      ? { object: await addFinalizer(run, serviceAccountType, snapshot.object), isStored: false }
      : await storeIntent(run, serviceAccountType, snapshot.object, {
          attemptId: id,
          text: textOf(announced),
        });
  if (isStored)
    return { snapshot: { ...announced, object: held }, done: { ...done, announced: id } };
  return run.writeStatus(
    { snapshot: { ...announced, object: held }, done: { ...done, announced: id } },
    reconciling(CREATING, "The account is being created in the console."),
  );
}

/**
 * Whether the console returns descriptions as the operator wrote them. False for an open attempt, which is in the
 * status.
 */
function isDescribed({ listing, attempt }: AccountSnapshot): boolean {
  if (attempt !== undefined || listing?.ok !== true) return false;
  return listing.accounts.some(({ description = "" }) => markerOf(description) !== undefined);
}

function textOf({ attempt, object }: AccountSnapshot): string {
  const stored = accountStatusCodec.encode({ attempt }).attempt;
  if (stored === undefined) throw new Error("an intent has an attempt");
  return intentText({ attempt: stored }, object);
}

/** Calls createServiceAccount once. A rejection closes the attempt; any other failure leaves it open for recovery. */
export async function createAccount(
  account: NewServiceAccount,
  { snapshot, done }: AccountProgress,
  run: ReconcileContext<AccountKind>,
  { lists }: MarkedAccounts,
): Promise<AccountProgress> {
  const { clock, log, signal } = run;
  const { object } = snapshot;
  const attempt = done.announced;
  const lookTime = clock.now();
  lists.noteCreation(connectionOf(snapshot), lookTime);
  try {
    const created = await clientOf(snapshot).createServiceAccount(account, signal);
    if (attempt !== undefined)
      run.setState({ ...run.state, created: { attempt, account: created } });
    log.info({ ...keyOf(object), saId: created.saId, attempt }, "created service account");
    // The console documents that a new account has no keys.
    const known = { ...expectedAccount(snapshot, "Created"), liveKeyIds: [] };
    return {
      snapshot: { ...snapshot, account: fromConsole(created, known), attempt: undefined },
      done: { ...done, lookTime, became: "Created" },
    };
  } catch (error) {
    if (commitOutcome(error) !== "NotCommitted") throw error;
    throw new PartialFailure({ snapshot: { ...snapshot, attempt: undefined }, done }, error);
  }
}
