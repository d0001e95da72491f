/** The irreversible part: from the last checks to the pair in the staging Secret. */
import { commitOutcome, isIamError } from "../../iam/errors.ts";
import { isKubeError, KubeError } from "../../kube/errors.ts";
import { keyOf, keyText, parseKey } from "../../kube/resource.ts";
import { Redacted } from "../../util/redacted.ts";
import { DAY, type Instant } from "../../util/time.ts";
import { settleAll } from "../frame/settle-all.ts";
import { SpecError } from "../frame/spec-error.ts";
import { lookUpAccount } from "../look-up-account.ts";
import { apiKeyType, secretType } from "../resource-types.ts";
import { Interrupted, momentOf, readyAccount, record, type Surroundings, tell } from "./effects.ts";
import { accountKeyOf } from "./observe.ts";
import type { Attempt, Observed, State } from "./observed.ts";
import type { IssuedPair } from "./pair.ts";
import type { Action } from "./plan.ts";
import { isRequested } from "./policies.ts";
import { expiryOf } from "./schedule.ts";
import { stagingSecret, targetSecret } from "./secret.ts";
import { targetPatch } from "./target-patch.ts";
import { observeSecret } from "./write-secret.ts";

/** As long as the longest secret the spec shows. */
const SECRET_LENGTH = 43;
const SAMPLE_SECRET = new Redacted("x".repeat(SECRET_LENGTH));

/** Waits for its turn: keys of one account are issued one after the other. */
export function takeTurn(seen: Observed, around: Surroundings): Observed {
  const holder = around.turn.take(accountKeyOf(seen.self, seen.spec), keyText(seen.self));
  return holder === undefined
    ? { ...seen, hasTurn: true }
    : { ...seen, unsettledPeer: parseKey(holder).name };
}

/**
 * Proves, without any effect, that nothing stands in the way of keeping the new pair: the object is as it was
 * seen, both Secrets can be written, and the account's keys are known.
 */
export async function precheck(seen: Observed, around: Surroundings): Promise<Observed> {
  const { context, signal } = around;
  const { account, client } = readyAccount(seen, around);
  const live = await context.kube.get(apiKeyType, keyOf(seen.object), { signal });
  if (live?.metadata.resourceVersion !== seen.object.metadata.resourceVersion)
    throw new KubeError("Conflict", "the ApiKey has changed since it was read");
  const [detail] = await settleAll([
    lookUpAccount(client, account.saId, signal),
    rehearseSecrets(seen, around),
  ]);
  if (detail === undefined)
    throw new SpecError(
      "ServiceAccountGone",
      `The console no longer knows service account ${account.saId}.`,
    );
  return { ...seen, precheck: { knownKeyIds: detail.keyIds } };
}

/** Dry runs of the writes to come, with a pair of the same size. */
async function rehearseSecrets(seen: Observed, around: Surroundings): Promise<void> {
  const { kube } = around.context;
  const { self, spec, target } = seen;
  const { account } = readyAccount(seen, around);
  const now = around.context.clock.now();
  const sample: IssuedPair = {
    keyId: "sak_rehearsal",
    secret: SAMPLE_SECRET,
    issueTime: now,
    expirationTime: expiryOf(now, spec.expiresInDays),
    revision: 1,
  };
  const wanted = targetSecret(self, spec, account.values, sample, undefined);
  const options = { dryRun: true, signal: around.signal };
  await settleAll([
    kube.create(secretType, stagingSecret(self, spec, sample, "rehearsal"), options),
    target.kind === "Absent"
      ? kube.create(secretType, wanted, options)
      : kube.mergePatch(secretType, keyOf(wanted), targetPatch(target, wanted, self), options),
  ]);
}

/** Writes the intent down; from here on a key may exist that nobody has seen. */
export async function recordAttempt(
  seen: Observed,
  { because, knownKeyIds, revision }: Extract<Action, { kind: "RecordAttempt" }>,
  around: Surroundings,
): Promise<Observed> {
  const { now } = momentOf(around);
  const id = around.context.random.id();
  const state: State = {
    ...seen.state,
    attempt: {
      id,
      revision,
      reason: because.reason,
      startTime: now,
      expiresInDays: seen.spec.expiresInDays,
      knownKeyIds,
    },
    issuances: spend(seen.state.issuances, now),
    handledRotateToken: seen.self.rotateToken ?? seen.state.handledRotateToken,
  };
  const waiting = { reason: "Issuing", message: because.message };
  const accountKey = accountKeyOf(seen.self, seen.spec);
  around.memory.announce(accountKey, id, seen.self.name);
  const recorded = await record({ ...seen, state }, { kind: "Rest", waiting }, around).catch(
    (error: unknown) => {
      // Only the pass that wrote an attempt down carries it out: nothing will come of this one.
      around.memory.withdraw(accountKey, id);
      throw error;
    },
  );
  return { ...recorded, armed: id };
}

