/** The irreversible part of an issue: from the last checks to the console's response. */
import { commitOutcome, isIamError, quoteServerText } from "../../../iam/errors.ts";
import { type KeyPair, SECRET_LENGTH } from "../../../iam/model.ts";
import { isKubeError } from "../../../kube/errors.ts";
import { keyText } from "../../../kube/resource.ts";
import { Redacted } from "../../../util/redacted.ts";
import { type Instant, MINUTE } from "../../../util/time.ts";
import { SpecError } from "../../frame/errors.ts";
import { storeIntent } from "../../frame/intent.ts";
import { INVENTED_SECRET, inventedId } from "../../frame/plan/invented.ts";
import { UNKNOWN_RESYNC_MS } from "../../frame/rules/error-policy.ts";
import { PartialFailure, type Waiting } from "../../frame/rules/outcome.ts";
import { reconciling } from "../../frame/rules/waiting.ts";
import { settleAll } from "../../frame/settle-all.ts";
import { lookUpAccount } from "../../look-up-account.ts";
import { attemptId, describeKey } from "../../marker.ts";
import { apiKeyType, secretType } from "../../resource-types.ts";
import { intentText } from "../../stored-intent.ts";
import { accountKeyOf, type IssueCoordination, ownerKeyOf } from "../attempts.ts";
import { readSecret } from "../read-secret.ts";
import { expiryOf } from "../rules/schedule.ts";
import type {
  ActionOf,
  ApiKeyPerformed,
  ApiKeyProgress,
  ApiKeyReading,
  ApiKeyRun,
  ApiKeySnapshot,
  HeldPair,
  KeyNeed,
} from "../rules/snapshot.ts";
import { type IssueAttempt, keyStatusCodec } from "../rules/status.ts";
import { withAttempt, withoutAttempt } from "../rules/transitions.ts";
import type { IssuedPair } from "../secret/pair.ts";
import { dryRunSecret, targetSecret } from "../secret/render.ts";
import type { SecretView } from "../secret/view.ts";
import { readyAccount, withDone, withEvent, withSnapshot } from "./progress.ts";
import type { ApiKeyEffect, ApiKeyRead, ApiKeyTransition } from "./step-types.ts";

/**
 * Contains characters that JSON must escape: an entry that must be JSON is rejected now unless it is valid for every
 * secret.
 */
const SAMPLE_SECRET = new Redacted(`"\\`.padEnd(SECRET_LENGTH, "x"));

/** Waits for an attempt of another ApiKey to be explained. */
export function queueForAccount({ line }: IssueCoordination): ApiKeyTransition<"QueueForAccount"> {
  return {
    note: (_, { snapshot: { object } }) => line.wait(accountKeyOf(object), ownerKeyOf(object)),
    after: (_, progress) => withDone(progress, { isQueued: true }),
  };
}

/**
 * Checks without side effects whether the new pair can be stored, and reads the account's keys. If the Secret for the
 * pair exists unexpectedly, reads it instead, so that the rules judge it.
 */
export const precheck: ApiKeyRead<"Precheck"> = {
  read: async (_, progress, run) => {
    const { saId, session } = readyAccount(progress.snapshot);
    const [detail, staging] = await settleAll([
      lookUpAccount(run.console(session), saId, run.signal),
      tryStaging(progress.snapshot, run),
    ]);
    if (staging !== undefined) return withSnapshot(progress, { staging });
    if (detail === undefined)
      throw new SpecError(
        "ServiceAccountGone",
        `The console no longer has service account ${saId}.`,
        UNKNOWN_RESYNC_MS,
      );
    const { status } = detail;
    if (status !== undefined && status !== "active")
      return withSnapshot(progress, { account: notActive(saId, status) });
    return withDone(progress, { precheck: { knownKeyIds: detail.keyIds } });
  },
};

/**
 * The account's keys do not work, which explains any apparent need for a new key. The ServiceAccount may not have
 * noticed yet.
 */
function notActive(saId: string, status: string): Waiting {
  return reconciling(
    "ServiceAccountNotReady",
    `The console reports that service account ${saId} is ${quoteServerText(status)}, not active: its keys do not work, and the operator issues no key. Activate the account in the console.`,
    MINUTE,
  );
}

