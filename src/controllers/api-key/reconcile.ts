import { type ApiKey, apiKeyKind } from "../../api/api-key.ts";
import { findCondition, isTrue, readinessConditions } from "../../api/conditions.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import { isKubeError } from "../../kube/errors.ts";
import { keyOf, keyText, type ObjectKey } from "../../kube/resource.ts";
import { wentBack } from "../../runtime/predicates.ts";
import type { Result, Run } from "../../runtime/result.ts";
import { type ConsumersView, noConsumers } from "../consumers-board.ts";
import type { Context } from "../frame/context.ts";
import { removeFinalizer } from "../frame/finalizers.ts";
import { errorPolicy } from "../frame/rules/error-policy.ts";
import { failureReadiness } from "../frame/rules/failure.ts";
import { tryReport } from "../frame/status-write-failed.ts";
import { writeStatus } from "../frame/status-writer.ts";
import { apiKeyType } from "../resource-types.ts";
import { AccountTurn } from "./account-turn.ts";
import { apply } from "./apply.ts";
import { Interrupted, momentOf, record, type Surroundings, tell } from "./effects.ts";
import { forgottenKeys } from "./forgotten.ts";
import { Memory } from "./memory.ts";
import { defaultTiming, type Timing } from "./moment.ts";
import { accountKeyOf, observe } from "./observe.ts";
import type { Observed } from "./observed.ts";
import { plan, type Rest } from "./plan.ts";
import { type DeletionStep, planDeletion } from "./plan-deletion.ts";
import { WAITING_FOR_PEER } from "./policies.ts";
import { isUsable, newTrouble, nextLookMs } from "./report.ts";
import { renewalTime, stableFraction } from "./schedule.ts";
import { deleteSecret } from "./write-secret.ts";

/** More steps than any way through the plan has: a plan that goes in circles must not spin. */
const MAX_STEPS = 40;

const DELETION_RETRY_MS = 30_000;

export interface ApiKeyController {
  readonly reconcile: (object: ApiKey, pass: Run) => Promise<Result>;
  onGone(key: ObjectKey): void;
  /** Pairs that exist in memory only. While there are any, the process must not end. */
  readonly unsavedPairs: number;
  /** Tries to write every pair that exists in memory only; each once. */
  saveHeldPairs(signal: AbortSignal): Promise<void>;
}

export interface ApiKeyOptions {
  /** Called with an object that should be looked at now. */
  readonly wake: (key: string) => void;
  readonly timing?: Partial<Timing>;
  /** Without one, Pods are of no concern. */
  readonly consumers?: ConsumersView;
}

export function createApiKeyReconciler(context: Context, options: ApiKeyOptions): ApiKeyController {
  const memory = new Memory();
  const turn = new AccountTurn(options.wake);
  passOnWhenExplained(context, turn);
  noteForgottenKeys(context, memory);
  const timing = { ...defaultTiming, ...options.timing };
  const { consumers = noConsumers } = options;

  const reconcile = async (object: ApiKey, pass: Run): Promise<Result> => {
    const parsed = parseSpec(apiKeyKind, object);
    if (!parsed.ok) {
      turn.forget(keyText(keyOf(object)));
      return rejectSpec(object, parsed.message, context);
    }
    const { seen, client } = await observe(
      object,
      parsed.spec,
      context,
      { memory, turn, consumers },
      pass.signal,
    );
    const around = { context, client, memory, turn, timing, signal: pass.signal };
    try {
      return seen.self.deletingSince === undefined
        ? await keep(seen, around)
        : await letGo(seen, around);
    } finally {
      turn.leave(accountKeyOf(seen.self, seen.spec), keyText(seen.self));
    }
  };

  return {
    reconcile,
    onGone: ({ namespace, name }) => {
      context.metrics.forgetObject("ApiKey", namespace, name);
      memory.withdrawAll(namespace, name);
      turn.forget(keyText({ namespace, name }));
    },
    get unsavedPairs() {
      return memory.holding.length;
    },
    async saveHeldPairs(signal) {
      const objects = context.caches.apiKeys.list();
      const held = memory.holding.flatMap((uid) =>
        objects.filter((key) => key.metadata.uid === uid),
      );
      await forEach(held, (object) => reconcile(object, { id: "shutdown", signal }));
    },
  };
}

