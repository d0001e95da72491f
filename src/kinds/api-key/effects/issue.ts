/** The irreversible part of an issue: from the last checks to the console's response. */

import { creatorMismatch } from "../../../accounts/creator-mismatch.ts";
import { lookUpAccount } from "../../../accounts/look-up.ts";
import { clientIdentity } from "../../../connections/client-settings.ts";
import { commitOutcome, isIamError } from "../../../console/errors.ts";
import { keyText } from "../../../kube/resource.ts";
import { storeIntent } from "../../../reconciler/intent.ts";
import { INVENTED_SECRET, inventedId } from "../../../reconciler/plan/invented.ts";
import { UNKNOWN_RESYNC_MS } from "../../../reconciler/rules/error-policy.ts";
import { PartialFailure } from "../../../reconciler/rules/partial-failure.ts";
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
import type { IssueCoordination } from "../coordination.ts";
import { rehearsed } from "../rules/rehearsal.ts";
import {
  type ApiKeyRun,
  type ApiKeySnapshot,
  type HeldPair,
  type KeyNeed,
  nothingRemembered,
} from "../rules/snapshot.ts";
import { type IssueAttempt, keyStatusCodec } from "../rules/status.ts";
import { withAttempt, withoutAttempt } from "../rules/transitions.ts";
import { deletedAccount, foreignAccount, inactiveAccount } from "../rules/unusable-account.ts";
import { about, keyEffect, readyAccount, remembering, writeStatus } from "./define.ts";
import { heldPair, notesOn } from "./issued-pair.ts";
import { tryWrites } from "./rehearse.ts";

/**
 * Tries the writes of the new pair without storing anything, and reads the account's keys. If the Secret for the pair
 * exists unexpectedly, or the account is not usable, the snapshot says so and has no `precheck`.
 */
export const precheck = keyEffect<void>({
  kind: "Precheck",
  read: async (_, snapshot, run) => {
    const before = { ...snapshot, precheck: undefined };
    const { saId, session, creator } = readyAccount(snapshot);
    const [detail, trial] = await settleAll([
      lookUpAccount(run.console(session), saId, run.signal),
      tryWrites(snapshot, run),
    ]);
    const { pending } = trial;
    if (pending !== undefined) return { answer: { ...before, pending } };
    // The ServiceAccount may not have noticed yet.
    if (detail === undefined)
      return { answer: { ...before, account: deletedAccount(saId, UNKNOWN_RESYNC_MS) } };
    if (creator !== undefined && creatorMismatch(detail, creator) !== undefined)
      return { answer: { ...before, account: foreignAccount(saId, MINUTE) } };
    const { status } = detail;
    if (status !== undefined && status !== "active")
      return { answer: { ...before, account: inactiveAccount(saId, status, MINUTE) } };
    const rehearsal = rehearsed(snapshot, trial, run.clock.monotonic());
    const found = { knownKeyIds: detail.keyIds, stop: rehearsal.stop };
    const known = { rehearsal };
    return { answer: { ...before, ...known, precheck: found }, remember: remembering(known) };
  },
});

interface Intent {
  readonly because: KeyNeed;
  readonly knownKeyIds: readonly string[] | undefined;
  readonly revision: number;
}

/**
 * Records the intent. From here on, a key may exist that no process has seen. Records nothing if other ApiKeys of the
 * namespace have used up its budget since this run has read the count.
 */
export function recordIntent({ namespaceIssues }: IssueCoordination) {
  return keyEffect<Intent>({
    kind: "RecordIntent",
    call: async (intent, snapshot, run) => {
      const { self } = snapshot;
      const account = readyAccount(snapshot);
      const at = readTime(run.clock);
      const startTime = at.now;
      const most = account.namespaceIssues?.most;
      const usage = () =>
        most === undefined
          ? undefined
          : namespaceIssues.usage(account.connection, self.namespace, most, at);
      const counted = () => ({ ...snapshot, account: { ...account, namespaceIssues: usage() } });
      if ((usage()?.freeAt ?? 0) > certainTime(at)) return { answer: counted() };
      namespaceIssues.note(account.connection, self.namespace, self.uid, startTime);
      const id = attemptId(self.uid, run.random.id());
      try {
        return { answer: await store(intended(counted(), intent, id, at), intent.because, run) };
      } catch (error) {
        // Only the run that recorded an attempt carries it out, so this attempt will never issue a key.
        namespaceIssues.remove(account.connection, self.namespace, self.uid, startTime);
        throw error;
      }
    },
    planned: (intent, snapshot, { clock }) => {
      const id = attemptId(snapshot.self.uid, "plan");
      return { answer: intended(snapshot, intent, id, readTime(clock)) };
    },
  });
}

function intended(
  snapshot: ApiKeySnapshot,
  { because, knownKeyIds, revision }: Intent,
  id: string,
  at: AgreedTime,
): ApiKeySnapshot {
  const { self, spec, status } = snapshot;
  const attempt: IssueAttempt = {
    id,
    revision,
    reason: because.reason,
    startTime: at.now,
    expiresInDays: spec.expiresInDays,
    knownKeyIds,
    settled: undefined,
    serviceAccount: spec.serviceAccountRef.name,
    saId: readyAccount(snapshot).saId,
  };
  return {
    ...snapshot,
    status: withAttempt(status, attempt, self.rotateToken, certainTime(at)),
  };
}

