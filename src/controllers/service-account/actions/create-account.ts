/** Creates an account: the intent, then the call that cannot be repeated. */
import { commitOutcome } from "../../../iam/errors.ts";
import type { NewServiceAccount } from "../../../iam/model.ts";
import { keyOf } from "../../../kube/resource.ts";
import { parseInstant, toIso8601 } from "../../../util/time.ts";
import type { ReconcileContext } from "../../frame/kind-controller.ts";
import { PartialFailure } from "../../frame/rules/outcome.ts";
import { reconciling } from "../../frame/rules/waiting.ts";
import { writeObjectStatus } from "../../frame/write-report.ts";
import { attemptId } from "../../marker.ts";
import { CREATING } from "../../new-account.ts";
import type { MarkedAccounts } from "../marked-accounts.ts";
import { fromConsole } from "../rules/account.ts";
import { expectedAccount } from "../rules/desired-account.ts";
import { FOREIGN_FIELDS, objectReport } from "../rules/report.ts";
import type { AccountProgress, AccountState } from "../rules/snapshot.ts";
import { clientOf, connectionOf } from "./look-up.ts";

/** S6: only if nobody has changed the object since it was read; rejects with Conflict otherwise. */
export async function recordAttempt(
  { snapshot, done }: AccountProgress,
  run: ReconcileContext<AccountState>,
): Promise<AccountProgress> {
  const { clock, random } = run;
  const { uid, resourceVersion } = snapshot.object.metadata;
  const id = attemptId(uid, random.id());
  const now = clock.now();
  // As it will be read back: times in a status have whole seconds.
  const startTime = parseInstant(toIso8601(now)) ?? now;
  // A call of the attempt before, if there is one, may still take effect.
  const recoveryTime = snapshot.attempt === undefined ? snapshot.recoveryTime : now;
  const announced = { ...snapshot, attempt: { id, startTime }, recoveryTime };
  const readiness = reconciling(CREATING, "The account is being created in the console.");
  const object = await writeObjectStatus(
    {
      ...objectReport(announced, readiness, undefined),
      write: { resourceVersion, foreignFields: FOREIGN_FIELDS },
    },
    run,
  );
  return { snapshot: { ...announced, object }, done: { ...done, announced: id } };
}

/** createServiceAccount, once. A refusal closes the attempt; any other failure leaves it open for recovery. */
export async function createAccount(
  account: NewServiceAccount,
  { snapshot, done }: AccountProgress,
  run: ReconcileContext<AccountState>,
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
