/** The irreversible part: from the last checks to the console's answer. */
import { commitOutcome, isIamError } from "../../../iam/errors.ts";
import { KubeError } from "../../../kube/errors.ts";
import { keyOf, parseKey } from "../../../kube/resource.ts";
import { Redacted } from "../../../util/redacted.ts";
import { PartialFailure } from "../../frame/rules/outcome.ts";
import { settleAll } from "../../frame/settle-all.ts";
import { SpecError } from "../../frame/spec-error.ts";
import { lookUpAccount } from "../../look-up-account.ts";
import { apiKeyType, secretType } from "../../resource-types.ts";
import { accountKeyOf, type IssueCoordination, ownerKeyOf } from "../attempts.ts";
import { expiryOf } from "../rules/schedule.ts";
import type { ActionOf, ApiKeyProgress, ApiKeySnapshot } from "../rules/snapshot.ts";
import type { IssueAttempt } from "../rules/status.ts";
import { withAttempt, withoutAttempt } from "../rules/transitions.ts";
import type { IssuedPair } from "../secret/pair.ts";
import { stagingSecret } from "../secret/render.ts";
import {
  type ApiKeyRun,
  readyAccount,
  recordKeyEvent,
  withDone,
  withSnapshot,
  writeStatusNow,
} from "./run.ts";
import { writeTarget } from "./secret.ts";

/** As long as the longest secret the spec shows. */
const SECRET_LENGTH = 43;
const SAMPLE_SECRET = new Redacted("x".repeat(SECRET_LENGTH));

/** Keys of one account are issued one after the other: whoever comes second is queued. */
export function acquireAccount(
  progress: ApiKeyProgress,
  _: object,
  __: ApiKeyRun,
  { accounts }: IssueCoordination,
): ApiKeyProgress {
  const { object } = progress.snapshot;
  const holder = accounts.acquire(accountKeyOf(object), ownerKeyOf(object));
  return holder === undefined
    ? withDone(progress, { hasAcquired: true })
    : withDone(withSnapshot(progress, { unsettledPeer: parseKey(holder).name }), {
        isQueued: true,
      });
}

export function queueForAccount(
  progress: ApiKeyProgress,
  _: object,
  __: ApiKeyRun,
  { accounts }: IssueCoordination,
): ApiKeyProgress {
  const { object } = progress.snapshot;
  accounts.enqueue(accountKeyOf(object), ownerKeyOf(object));
  return withDone(progress, { isQueued: true });
}

/**
 * Proves, without any effect, that nothing stands in the way of keeping the new pair: the object is as it was
 * read, both Secrets can be written, and the account's keys are known.
 */
export async function precheck(
  progress: ApiKeyProgress,
  _: object,
  run: ApiKeyRun,
): Promise<ApiKeyProgress> {
  const { object } = progress.snapshot;
  const { saId, client } = readyAccount(progress.snapshot);
  const live = await run.kube.get(apiKeyType, keyOf(object), { signal: run.signal });
  if (live?.metadata.resourceVersion !== object.metadata.resourceVersion)
    throw new KubeError("Conflict", "the ApiKey has changed since it was read");
  const [detail] = await settleAll([
    lookUpAccount(client, saId, run.signal),
    rehearseSecrets(progress.snapshot, run),
  ]);
  if (detail === undefined)
    throw new SpecError(
      "ServiceAccountGone",
      `The console no longer knows service account ${saId}.`,
    );
  return withDone(progress, { precheck: { knownKeyIds: detail.keyIds } });
}

/** Dry runs of the writes to come, with a pair of the same size. */
async function rehearseSecrets(snapshot: ApiKeySnapshot, run: ApiKeyRun): Promise<void> {
  const { self, spec } = snapshot;
  const now = run.clock.now();
  const pair: IssuedPair = {
    keyId: "sak_rehearsal",
    secret: SAMPLE_SECRET,
    issueTime: now,
    expirationTime: expiryOf(now, spec.expiresInDays),
    revision: 1,
  };
  const options = { dryRun: true, signal: run.signal };
  await settleAll([
    run.kube.create(secretType, stagingSecret(self, spec, pair, "rehearsal"), options),
    writeTarget(snapshot, { pair, previous: undefined }, run, options),
  ]);
}

