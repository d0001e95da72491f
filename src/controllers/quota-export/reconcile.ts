/**
 * Takes the ResourceQuota listing of one cluster at every interval, whole or not at all, and shows it as
 * status and as metrics.
 */
import type { ApiKey } from "../../api/api-key.ts";
import { findCondition, type Readiness, readinessConditions } from "../../api/conditions.ts";
import { annotations } from "../../api/meta.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import {
  type ResourceQuotaExport,
  type ResourceQuotaExportSpec,
  type ResourceQuotaExportStatus,
  resourceQuotaExportKind,
} from "../../api/resource-quota-export.ts";
import { type IamError, isIamError } from "../../iam/errors.ts";
import type { KeyPair, Quota } from "../../iam/model.ts";
import { keyOf, keyText, type ObjectKey } from "../../kube/resource.ts";
import type { Reconcile, Result, Run } from "../../runtime/result.ts";
import { MINUTE, parseDuration, SECOND, toIso8601 } from "../../util/time.ts";
import type { ConnectionAccess, Context } from "../frame/context.ts";
import { requestToken } from "../frame/request-token.ts";
import { errorPolicy } from "../frame/rules/error-policy.ts";
import { failureReadiness } from "../frame/rules/failure.ts";
import { writeStatus } from "../frame/status-writer.ts";
import { resourceQuotaExportType } from "../resource-types.ts";
import { type Credential, chooseCredential } from "./credential.ts";
import { explainDenial } from "./denial.ts";
import { summarize } from "./listing.ts";
import { startDelay } from "./schedule.ts";
import { Snapshots } from "./snapshots.ts";

const MIN_INTERVAL_MS = 15 * SECOND;
/** After an answer that only a person's change can turn, at least. */
const DENIED_INTERVAL_MS = 10 * MINUTE;

/** The pair that an ApiKey's Secret holds right now; `undefined` where it holds none. */
export type ReadPair = (apiKey: ApiKey, signal: AbortSignal) => Promise<KeyPair | undefined>;

export interface QuotaExportReconciler {
  readonly reconcile: Reconcile<ResourceQuotaExport>;
  /** To be called when the object is gone: its series go with it. */
  readonly forget: (key: ObjectKey) => void;
}

/** What the process remembers about one export. */
interface Memory {
  readonly uid: string;
  readonly generation: number | undefined;
  readonly token: string | undefined;
  /** Monotonic: no listing before, unless the wish changes. */
  notBefore: number;
  /** What the console refused: it is asked again at once when this changes. */
  refused?: string;
}

interface Wish {
  readonly object: ResourceQuotaExport;
  readonly spec: ResourceQuotaExportSpec;
  readonly intervalMs: number;
}

export function createQuotaExportReconciler(
  context: Context,
  readPair: ReadPair,
): QuotaExportReconciler {
  const snapshots = new Snapshots(context.metrics, context.clock);
  const memories = new Map<string, Memory>();
  const forget = (key: ObjectKey) => {
    snapshots.drop(key);
    memories.delete(keyText(key));
    context.metrics.forgetObject("ResourceQuotaExport", key.namespace, key.name);
  };
  return {
    forget,
    reconcile: async (object, pass) => {
      if (object.metadata.deletionTimestamp !== undefined) {
        forget(keyOf(object));
        return {};
      }
      return await reconcile(context, readPair, snapshots, memories, object, pass);
    },
  };
}

async function reconcile(
  context: Context,
  readPair: ReadPair,
  snapshots: Snapshots,
  memories: Map<string, Memory>,
  object: ResourceQuotaExport,
  { signal }: Run,
): Promise<Result> {
  const say = (readiness: Readiness) => report(context, object, readiness, {}, signal);
  const wish = toWish(object);
  if (typeof wish === "string") {
    return await say({ state: "Stalled", reason: "InvalidSpec", message: wish });
  }
  if (wish.spec.suspend) return await say(suspended);
  const memory = remember(context, memories, wish);
  const credential = credentialOf(context, wish);
  const wait = untilTurn(memory, credential, context.clock.monotonic());
  if (wait > 0) return later(wait);
  const call = await prepare(context, readPair, wish, credential, signal);
  if ("state" in call) return await say(call);
  const startedAt = context.clock.monotonic();
  try {
    const quotas = await list(call, wish, signal);
    const { clusterId } = wish.spec;
    const durationMs = context.clock.monotonic() - startedAt;
    snapshots.take(keyOf(object), { clusterId, quotas, intervalMs: wish.intervalMs, durationMs });
    memory.notBefore = startedAt + wish.intervalMs;
    await report(context, object, listed(quotas), facts(context, object, quotas), signal);
    return { requeueAfterMs: Math.max(SECOND, wish.intervalMs - durationMs) };
  } catch (error) {
    if (signal.aborted) throw error;
    const failure = judgeFailure(error, call.credential);
    if (failure !== undefined) await say(failure);
    return afterFailure(error, call, wish, memory, startedAt);
  }
}