/**
 * A dry run of the write that must not fail, with everything that the consumers' Secret will hold. The API server
 * rejects now what it would reject later in either Secret. Returns the conflicting Secret, if there is one.
 */
async function tryStaging(
  snapshot: ApiKeySnapshot,
  run: ApiKeyReading,
): Promise<SecretView | undefined> {
  const { tryCreate } = run;
  // The user of a plan may not have permission to create Secrets.
  if (tryCreate === undefined) return undefined;
  const { self, spec, status, target } = snapshot;
  const now = run.clock.now();
  const pair: IssuedPair = {
    keyId: "sak_dry_run",
    secret: SAMPLE_SECRET,
    issueTime: now,
    expirationTime: expiryOf(now, spec.expiresInDays),
    revision: 1,
  };
  const { values } = readyAccount(snapshot);
  const staged = dryRunSecret(self, spec, values, pair);
  // A 404 of a gateway may have made the Secret look deleted.
  if (status.current !== undefined && target.kind === "Absent") {
    const wanted = targetSecret(self, spec, values, { pair, previous: undefined });
    await tryCreate(secretType, wanted);
  }
  try {
    await tryCreate(secretType, staged);
    return undefined;
  } catch (error) {
    if (!isKubeError(error, "AlreadyExists")) throw error;
    const staging = await readSecret(run, self, spec, "staging", run.signal);
    // The Secret was deleted in between.
    if (staging.kind === "Absent") throw error;
    return staging;
  }
}

/** Records the intent. From here on, a key may exist that no process has seen. */
export function recordIntent({
  attempts,
  namespaceIssues,
}: IssueCoordination): ApiKeyEffect<"RecordIntent", ApiKeyProgress> {
  return {
    call: async (action, progress, run) => {
      const { object, self } = progress.snapshot;
      const account = readyAccount(progress.snapshot);
      const startTime = run.clock.now();
      if (account.namespaceIssues !== undefined) {
        const { most } = account.namespaceIssues;
        const count = namespaceIssues.count(account.connection, self.namespace, startTime);
        // Other ApiKeys of the namespace have been issued keys since this run read the count.
        if (count >= most)
          return withSnapshot(progress, {
            account: { ...account, namespaceIssues: { most, count } },
          });
      }
      namespaceIssues.note(account.connection, self.namespace, self.uid, startTime);
      const id = attemptId(self.uid, run.random.id());
      attempts.begin(id, accountKeyOf(object), ownerKeyOf(object));
      try {
        return await store(intended(progress, action, id, startTime), action.because, run);
      } catch (error) {
        // Only the run that recorded an attempt carries it out, so this attempt will never issue a key.
        attempts.withdraw(id);
        namespaceIssues.remove(account.connection, self.namespace, self.uid, startTime);
        throw error;
      }
    },
    planned: (action, progress, { clock }) => {
      const id = attemptId(progress.snapshot.self.uid, "plan");
      return { answer: intended(progress, action, id, clock.now()) };
    },
    after: (_, __, recorded) => recorded,
  };
}

function intended(
  progress: ApiKeyProgress,
  { because, knownKeyIds, revision }: ActionOf<"RecordIntent">,
  id: string,
  startTime: Instant,
): ApiKeyProgress {
  const { self, spec, status } = progress.snapshot;
  const attempt: IssueAttempt = {
    id,
    revision,
    reason: because.reason,
    startTime,
    expiresInDays: spec.expiresInDays,
    knownKeyIds,
  };
  const intent = withSnapshot(progress, { status: withAttempt(status, attempt, self.rotateToken) });
  return withDone(intent, { intentRecorded: id });
}