/** Records the intent; from here on a key may exist that nobody has seen. */
export async function recordIntent(
  progress: ApiKeyProgress,
  { because, knownKeyIds, revision }: ActionOf<"RecordIntent">,
  run: ApiKeyRun,
  { attempts }: IssueCoordination,
): Promise<ApiKeyProgress> {
  const { object, self, spec, status } = progress.snapshot;
  const id = run.random.id();
  const attempt: IssueAttempt = {
    id,
    revision,
    reason: because.reason,
    startTime: run.clock.now(),
    expiresInDays: spec.expiresInDays,
    knownKeyIds,
  };
  const intended = withSnapshot(progress, {
    status: withAttempt(status, attempt, self.rotateToken),
  });
  const issuing = { reason: "Issuing", message: because.message };
  const account = accountKeyOf(object);
  attempts.announce(account, id, self.name);
  try {
    const recorded = await writeStatusNow(intended, run, {
      kind: "Waiting",
      state: "Reconciling",
      ...issuing,
    });
    return withDone(recorded, { intentRecorded: id });
  } catch (error) {
    // Only the run that recorded an attempt carries it out: nothing will come of this one.
    attempts.withdraw(account, id);
    throw error;
  }
}

/**
 * Call 5, once. Its answer is in process memory until it is written. A refusal closes the attempt; any other
 * failure leaves it open, to be explained by a later run.
 */
export async function issueKey(
  progress: ApiKeyProgress,
  _: object,
  run: ApiKeyRun,
  { attempts, heldPairs, ledger }: IssueCoordination,
): Promise<ApiKeyProgress> {
  const { object, self, spec, status } = progress.snapshot;
  const { saId, client } = readyAccount(progress.snapshot);
  const { attempt } = status;
  if (attempt === undefined) return progress;
  const issueTime = run.clock.now();
  const { expiresInDays } = spec;
  const carriedOut = withDone(progress, { intentRecorded: undefined });
  const answer = await client
    .issueKey(saId, { description: describeKey(progress.snapshot, attempt), expiresInDays })
    .catch((error: unknown) => {
      noteFailure(self, attempt, error, run);
      if (commitOutcome(error) === "Unknown") throw new PartialFailure(carriedOut, error);
      attempts.settle(accountKeyOf(object), attempt.id);
      const refused = { status: withoutAttempt(status, true) };
      throw new PartialFailure(withSnapshot(carriedOut, refused), error);
    });
  const expirationTime = expiryOf(issueTime, expiresInDays);
  const pair = { ...answer, issueTime, expirationTime, revision: attempt.revision };
  const held = { attemptId: attempt.id, pair };
  heldPairs.set(self.uid, held);
  ledger.note(self.namespace, issueTime);
  noteIssued(progress, pair, attempt, run);
  return withSnapshot(carriedOut, { held });
}

/** Says at the console which attempt the key comes from. */
function describeKey({ self, spec }: ApiKeySnapshot, { id }: IssueAttempt): string {
  const marker = `k8s ${self.namespace}/${self.name}#${id}`;
  return spec.description === undefined ? marker : `${spec.description} (${marker})`;
}

function noteIssued(
  progress: ApiKeyProgress,
  { keyId, secret }: IssuedPair,
  { id, reason }: IssueAttempt,
  run: ApiKeyRun,
): void {
  const { namespace, name } = progress.snapshot.self;
  run.metrics.apiKeyIssues.inc({ result: "Issued" });
  recordKeyEvent(progress, run, "KeyIssued", "Issue", `Issued key ${keyId}: ${reason}.`);
  run.log.info({ namespace, name, keyId, attempt: id, reason }, "issued key");
  // A pair of unexpected form cannot be had again: it is kept, tried, and pointed out.
  if (keyId.startsWith("sak_") && secret.reveal().length === SECRET_LENGTH) return;
  const note = `Key ${keyId} does not look as documented (prefix sak_, ${SECRET_LENGTH} characters of secret); it is used all the same.`;
  recordKeyEvent(progress, run, "UnexpectedKeyForm", "Issue", note, "Warning");
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