/** What one listing is taken with. */
interface Call {
  readonly access: ConnectionAccess;
  readonly credential: Credential;
  readonly pair: KeyPair | undefined;
}

/** Everything the call needs, or why it cannot be made. */
async function prepare(
  context: Context,
  readPair: ReadPair,
  wish: Wish,
  credential: Credential,
  signal: AbortSignal,
): Promise<Call | Readiness> {
  const { namespace } = keyOf(wish.object);
  const lookup = await context.connections.resolve(wish.spec.connectionRef, namespace);
  if (!lookup.ok) {
    return { state: "Reconciling", reason: lookup.reason, message: lookup.message };
  }
  const { access } = lookup;
  if (credential.kind === "Waiting" || credential.kind === "Mismatch") return blocked(credential);
  if (credential.kind === "Bearer") return { access, credential, pair: undefined };
  const pair = await readPair(credential.apiKey, signal);
  return pair === undefined
    ? blocked({ kind: "Waiting", message: "The ApiKey's Secret does not hold its key." })
    : { access, credential, pair };
}

/** Milliseconds until the next listing; a refusal holds no longer than what was refused. */
function untilTurn(memory: Memory, credential: Credential, now: number): number {
  if (memory.refused !== undefined && memory.refused !== standing(credential)) {
    memory.notBefore = now;
    delete memory.refused;
  }
  return memory.notBefore - now;
}

/** What decides at the console whether a key may list, as far as it is known here. */
function standing(credential: Credential): string {
  if (credential.kind !== "Key") return credential.kind;
  const { apiKey, account } = credential;
  const { state, bindings } = account.status ?? {};
  return JSON.stringify([apiKey.status?.current?.keyId, state, bindings?.policyIds]);
}

/** The queue retries what time may heal; the rest waits for a change, or for its next turn. */
function afterFailure(
  error: unknown,
  { credential, pair }: Call,
  { intervalMs }: Wish,
  memory: Memory,
  startedAt: number,
): Result {
  const isRejected = isKeyRejection(error, pair);
  if (!isRejected && (!isIamError(error) || errorPolicy(error).kind !== "Terminal")) throw error;
  memory.refused = standing(credential);
  // Polling is this kind's slow resync, but a rejected key is not sent again (401: no retry).
  const pauseMs = isRejected ? Infinity : Math.max(intervalMs, DENIED_INTERVAL_MS);
  memory.notBefore = startedAt + pauseMs;
  return later(pauseMs);
}

/** Without an end only a change wakes it. */
function later(waitMs: number): Result {
  return waitMs === Infinity ? {} : { requeueAfterMs: waitMs };
}

function toWish(object: ResourceQuotaExport): Wish | string {
  const parsed = parseSpec(resourceQuotaExportKind, object);
  if (!parsed.ok) return parsed.message;
  const intervalMs = parseDuration(parsed.spec.interval) ?? 0;
  if (intervalMs < MIN_INTERVAL_MS) return "spec.interval: must be at least 15s";
  return { object, spec: parsed.spec, intervalMs };
}

/** A changed spec or a request of a person is looked at now; anything else keeps its turn. */
function remember(
  { clock }: Context,
  memories: Map<string, Memory>,
  { object, intervalMs }: Wish,
): Memory {
  const { uid, generation } = object.metadata;
  const token = tokenOf(object);
  const key = keyText(keyOf(object));
  const known = memories.get(key);
  if (known?.uid === uid && known.generation === generation && known.token === token) return known;
  const isFirst = known?.uid !== uid && token === object.status?.lastHandledReconcileAt;
  const delay = isFirst ? startDelay(object, intervalMs) : 0;
  const memory: Memory = { uid, generation, token, notBefore: clock.monotonic() + delay };
  memories.set(key, memory);
  return memory;
}