function spend(issuances: State["issuances"], now: Instant): State["issuances"] {
  return issuances === undefined || now >= issuances.windowStartTime + DAY
    ? { windowStartTime: now, count: 1 }
    : { ...issuances, count: issuances.count + 1 };
}

/**
 * Call 5, once. Its answer is kept in memory until it is written. A refusal closes the attempt; any other
 * failure leaves it open, to be explained by a later pass.
 */
export async function issueKey(seen: Observed, around: Surroundings): Promise<Observed> {
  const { context, memory } = around;
  const { account, client } = readyAccount(seen, around);
  const { self, spec, state } = seen;
  const { attempt } = state;
  if (attempt === undefined) return seen;
  const marker = `k8s ${self.namespace}/${self.name}#${attempt.id}`;
  const description = spec.description === undefined ? marker : `${spec.description} (${marker})`;
  const issueTime = context.clock.now();
  const { expiresInDays } = spec;
  try {
    const pair = await client.issueKey(account.saId, { description, expiresInDays });
    const expirationTime = expiryOf(issueTime, expiresInDays);
    const issued = { ...pair, issueTime, expirationTime, revision: attempt.revision };
    const held = { attemptId: attempt.id, pair: issued };
    memory.update(self.uid, { held });
    tellIssued(seen, issued, attempt, around);
    return { ...disarmed(seen), held };
  } catch (error) {
    throw unanswered(seen, attempt, error, around);
  }
}

function tellIssued(
  seen: Observed,
  { keyId, secret }: IssuedPair,
  { id, reason }: Attempt,
  around: Surroundings,
): void {
  const { metrics, log } = around.context;
  const { namespace, name } = seen.self;
  metrics.apiKeyIssues.inc({ result: "Issued" });
  tell(seen, around, "KeyIssued", "Issue", `Issued key ${keyId}: ${reason}.`);
  log.info({ namespace, name, keyId, attempt: id, reason }, "issued key");
  // A pair of unexpected form cannot be had again: it is kept, tried, and pointed out.
  if (keyId.startsWith("sak_") && secret.reveal().length === SECRET_LENGTH) return;
  const note = `Key ${keyId} does not look as documented (prefix sak_, ${SECRET_LENGTH} characters of secret); it is used all the same.`;
  tell(seen, around, "UnexpectedKeyForm", "Issue", note, "Warning");
}

/** What a failed call 5 leaves behind: nothing where the console has refused it, else an open attempt. */
function unanswered(
  seen: Observed,
  { id }: Attempt,
  error: unknown,
  { context, memory }: Surroundings,
): Interrupted {
  const outcome = commitOutcome(error);
  const { namespace, name } = seen.self;
  const requestId = isIamError(error) ? error.requestId : undefined;
  context.metrics.apiKeyIssues.inc({ result: outcome });
  context.log.warn(
    { namespace, name, attempt: id, outcome, iamRequestId: requestId },
    "could not issue a key",
  );
  if (outcome === "Unknown") return new Interrupted(disarmed(seen), error);
  memory.settle(accountKeyOf(seen.self, seen.spec), id);
  return new Interrupted({ ...disarmed(seen), state: withoutAttempt(seen.state, true) }, error);
}

/** The state after an attempt that delivered nothing. */
export function withoutAttempt(state: State, refund: boolean): State {
  return {
    ...state,
    attempt: undefined,
    issuances: refund ? refunded(state.issuances) : state.issuances,
    rotationPending: state.rotationPending || isRequested(state.attempt?.reason),
  };
}

function refunded(issuances: State["issuances"]): State["issuances"] {
  return issuances && { ...issuances, count: Math.max(issuances.count - 1, 0) };
}

/** Writes the only copy of the pair. Not aborted by a shutdown: that waits for it. */
export async function stagePair(
  seen: Observed,
  { pair, attemptId }: Extract<Action, { kind: "StagePair" }>,
  around: Surroundings,
): Promise<Observed> {
  const { self, spec } = seen;
  const wanted = stagingSecret(self, spec, pair, attemptId);
  const written = await around.context.kube
    .create(secretType, wanted)
    .catch((error: unknown) => keptAlready(error, seen, pair, around));
  around.memory.update(self.uid, { held: undefined });
  around.memory.settle(accountKeyOf(self, spec), attemptId);
  return { ...seen, held: undefined, staging: observeSecret(written, seen, "staging") };
}

/** A create whose answer was lost has still kept the pair. */
async function keptAlready(error: unknown, seen: Observed, pair: IssuedPair, around: Surroundings) {
  if (!isKubeError(error, "AlreadyExists")) throw error;
  const { name, namespace } = stagingSecret(seen.self, seen.spec, pair, "").metadata;
  const stored = await around.context.kube.get(secretType, { namespace: namespace ?? "", name });
  const view = observeSecret(stored, seen, "staging");
  if (stored === undefined || view.kind !== "Ours" || view.pair?.keyId !== pair.keyId) throw error;
  return stored;
}

function disarmed(seen: Observed): Observed {
  const { armed: _, ...rest } = seen;
  return rest;
}
