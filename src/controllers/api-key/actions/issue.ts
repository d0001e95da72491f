/** The irreversible part of an issue: from the last checks to the console's response. */
import { commitOutcome, isIamError, quoteServerText } from "../../../iam/errors.ts";
import { SECRET_LENGTH } from "../../../iam/model.ts";
import { isKubeError } from "../../../kube/errors.ts";
import { Redacted } from "../../../util/redacted.ts";
import { MINUTE } from "../../../util/time.ts";
import { SpecError } from "../../frame/errors.ts";
import { storeIntent } from "../../frame/intent.ts";
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
import type { ActionOf, ApiKeyProgress, ApiKeySnapshot } from "../rules/snapshot.ts";
import { type IssueAttempt, keyStatusCodec } from "../rules/status.ts";
import { withAttempt, withoutAttempt } from "../rules/transitions.ts";
import type { IssuedPair } from "../secret/pair.ts";
import { rehearsalSecret, targetSecret } from "../secret/render.ts";
import type { SecretView } from "../secret/view.ts";
import {
  type ApiKeyPerformed,
  type ApiKeyRun,
  readyAccount,
  withDone,
  withEvent,
  withSnapshot,
} from "./run.ts";

/**
 * Contains characters that JSON must escape: an entry that must be JSON is rejected now unless it is valid for every
 * secret.
 */
const SAMPLE_SECRET = new Redacted(`"\\`.padEnd(SECRET_LENGTH, "x"));

export function queueForAccount(
  progress: ApiKeyProgress,
  _: object,
  __: ApiKeyRun,
  { line }: IssueCoordination,
): ApiKeyProgress {
  const { object } = progress.snapshot;
  line.wait(accountKeyOf(object), ownerKeyOf(object));
  return withDone(progress, { isQueued: true });
}

/**
 * Checks without side effects whether the new pair can be stored, and reads the account's keys. If the Secret for the
 * pair exists unexpectedly, reads it instead, so that the rules judge it.
 */