function credentialOf({ caches }: Context, { object, spec }: Wish): Credential {
  const { namespace } = keyOf(object);
  const { apiKeyRef, connectionRef } = spec;
  const apiKey =
    apiKeyRef === undefined ? undefined : caches.apiKeys.get({ namespace, name: apiKeyRef.name });
  return chooseCredential(apiKeyRef?.name, connectionRef, apiKey, (name) =>
    caches.serviceAccounts.get({ namespace, name }),
  );
}

function list(
  { access, pair }: Call,
  { spec }: Wish,
  signal: AbortSignal,
): Promise<readonly Quota[]> {
  const { clusterId, namespaces, filterNames } = spec;
  return access.client.listResourceQuotas({ clusterId, namespaces, filterNames }, pair, signal);
}

function isKeyRejection(error: unknown, pair: KeyPair | undefined): boolean {
  return pair !== undefined && isIamError(error, "Unauthenticated");
}

function judgeFailure(error: unknown, credential: Credential): Readiness | undefined {
  if (credential.kind === "Key" && isIamError(error, "Unauthenticated")) {
    return {
      state: "Stalled",
      reason: "KeyRejected",
      message: rejection(error, credential.apiKey),
    };
  }
  if (isIamError(error, "PermissionDenied")) {
    const message = explainDenial(error, credential);
    return { state: "Stalled", reason: "PermissionDenied", message };
  }
  return failureReadiness(error);
}

function rejection(error: IamError, { metadata, status }: ApiKey): string {
  const request = error.requestId === undefined ? "" : ` (requestId ${error.requestId})`;
  return `The console does not accept key ${status?.current?.keyId ?? ""} of ApiKey ${metadata.name}${request}: it is missing, inactive or expired, or its account is inactive. It is not tried again before the key changes.`;
}

function blocked(credential: Extract<Credential, { message: string }>): Readiness {
  const { message } = credential;
  return credential.kind === "Mismatch"
    ? { state: "Stalled", reason: "ConnectionMismatch", message }
    : { state: "Reconciling", reason: "WaitingForApiKey", message };
}

const suspended: Readiness = {
  state: "Reconciling",
  reason: "Suspended",
  message: "spec.suspend is true: nothing is listed.",
};

function listed(quotas: readonly Quota[]): Readiness {
  return {
    state: "Ready",
    reason: "Listed",
    message:
      quotas.length === 1
        ? "The listing holds 1 quota."
        : `The listing holds ${quotas.length} quotas.`,
  };
}

function facts(
  { clock }: Context,
  object: ResourceQuotaExport,
  quotas: readonly Quota[],
): ResourceQuotaExportStatus {
  const token = tokenOf(object);
  return {
    lastSuccessTime: toIso8601(clock.now()),
    ...summarize(quotas),
    ...(token === undefined ? {} : { lastHandledReconcileAt: token }),
  };
}

function tokenOf({ metadata }: ResourceQuotaExport): string | undefined {
  return requestToken(metadata, annotations.reconcileRequestedAt);
}

/** Status, metric, and an event when the readiness turns. */
async function report(
  context: Context,
  object: ResourceQuotaExport,
  readiness: Readiness,
  found: ResourceQuotaExportStatus,
  signal: AbortSignal,
): Promise<Result> {
  const { metadata, status = {} } = object;
  const generation = metadata.generation ?? 0;
  const conditions = readinessConditions(
    status.conditions ?? [],
    readiness,
    generation,
    context.clock.now(),
  );
  const next = { ...status, ...found, observedGeneration: generation, conditions: [...conditions] };
  const { resourceQuotaExports } = context.caches;
  await writeStatus(context, resourceQuotaExportType, resourceQuotaExports, object, next, {
    signal,
  });
  const { namespace, name } = keyOf(object);
  const ready = readiness.state === "Ready";
  context.metrics.objectReady.set(
    { kind: resourceQuotaExportType.kind, namespace, name },
    ready ? 1 : 0,
  );
  const before = findCondition(status.conditions, "Ready");
  if (before?.reason !== readiness.reason && (before !== undefined || !ready)) {
    const { apiVersion, kind } = object;
    context.events.record(
      { apiVersion, kind, metadata },
      {
        type: ready ? "Normal" : "Warning",
        reason: readiness.reason,
        action: "ListResourceQuotas",
        note: readiness.message.slice(0, 1_000),
      },
    );
  }
  return {};
}
