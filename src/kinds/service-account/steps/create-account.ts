/** Creates an account: records the intent, then makes the call that must not be repeated. */

import { CREATING } from "../../../accounts/new-account.ts";
import { toEvent } from "../../../api/events.ts";
import { clientIdentity } from "../../../connections/client-settings.ts";
import { commitOutcome } from "../../../console/errors.ts";
import type { IamServiceAccount } from "../../../console/model.ts";
import { keyOf } from "../../../kube/resource.ts";
import { accessToRevoke } from "../../../reconciler/context.ts";
import { addFinalizer } from "../../../reconciler/finalizers.ts";
import { storeIntent } from "../../../reconciler/intent.ts";
import { inventedId, inventedTpn } from "../../../reconciler/plan/invented.ts";
import { PartialFailure } from "../../../reconciler/rules/outcome.ts";
import {
  describeStop,
  UNREADABLE_RESPONSE,
  type UnreadableResponse,
  unreadableResponse,
} from "../../../reconciler/rules/unreadable-response.ts";
import { reconciling } from "../../../reconciler/rules/waiting.ts";
import type { Performed } from "../../../reconciler/run-context.ts";
import { attemptId, markerOf } from "../../../resources/marker.ts";
import { serviceAccountType } from "../../../resources/resource-types.ts";
import { intentText } from "../../../resources/stored-intent.ts";
import { type Instant, parseInstant, toIso8601 } from "../../../util/time.ts";
import type { MarkedAccounts } from "../marked-accounts.ts";
import { fromConsole } from "../rules/account.ts";
import { desiredAccount, expectedAccount } from "../rules/desired-account.ts";
import type { AccountKind, AccountProgress, AccountSnapshot } from "../rules/snapshot.ts";
import { accountStatusCodec } from "../rules/status.ts";
import { connectionOf, sessionOf } from "./look-up.ts";
import type { AccountEffect } from "./step-types.ts";

/**
 * Records the intent (S6) only if the object has not changed since it was read; rejects with Conflict otherwise. Writes
 * the intent to the annotation if descriptions will show what the attempt created, otherwise to the status, which
 * tenants cannot write.
 */
export const recordAttempt: AccountEffect<"RecordAttempt", AccountProgress> = {
  call: async (_, { snapshot, done }, run) => {
    const id = attemptId(snapshot.object.metadata.uid, run.random.id());
    const announced = withIntent({ snapshot, done }, id, run.clock.now());
    const { described } = announced.snapshot.attempt ?? {};
    const { object: held, isStored } =
      described === undefined
        ? { object: await addFinalizer(run, serviceAccountType, snapshot.object), isStored: false }
        : await storeIntent(run, serviceAccountType, snapshot.object, {
            attemptId: id,
            text: textOf(announced.snapshot),
          });
    const stored = { ...announced, snapshot: { ...announced.snapshot, object: held } };
    return isStored ? stored : run.writeStatus(stored, CREATION);
  },
  planned: (_, progress, { clock }) => ({
    answer: withIntent(
      progress,
      attemptId(progress.snapshot.object.metadata.uid, "plan"),
      clock.now(),
    ),
  }),
  after: (_, __, announced) => announced,
};

const CREATION = reconciling(CREATING, "The account is being created in the console.");

function withIntent(
  { snapshot, done }: AccountProgress,
  id: string,
  now: Instant,
): AccountProgress {
  // As it will be read back: times in a status have whole seconds.
  const startTime = parseInstant(toIso8601(now)) ?? now;
  // The call of an earlier attempt may still take effect.
  const recoveryTime = snapshot.attempt === undefined ? snapshot.recoveryTime : now;
  const { name } = desiredAccount(snapshot);
  const attempt = { id, startTime, name, described: isDescribed(snapshot) || undefined };
  return {
    snapshot: { ...snapshot, attempt, unreadableResponse: undefined, recoveryTime },
    done: { ...done, announced: id },
  };
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

function unreadableIn(
  error: unknown,
  attempt: string | undefined,
  { object, connection }: AccountSnapshot,
): UnreadableResponse | undefined {
  const access = accessToRevoke(connection);
  if (attempt === undefined || access === undefined) return undefined;
  return unreadableResponse(error, attempt, object, clientIdentity(access.spec));
}

/** No second account is created for the time being; the attempt stays open until its account is found. */
function stopped(
  { snapshot, done }: AccountProgress,
  response: UnreadableResponse,
): Performed<AccountKind> {
  const { object } = snapshot;
  const event = toEvent(UNREADABLE_RESPONSE, "Create", describeStop(response));
  return {
    snapshot: { ...snapshot, unreadableResponse: response },
    done,
    events: [{ object, event }],
  };
}

interface Created {
  readonly account: IamServiceAccount;
  readonly lookTime: Instant;
}

/** Calls createServiceAccount once. A rejection closes the attempt; any other failure leaves it open for recovery. */
export function createAccount({ lists }: MarkedAccounts): AccountEffect<"CreateAccount", Created> {
  return {
    call: async ({ account }, { snapshot, done }, run) => {
      const { clock, log, signal } = run;
      const attempt = done.announced;
      const lookTime = clock.now();
      lists.noteCreation(connectionOf(snapshot), lookTime);
      try {
        const client = run.console(sessionOf(snapshot));
        const created = await client.createServiceAccount(account, signal);
        if (attempt !== undefined)
          run.setState({ ...run.state, created: { attempt, account: created } });
        const { saId } = created;
        log.info({ ...keyOf(snapshot.object), saId, attempt }, "created service account");
        return { account: created, lookTime };
      } catch (error) {
        const unreadable = unreadableIn(error, attempt, snapshot);
        if (unreadable !== undefined) {
          run.setState({ ...run.state, unreadableResponse: unreadable });
          log.warn(
            { ...keyOf(snapshot.object), attempt, why: unreadable.message },
            "could not read the response to the creation of a service account",
          );
          throw new PartialFailure(stopped({ snapshot, done }, unreadable), error);
        }
        if (commitOutcome(error) !== "NotCommitted") throw error;
        throw new PartialFailure({ snapshot: { ...snapshot, attempt: undefined }, done }, error);
      }
    },
    planned: ({ account }, _, { clock }) => {
      const { name, projectId } = account;
      const saId = inventedId(name);
      const message = `Creates service account ${name} in project ${projectId}.`;
      return {
        answer: {
          account: { ...account, saId, tpn: inventedTpn(saId), status: "active" },
          lookTime: clock.now(),
        },
        line: { call: "createServiceAccount", object: name, message },
      };
    },
    after: (_, { snapshot, done }, { account, lookTime }) => {
      // The console documents that a new account has no keys.
      const known = { ...expectedAccount(snapshot, "Created"), liveKeyIds: [] };
      return {
        snapshot: { ...snapshot, account: fromConsole(account, known), attempt: undefined },
        done: { ...done, lookTime, became: "Created" },
      };
    },
  };
}