export async function precheck(
  progress: ApiKeyProgress,
  _: object,
  run: ApiKeyRun,
): Promise<ApiKeyProgress> {
  const { saId, client } = readyAccount(progress.snapshot);
  const [detail, staging] = await settleAll([
    lookUpAccount(client, saId, run.signal),
    rehearseStaging(progress.snapshot, run),
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
}

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
async function rehearseStaging(
  snapshot: ApiKeySnapshot,
  run: ApiKeyRun,
): Promise<SecretView | undefined> {
  const { self, spec, status, target } = snapshot;
  const now = run.clock.now();
  const pair: IssuedPair = {
    keyId: "sak_rehearsal",
    secret: SAMPLE_SECRET,
    issueTime: now,
    expirationTime: expiryOf(now, spec.expiresInDays),
    revision: 1,
  };
  const { values } = readyAccount(snapshot);
  const rehearsal = rehearsalSecret(self, spec, values, pair);
  const { signal } = run;
  // A 404 of a gateway may have made the Secret look deleted.
  if (status.current !== undefined && target.kind === "Absent") {
    const wanted = targetSecret(self, spec, values, { pair, previous: undefined });
    await run.kube.create(secretType, wanted, { dryRun: true, signal });
  }
  try {
    await run.kube.create(secretType, rehearsal, { dryRun: true, signal });
    return undefined;
  } catch (error) {
    if (!isKubeError(error, "AlreadyExists")) throw error;
    const staging = await readSecret(run, self, spec, "staging", signal);
    // The Secret was deleted in between.
    if (staging.kind === "Absent") throw error;
    return staging;
  }
}

/** Records the intent. From here on, a key may exist that no process has seen. */
export async function recordIntent(
  progress: ApiKeyProgress,
  { because, knownKeyIds, revision }: ActionOf<"RecordIntent">,
  run: ApiKeyRun,
  { attempts, namespaceIssues }: IssueCoordination,
): Promise<ApiKeyProgress> {
  const { object, self, spec, status } = progress.snapshot;
  const account = readyAccount(progress.snapshot);
  const startTime = run.clock.now();
  if (account.namespaceIssues !== undefined) {
    const { most } = account.namespaceIssues;
    const count = namespaceIssues.count(account.connection, self.namespace, startTime);
    // Other ApiKeys of the namespace have been issued keys since this run read the count.
    if (count >= most)
      return withSnapshot(progress, { account: { ...account, namespaceIssues: { most, count } } });
  }
  namespaceIssues.note(account.connection, self.namespace, self.uid, startTime);
  const id = attemptId(self.uid, run.random.id());
  const attempt: IssueAttempt = {
    id,
    revision,
    reason: because.reason,
    startTime,
    expiresInDays: spec.expiresInDays,
    knownKeyIds,
  };
  const intended = withSnapshot(progress, {
    status: withAttempt(status, attempt, self.rotateToken),
  });
  const issuing = {
    kind: "Waiting",
    state: "Reconciling",
    reason: "Issuing",
    message: because.message,
  } as const;
  attempts.begin(id, accountKeyOf(object), ownerKeyOf(object));
  try {
    return withDone(await store(intended, attempt, issuing, run), { intentRecorded: id });
  } catch (error) {
    // Only the run that recorded an attempt carries it out, so this attempt will never issue a key.
    attempts.withdraw(id);
    namespaceIssues.takeBack(account.connection, self.namespace, self.uid, startTime);
    throw error;
  }
}

/** Stores the intent in the annotation, or in the status if the response to that write does not show it. */
async function store(
  intended: ApiKeyProgress,
  { id }: IssueAttempt,
  issuing: Waiting,
  run: ApiKeyRun,
): Promise<ApiKeyProgress> {
  const { object, status } = intended.snapshot;
  const { attempt, issuances, lastHandledRotateAt } = keyStatusCodec.encode(status);
  if (attempt === undefined) throw new Error("an intent has an attempt");
  const text = intentText({ attempt, issuances, lastHandledRotateAt }, object);
  const written = await storeIntent(run, apiKeyType, object, { attemptId: id, text });
  const stored = withSnapshot(intended, { object: written.object });
  return written.isStored ? stored : run.writeStatus(stored, issuing);
}

/**
 * Calls issueKey once. The pair stays in process memory until it is written. A rejection closes the attempt. Any other
 * failure leaves the attempt open, and a later run explains it.
 */
export async function issueKey(
  progress: ApiKeyProgress,
  _: object,
  run: ApiKeyRun,
  { attempts, heldPairs, namespaceIssues }: IssueCoordination,
): Promise<ApiKeyPerformed> {
  const { object, self, spec, status } = progress.snapshot;
  const { saId, client, connection } = readyAccount(progress.snapshot);
  const { attempt } = status;
  if (attempt === undefined) return progress;
  const issueTime = run.clock.now();
  const { expiresInDays } = spec;
  const carriedOut = withDone(progress, { intentRecorded: undefined });
  const description = describeKey(spec.description, self, attempt.id);
  const answer = await client
    .issueKey({ saId, description, expiresInDays })
    .catch((error: unknown) => {
      noteFailure(self, attempt, error, run);
      if (commitOutcome(error) === "Unknown") throw new PartialFailure(carriedOut, error);
      attempts.explain(attempt.id, accountKeyOf(object), []);
      namespaceIssues.takeBack(connection, self.namespace, self.uid, attempt.startTime);
      const refused = { status: withoutAttempt(status, true) };
      throw new PartialFailure(withSnapshot(carriedOut, refused), error);
    });
  const expirationTime = expiryOf(issueTime, expiresInDays);
  const pair = { ...answer, issueTime, expirationTime, revision: attempt.revision };
  const held = { attemptId: attempt.id, pair };
  heldPairs.set(self.uid, held);
  attempts.explain(attempt.id, accountKeyOf(object), [pair.keyId]);
  const { keyId } = pair;
  const { namespace, name } = self;
  run.metrics.apiKeyIssues.inc({ result: "Issued" });
  run.log.info(
    { namespace, name, keyId, attempt: attempt.id, reason: attempt.reason },
    "issued key",
  );
  return withUnexpectedForm(withSnapshot(carriedOut, { held }), pair);
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