/** Stores the intent in the annotation, or in the status if the response to that write does not show it. */
async function store(
  intent: ApiKeySnapshot,
  { message }: KeyNeed,
  run: ApiKeyRun,
): Promise<ApiKeySnapshot> {
  const { object, status } = intent;
  const { attempt, recentIssues, lastHandledRotateAt, earlierRotateRequests } =
    keyStatusCodec.encode(status);
  if (attempt === undefined) throw new Error("an intent has an attempt");
  const text = intentText(
    { attempt, recentIssues, lastHandledRotateAt, earlierRotateRequests },
    object,
  );
  const written = await storeIntent(run, apiKeyType, object, { attemptId: attempt.id, text });
  const stored = { ...intent, object: written.object };
  return written.isStored ? stored : writeStatus(stored, run, reconciling("Issuing", message));
}

/**
 * Calls issueKey once. The pair stays in process memory until it is written. A rejection closes the attempt. Any other
 * failure leaves the attempt open, and a later run explains it.
 */
export function issueKey(coordination: IssueCoordination) {
  return keyEffect<{ readonly attempt: IssueAttempt }>({
    kind: "IssueKey",
    call: async ({ attempt }, snapshot, run) => {
      const { self, spec } = snapshot;
      const { saId, session } = readyAccount(snapshot, attempt);
      const issueTime = run.clock.now();
      const { expiresInDays } = spec;
      const description = describeKey(spec.description, self, attempt.id, run.clusterName);
      const console = run.console(session);
      const answer = await console
        .issueKey({ saId, description, expiresInDays })
        .catch((error: unknown) => failIssue(snapshot, attempt, error, run, coordination));
      const consoleTime = console.consoleTime();
      const held = heldPair(attempt, answer, { issueTime, expiresInDays, consoleTime });
      hold(held, snapshot, attempt, run, coordination);
      const events = notesOn(held.pair, expiresInDays, snapshot.status).map(({ reason, note }) =>
        about(snapshot, reason, "Issue", note),
      );
      return { answer: { ...snapshot, held }, events };
    },
    planned: ({ attempt }, snapshot, { clock }) => {
      const { self, spec } = snapshot;
      const { saId } = readyAccount(snapshot, attempt);
      const { expiresInDays } = spec;
      const pair = { keyId: inventedId(keyText(self)), secret: INVENTED_SECRET };
      const times = { issueTime: clock.now(), expiresInDays, consoleTime: undefined };
      const message = `Issues a key of service account ${saId} valid for ${inDays(expiresInDays)}.`;
      return {
        answer: { ...snapshot, held: heldPair(attempt, pair, times) },
        line: { call: "issueKey", object: saId, message },
      };
    },
  });
}

/** The pair exists only here until it is staged. */
function hold(
  held: HeldPair,
  { self, spec, status }: ApiKeySnapshot,
  attempt: IssueAttempt,
  run: ApiKeyRun,
  { heldPairs }: IssueCoordination,
): void {
  const { namespace, name } = self;
  const { keyId, expirationTime } = held.pair;
  heldPairs.set(self.uid, { ...held, owner: { namespace, name } });
  run.metrics.apiKeyIssues.inc({ result: "Issued" });
  const { id, reason } = attempt;
  run.log.info({ namespace, name, keyId, attempt: id, reason }, "issued key");
  for (const { reason: unusual } of notesOn(held.pair, spec.expiresInDays, status))
    run.log.warn(
      { namespace, name, keyId, attempt: id, reason: unusual, expires: toIso8601(expirationTime) },
      "unusual new key",
    );
}

/** Always throws: the report of the failure is about the attempt as the console's answer leaves it. */
function failIssue(
  snapshot: ApiKeySnapshot,
  attempt: IssueAttempt,
  error: unknown,
  run: ApiKeyRun,
  { namespaceIssues }: IssueCoordination,
): never {
  const { object, self, status } = snapshot;
  const { connection, connectionSpec } = readyAccount(snapshot);
  noteFailure(self, attempt, error, run);
  const unreadable = unreadableResponse(error, attempt.id, object, clientIdentity(connectionSpec));
  if (unreadable !== undefined) {
    run.setState({ ...(run.state ?? nothingRemembered), unreadableResponse: unreadable });
    throw stopped(snapshot, unreadable, error);
  }
  if (commitOutcome(error) === "Unknown") throw error;
  namespaceIssues.remove(connection, self.namespace, self.uid, attempt.startTime);
  const refused = { ...snapshot, status: withoutAttempt(status, true) };
  throw new PartialFailure(refused, error);
}

/** No further key is issued for the time being; the attempt stays open until its key is accounted for. */
function stopped(
  snapshot: ApiKeySnapshot,
  response: UnreadableResponse,
  error: unknown,
): PartialFailure {
  const status = { ...snapshot.status, unreadableResponse: response };
  const events = [about(snapshot, UNREADABLE_RESPONSE, "Issue", describeStop(response))];
  return new PartialFailure({ ...snapshot, status }, error, events);
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
