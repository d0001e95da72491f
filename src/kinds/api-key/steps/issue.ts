/** The irreversible part of an issue: from the last checks to the console's response. */

import { lookUpAccount } from "../../../accounts/look-up.ts";
import { clientIdentity } from "../../../connections/client-settings.ts";
import { commitOutcome, isIamError } from "../../../console/errors.ts";
import { keyText } from "../../../kube/resource.ts";
import { storeIntent } from "../../../reconciler/intent.ts";
import { INVENTED_SECRET, inventedId } from "../../../reconciler/plan/invented.ts";
import { UNKNOWN_RESYNC_MS } from "../../../reconciler/rules/error-policy.ts";
import { PartialFailure } from "../../../reconciler/rules/outcome.ts";
import {
  describeStop,
  UNREADABLE_RESPONSE,
  type UnreadableResponse,
  unreadableResponse,
} from "../../../reconciler/rules/unreadable-response.ts";
import { reconciling } from "../../../reconciler/rules/waiting.ts";
import { settleAll } from "../../../reconciler/settle-all.ts";
import { attemptId, describeKey } from "../../../resources/marker.ts";
import { apiKeyType } from "../../../resources/resource-types.ts";
import { intentText } from "../../../resources/stored-intent.ts";
import { type AgreedTime, certainTime, readTime } from "../../../util/agreed-time.ts";
import { inDays, MINUTE, toIso8601 } from "../../../util/time.ts";
import { accountKeyOf, type IssueCoordination, ownerKeyOf } from "../attempts.ts";
import { rehearsed } from "../rules/rehearsal.ts";
import {
  type ActionOf,
  type ApiKeyPerformed,
  type ApiKeyProgress,
  type ApiKeyRun,
  type ApiKeySnapshot,
  type HeldPair,
  type KeyNeed,
  nothingRemembered,
} from "../rules/snapshot.ts";
import { type IssueAttempt, keyStatusCodec } from "../rules/status.ts";
import { withAttempt, withoutAttempt } from "../rules/transitions.ts";
import { deletedAccount, inactiveAccount } from "../rules/unusable-account.ts";
import { heldPair, notesOn } from "./issued-pair.ts";
import { readyAccount, remembering, withDone, withEvent, withSnapshot } from "./progress.ts";
import { tryWrites } from "./rehearse.ts";
import type { ApiKeyEffect, ApiKeyRead, ApiKeyTransition } from "./step-types.ts";

/** Waits for an attempt of another ApiKey to be explained. */
export function queueForAccount({ line }: IssueCoordination): ApiKeyTransition<"QueueForAccount"> {
  return {
    note: (_, { snapshot: { object } }) => line.wait(accountKeyOf(object), ownerKeyOf(object)),
    after: (_, progress) => withDone(progress, { isQueued: true }),
  };
}

/**
 * Tries the writes of the new pair without storing anything, and reads the account's keys. If the Secret for the pair
 * exists unexpectedly, the rules judge it.
 */
export const precheck: ApiKeyRead<"Precheck"> = {
  read: async (_, progress, run) => {
    const { saId, session } = readyAccount(progress.snapshot);
    const [detail, trial] = await settleAll([
      lookUpAccount(run.console(session), saId, run.signal),
      tryWrites(progress.snapshot, run),
    ]);
    const { staging, refusal, notKept } = trial;
    if (staging !== undefined) return withSnapshot(progress, { staging });
    // The ServiceAccount may not have noticed yet.
    if (detail === undefined)
      return withSnapshot(progress, { account: deletedAccount(saId, UNKNOWN_RESYNC_MS) });
    const { status } = detail;
    if (status !== undefined && status !== "active")
      return withSnapshot(progress, { account: inactiveAccount(saId, status, MINUTE) });
    const precheck = { knownKeyIds: detail.keyIds, refusal, notKept };
    const rehearsal = rehearsed(progress.snapshot, trial, run.clock.monotonic());
    return remembering(withDone(progress, { precheck }), { rehearsal });
  },
};