/** One that fails does not keep the others from it; the first failure is thrown afterwards. */
async function forEach(
  objects: readonly ApiKey[],
  pass: (object: ApiKey) => Promise<unknown>,
): Promise<void> {
  const failures: unknown[] = [];
  for (const object of objects) await pass(object).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

/** Whoever waits for an attempt to be explained goes on as soon as it is. */
function passOnWhenExplained({ caches }: Context, turn: AccountTurn): void {
  caches.apiKeys.subscribe(({ old, new: now }) => {
    const account = old && accountOf(old);
    const isExplained = old?.status?.attempt !== undefined && now?.status?.attempt === undefined;
    if (isExplained && account !== undefined) turn.passOn(account);
  });
}

/** Remembers the keys that an object knew before it was set back to an older version. */
function noteForgottenKeys({ caches, clock }: Context, memory: Memory): void {
  caches.apiKeys.subscribe(({ old, new: now }) => {
    if (old === undefined || now === undefined || !wentBack(old, now)) return;
    const { uid } = now.metadata;
    const { forgotten = [] } = memory.of(uid);
    const more = forgottenKeys(old, now, clock.now());
    memory.update(uid, { forgotten: [...forgotten, ...more] });
  });
}

function accountOf({ metadata: { namespace = "" }, spec }: ApiKey): string | undefined {
  const serviceAccountRef = spec?.serviceAccountRef;
  return serviceAccountRef && accountKeyOf({ namespace }, { serviceAccountRef });
}

/** Brings the object as far as it can get, then says in its status how far that is. */
async function keep(first: Observed, around: Surroundings): Promise<Result> {
  let seen = first;
  try {
    for (let step = 0; step < MAX_STEPS; step += 1) {
      const action = plan(seen, momentOf(around), around.timing);
      if (action.kind === "Rest") {
        failWhereUnended(seen);
        return await rest(seen, action, around);
      }
      // At a shutdown nothing new is begun, but what exists in memory only is written.
      if (action.kind !== "StagePair") around.signal.throwIfAborted();
      seen = await apply(action, seen, around);
    }
    throw new Error("the plan for an ApiKey goes in circles");
  } catch (error) {
    const cause = await reportFailure(seen, error, around);
    // A console that refuses to end an old key must not keep the one in use from being looked after; and what
    // makes a Secret invalid, such as being immutable, goes away without anybody telling.
    const mayPass = seen.unended !== undefined || isKubeError(cause, "Invalid");
    return retryWhereTerminal(cause, mayPass ? around.timing.secretCheckMs : undefined);
  }
}

async function letGo(first: Observed, around: Surroundings): Promise<Result> {
  let seen = first;
  try {
    for (let step = 0; step < MAX_STEPS; step += 1) {
      const action = planDeletion(seen, momentOf(around), around.timing);
      if (action.kind === "LetGo") return await release(seen, around);
      if (action.kind === "Rest") {
        failWhereUnended(seen);
        return seen.self.hasFinalizer ? await report(seen, action, around) : {};
      }
      seen = await applyDeletion(action, seen, around);
    }
    throw new Error("the plan for a deleted ApiKey goes in circles");
  } catch (error) {
    // Nor must it hold a deleted object for longer than one that is silent.
    return retryWhereTerminal(await reportFailure(seen, error, around), DELETION_RETRY_MS);
  }
}

/** A key that the console would not end is a failure, but not before everything else is done. */
function failWhereUnended({ unended }: Observed): void {
  const [error] = unended?.values() ?? [];
  if (error !== undefined) throw error;
}

function applyDeletion(
  action: Exclude<DeletionStep, { kind: "LetGo" | "Rest" }>,
  seen: Observed,
  around: Surroundings,
): Promise<Observed> {
  return action.kind === "DeleteTarget"
    ? deleteSecret(seen, "target", around)
    : apply(action, seen, around);
}

/** What the queue would not try again is tried again after so long, where that is given. */
function retryWhereTerminal(cause: unknown, requeueAfterMs: number | undefined): Result {
  if (requeueAfterMs !== undefined && errorPolicy(cause).kind === "Terminal")
    return { requeueAfterMs };
  throw cause;
}

/** The object may go: says which keys stay alive at the console, then takes the finalizer away. */
async function release(seen: Observed, around: Surroundings): Promise<Result> {
  const { state, self } = seen;
  const { now } = momentOf(around);
  const alive = [
    ...(state.current === undefined ? [] : [{ ...state.current, state: "Live" }]),
    ...state.superseded,
    ...state.orphaned.map((key) => ({ ...key, state: "Live" })),
  ]
    .filter((key) => key.state === "Live" && now < key.expirationTime)
    .filter((key) => !state.superseded.some((s) => s.keyId === key.keyId && s.state !== "Live"));
  const ids = [...new Set(alive.map(({ keyId }) => keyId ?? "one of unknown id"))];
  if (ids.length > 0)
    tell(
      seen,
      around,
      "KeysLeftAlive",
      "Delete",
      `Keys that stay valid at the console until they expire: ${ids.join(", ")}.`,
      "Warning",
    );
  around.context.log.info(
    { namespace: self.namespace, name: self.name, keysLeftAlive: ids },
    "let api key go",
  );
  await removeFinalizer(around.context, apiKeyType, seen.object);
  // The next one of this name may be of another account.
  around.turn.forget(keyText(self));
  around.memory.update(self.uid, {
    held: undefined,
    recovery: undefined,
    rejection: undefined,
    triedAt: undefined,
    forgotten: undefined,
  });
  // Gone objects are not looked at again; a gateway's 404 may have made it look as if it were gone.
  return { requeueAfterMs: DELETION_RETRY_MS };
}

async function rest(seen: Observed, action: Rest, around: Surroundings): Promise<Result> {
  if (action.block?.reason === WAITING_FOR_PEER)
    around.turn.wait(accountKeyOf(seen.self, seen.spec), keyText(seen.self));
  return await report(seen, action, around);
}

async function report(seen: Observed, rest: Rest, around: Surroundings): Promise<Result> {
  const recorded = await record(seen, rest, around);
  announce(seen, recorded, around);
  publish(recorded, around);
  const { now } = momentOf(around);
  const check = around.timing.secretCheckMs * (0.9 + 0.2 * stableFraction(seen.self.uid, "check"));
  const waits = [rest.afterMs ?? Number.POSITIVE_INFINITY, nextLookMs(recorded, now), check];
  return { requeueAfterMs: Math.max(Math.min(...waits), 0) };
}

/** Says what went wrong, and answers the error for the queue. */
async function reportFailure(
  before: Observed,
  error: unknown,
  around: Surroundings,
): Promise<unknown> {
  const seen = error instanceof Interrupted ? error.seen : before;
  const cause = error instanceof Interrupted ? error.cause : error;
  const readiness = failureReadiness(cause);
  // That the operator stops is nothing to tell about the object.
  const stopped = around.signal.aborted && cause === around.signal.reason;
  if (readiness === undefined || stopped) return cause;
  const tellOf = async () => {
    const recorded = await record(seen, { kind: "Failed", readiness }, around);
    announce(seen, recorded, around);
    publish(recorded, around);
  };
  return tryReport(cause, tellOf, around.context.log);
}

/** One warning where a condition has just turned bad. */
function announce(before: Observed, after: Observed, around: Surroundings): void {
  const trouble = newTrouble(before.object.status?.conditions, after.object.status?.conditions);
  if (trouble !== undefined)
    tell(after, around, trouble.reason, "Reconcile", trouble.message, "Warning");
}

function publish(seen: Observed, around: Surroundings): void {
  const { metrics, clock } = around.context;
  const { self, spec, state } = seen;
  const labels = { namespace: self.namespace, name: self.name };
  const { conditions } = seen.object.status ?? {};
  const ready = isTrue(conditions, "Ready") ? 1 : 0;
  metrics.objectReady.set({ kind: "ApiKey", ...labels }, ready);
  metrics.apiKeyReady.set(labels, isUsable(seen, clock.now()) ? 1 : 0);
  const isForbidden = findCondition(conditions, "IssuanceAllowed")?.status === "False";
  metrics.apiKeyIssuanceAllowed.set(labels, isForbidden ? 0 : 1);
  metrics.orphanedKeys.set(labels, state.orphaned.length);
  metrics.supersededLiveKeys.set(
    labels,
    state.superseded.filter((key) => key.state === "Live").length,
  );
  publishConsumers(seen, around);
  if (state.current === undefined) return;
  metrics.apiKeyExpiration.set(labels, state.current.expirationTime / 1_000);
  metrics.apiKeyRenewal.set(
    labels,
    renewalTime(state.current, spec.rotation, self.uid, clock.now()) / 1_000,
  );
}

/** A count that is no longer known is no longer shown. */
function publishConsumers(
  { self, object }: Observed,
  { context: { metrics } }: Surroundings,
): void {
  const labels = { namespace: self.namespace, name: self.name };
  const { consumers } = object.status ?? {};
  if (consumers === undefined) {
    metrics.consumers.remove(labels);
    metrics.staleConsumers.remove(labels);
    return;
  }
  metrics.consumers.set(labels, consumers.pods);
  metrics.staleConsumers.set(labels, consumers.stale);
}

/** A stored object may be older than its schema: it is left as it is, with a word about why. */
async function rejectSpec(object: ApiKey, message: string, context: Context): Promise<Result> {
  if (object.metadata.deletionTimestamp !== undefined)
    await removeFinalizer(context, apiKeyType, object);
  const generation = object.metadata.generation ?? 0;
  const conditions = readinessConditions(
    object.status?.conditions ?? [],
    { state: "Stalled", reason: "InvalidSpec", message },
    generation,
    context.clock.now(),
  );
  if (object.metadata.deletionTimestamp === undefined)
    await writeStatus(context, apiKeyType, context.caches.apiKeys, object, {
      ...object.status,
      observedGeneration: generation,
      conditions: [...conditions],
    });
  const { namespace = "", name } = object.metadata;
  context.metrics.objectReady.set({ kind: "ApiKey", namespace, name }, 0);
  return {};
}