/** Stores the intent in the annotation, or in the status if the response to that write does not show it. */
async function store(
  intent: ApiKeyProgress,
  { message }: KeyNeed,
  run: ApiKeyRun,
): Promise<ApiKeyProgress> {
  const { object, status } = intent.snapshot;
  const { attempt, issuances, lastHandledRotateAt } = keyStatusCodec.encode(status);
  if (attempt === undefined) throw new Error("an intent has an attempt");
  const text = intentText({ attempt, issuances, lastHandledRotateAt }, object);
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
      const { saId, session } = readyAccount(progress.snapshot);
      const { attempt } = status;
      if (attempt === undefined) return undefined;
      const issueTime = run.clock.now();
      const { expiresInDays } = spec;
      const description = describeKey(spec.description, self, attempt.id);
      const answer = await run
        .console(session)
        .issueKey({ saId, description, expiresInDays })
        .catch((error: unknown) => failIssue(progress, attempt, error, run, coordination));
      const held = heldPair(attempt, answer, issueTime, expiresInDays);
      hold(held, progress, attempt, run, coordination);
      return held;
    },
    planned: (_, { snapshot }, { clock }) => {
      const { self, spec, status } = snapshot;
      const { saId } = readyAccount(snapshot);
      const { expiresInDays } = spec;
      const pair = { keyId: inventedId(keyText(self)), secret: INVENTED_SECRET };
      const message = `Issues a key of service account ${saId} valid for ${expiresInDays} days.`;
      return {
        answer: status.attempt && heldPair(status.attempt, pair, clock.now(), expiresInDays),
        line: { call: "issueKey", object: saId, message },
      };
    },
    after: (_, progress, held) =>
      held === undefined
        ? progress
        : withUnexpectedForm(
            withDone(withSnapshot(progress, { held }), { intentRecorded: undefined }),
            held.pair,
          ),
  };
}

/** The pair exists only here until it is staged. */
function hold(
  held: HeldPair,
  { snapshot: { object, self } }: ApiKeyProgress,
  attempt: IssueAttempt,
  run: ApiKeyRun,
  { attempts, heldPairs }: IssueCoordination,
): void {
  const { namespace, name } = self;
  const { keyId } = held.pair;
  heldPairs.set(self.uid, held);
  attempts.explain(attempt.id, accountKeyOf(object), [keyId]);
  run.metrics.apiKeyIssues.inc({ result: "Issued" });
  const { id, reason } = attempt;
  run.log.info({ namespace, name, keyId, attempt: id, reason }, "issued key");
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
  noteFailure(self, attempt, error, run);
  const carriedOut = withDone(progress, { intentRecorded: undefined });
  if (commitOutcome(error) === "Unknown") throw new PartialFailure(carriedOut, error);
  attempts.explain(attempt.id, accountKeyOf(object), []);
  const { connection } = readyAccount(progress.snapshot);
  namespaceIssues.remove(connection, self.namespace, self.uid, attempt.startTime);
  const refused = { status: withoutAttempt(status, true) };
  throw new PartialFailure(withSnapshot(carriedOut, refused), error);
}

function heldPair(
  { id, revision }: IssueAttempt,
  pair: KeyPair,
  issueTime: Instant,
  expiresInDays: number,
): HeldPair {
  const expirationTime = expiryOf(issueTime, expiresInDays);
  return { attemptId: id, pair: { ...pair, issueTime, expirationTime, revision } };
}

/** A pair of unexpected form cannot be retrieved again: the operator stores it, checks it and reports it. */
function withUnexpectedForm(
  progress: ApiKeyProgress,
  { keyId, secret }: IssuedPair,
): ApiKeyPerformed {
  if (keyId.startsWith("sak_") && secret.reveal().length === SECRET_LENGTH) return progress;
  const note = `Key ${keyId} does not have the documented form (prefix sak_, ${SECRET_LENGTH} characters of secret); the operator uses it anyway.`;
  return withEvent(progress, "UnexpectedKeyForm", "Issue", note, "Warning");
}

function noteFailure(
  { namespace, name }: ApiKeySnapshot["self"],
  { id }: IssueAttempt,
  error: unknown,
  { metrics, log }: ApiKeyRun,
): void {
  const outcome = commitOutcome(error);
  const iamRequestId = isIamError(error) ? error.requestId : undefined;
  metrics.apiKeyIssues.inc({ result: outcome });
  log.warn({ namespace, name, attempt: id, outcome, iamRequestId }, "could not issue a key");
}