/** Records the intent. From here on, a key may exist that no process has seen. */
export function recordIntent({
  attempts,
  namespaceIssues,
}: IssueCoordination): ApiKeyEffect<"RecordIntent", ApiKeyProgress> {
  return {
    call: async (action, progress, run) => {
      const { object, self } = progress.snapshot;
      const account = readyAccount(progress.snapshot);
      const at = readTime(run.clock);
      const startTime = at.now;
      const most = account.namespaceIssues?.most;
      const usage = () =>
        most === undefined
          ? undefined
          : namespaceIssues.usage(account.connection, self.namespace, most, at);
      const counted = () =>
        withSnapshot(progress, { account: { ...account, namespaceIssues: usage() } });
      // Other ApiKeys of the namespace may have been issued keys since this run read the count.
      if ((usage()?.freeAt ?? 0) > certainTime(at)) return counted();
      namespaceIssues.note(account.connection, self.namespace, self.uid, startTime);
      const id = attemptId(self.uid, run.random.id());
      attempts.begin(id, accountKeyOf(object), ownerKeyOf(object));
      try {
        return await store(intended(counted(), action, id, at), action.because, run);
      } catch (error) {
        // Only the run that recorded an attempt carries it out, so this attempt will never issue a key.
        attempts.withdraw(id);
        namespaceIssues.remove(account.connection, self.namespace, self.uid, startTime);
        throw error;
      }
    },
    planned: (action, progress, { clock }) => {
      const id = attemptId(progress.snapshot.self.uid, "plan");
      return { answer: intended(progress, action, id, readTime(clock)) };
    },
    after: (_, __, recorded) => recorded,
  };
}

function intended(
  progress: ApiKeyProgress,
  { because, knownKeyIds, revision }: ActionOf<"RecordIntent">,
  id: string,
  at: AgreedTime,
): ApiKeyProgress {
  const { self, spec, status } = progress.snapshot;
  const attempt: IssueAttempt = {
    id,
    revision,
    reason: because.reason,
    startTime: at.now,
    expiresInDays: spec.expiresInDays,
    knownKeyIds,
    serviceAccount: spec.serviceAccountRef.name,
    saId: readyAccount(progress.snapshot).saId,
  };
  const intent = withSnapshot(progress, {
    status: withAttempt(status, attempt, self.rotateToken, certainTime(at)),
  });
  return withDone(intent, { intentRecorded: id });
}

/** Stores the intent in the annotation, or in the status if the response to that write does not show it. */
async function store(
  intent: ApiKeyProgress,
  { message }: KeyNeed,
  run: ApiKeyRun,
): Promise<ApiKeyProgress> {
  const { object, status } = intent.snapshot;
  const { attempt, recentIssues, lastHandledRotateAt, earlierRotateRequests } =
    keyStatusCodec.encode(status);
  if (attempt === undefined) throw new Error("an intent has an attempt");
  const text = intentText(
    { attempt, recentIssues, lastHandledRotateAt, earlierRotateRequests },
    object,
  );
  const written = await storeIntent(run, apiKeyType, object, { attemptId: attempt.id, text });
  const stored = withSnapshot(intent, { object: written.object });
  return written.isStored ? stored : run.writeStatus(stored, reconciling("Issuing", message));
}

/**
 * Calls issueKey once. The pair stays in process memory until it is written. A rejection closes the attempt. Any other
 * failure leaves the attempt open, and a later run explains it.
 */
export function issueKey(
  coordination: IssueCoordination,
): ApiKeyEffect<"IssueKey", HeldPair | undefined> {
  return {
    call: async (_, progress, run) => {
      const { self, spec, status } = progress.snapshot;
      const { attempt } = status;
      if (attempt === undefined) return undefined;
      const { saId, session } = readyAccount(progress.snapshot, attempt);
      const issueTime = run.clock.now();
      const { expiresInDays } = spec;
      const description = describeKey(spec.description, self, attempt.id, run.clusterName);
      const console = run.console(session);
      const answer = await console
        .issueKey({ saId, description, expiresInDays })
        .catch((error: unknown) => failIssue(progress, attempt, error, run, coordination));
      const consoleTime = console.consoleTime();
      const held = heldPair(attempt, answer, { issueTime, expiresInDays, consoleTime });
      hold(held, progress, attempt, run, coordination);
      return held;
    },
    planned: (_, { snapshot }, { clock }) => {
      const { self, spec, status } = snapshot;
      const { saId } = readyAccount(snapshot, status.attempt);
      const { expiresInDays } = spec;
      const pair = { keyId: inventedId(keyText(self)), secret: INVENTED_SECRET };
      const times = { issueTime: clock.now(), expiresInDays, consoleTime: undefined };
      const message = `Issues a key of service account ${saId} valid for ${inDays(expiresInDays)}.`;
      return {
        answer: status.attempt && heldPair(status.attempt, pair, times),
        line: { call: "issueKey", object: saId, message },
      };
    },
    after: (_, progress, held) => (held === undefined ? progress : withNewPair(progress, held)),
  };
}

/** The pair exists only here until it is staged. */
function hold(
  held: HeldPair,
  { snapshot: { object, self, spec, status } }: ApiKeyProgress,
  attempt: IssueAttempt,
  run: ApiKeyRun,
  { attempts, heldPairs }: IssueCoordination,
): void {
  const { namespace, name } = self;
  const { keyId, expirationTime } = held.pair;
  heldPairs.set(self.uid, { ...held, owner: { namespace, name } });
  attempts.explain(attempt.id, accountKeyOf(object, attempt), [keyId]);
  run.metrics.apiKeyIssues.inc({ result: "Issued" });
  const { id, reason } = attempt;
  run.log.info({ namespace, name, keyId, attempt: id, reason }, "issued key");
  for (const { reason: unusual } of notesOn(held.pair, spec.expiresInDays, status))
    run.log.warn(
      { namespace, name, keyId, attempt: id, reason: unusual, expires: toIso8601(expirationTime) },
      "unusual new key",
    );
}

/** Always throws. */
function failIssue(
  progress: ApiKeyProgress,
  attempt: IssueAttempt,
  error: unknown,
  run: ApiKeyRun,
  { attempts, namespaceIssues }: IssueCoordination,
): never {
  const { object, self, status } = progress.snapshot;
  const { connection, connectionSpec } = readyAccount(progress.snapshot);
  noteFailure(self, attempt, error, run);
  const carriedOut = withDone(progress, { intentRecorded: undefined });
  const unreadable = unreadableResponse(error, attempt.id, object, clientIdentity(connectionSpec));
  if (unreadable !== undefined) {
    run.setState({ ...(run.state ?? nothingRemembered), unreadableResponse: unreadable });
    throw new PartialFailure(stopped(carriedOut, unreadable), error);
  }
  if (commitOutcome(error) === "Unknown") throw new PartialFailure(carriedOut, error);
  attempts.explain(attempt.id, accountKeyOf(object, attempt), []);
  namespaceIssues.remove(connection, self.namespace, self.uid, attempt.startTime);
  const refused = { status: withoutAttempt(status, true) };
  throw new PartialFailure(withSnapshot(carriedOut, refused), error);
}

/** No further key is issued for the time being; the attempt stays open until its key is accounted for. */
function stopped(progress: ApiKeyProgress, response: UnreadableResponse): ApiKeyPerformed {
  const { status } = progress.snapshot;
  return withEvent(
    withSnapshot(progress, { status: { ...status, unreadableResponse: response } }),
    UNREADABLE_RESPONSE,
    "Issue",
    describeStop(response),
  );
}

function withNewPair(progress: ApiKeyProgress, held: HeldPair): ApiKeyPerformed {
  const { spec, status } = progress.snapshot;
  const issued = withDone(withSnapshot(progress, { held }), { intentRecorded: undefined });
  return notesOn(held.pair, spec.expiresInDays, status).reduce<ApiKeyPerformed>(
    (performed, { reason, note }) => withEvent(performed, reason, "Issue", note),
    issued,
  );
}

function noteFailure(
  { namespace, name }: ApiKeySnapshot["self"],
  { id }: IssueAttempt,
  error: unknown,
  { metrics, log }: ApiKeyRun,
): void {
  const outcome = commitOutcome(error);
  const { requestId, message } = isIamError(error) ? error : {};
  metrics.apiKeyIssues.inc({ result: outcome });
  log.warn(
    { namespace, name, attempt: id, outcome, iamRequestId: requestId, why: message },
    "could not issue a key",
  );
}
