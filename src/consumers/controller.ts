/**
 * Counts the Pods that use an ApiKey's Secret, and restarts workloads whose Pods do not notice its changes by
 * themselves. The controller reads the ApiKey's status and writes neither the ApiKey nor its Secret, so issuing and
 * rotating keys do not depend on it. It publishes its results on the {@link ConsumersBoard}.
 */

import { isDeepStrictEqual } from "node:util";
import { type ApiKey, type ApiKeySpec, apiKeyKind } from "../api/api-key.ts";
import { type EventReason, toEvent } from "../api/events.ts";
import { API_VERSION } from "../api/meta.ts";
import { parseSpec } from "../api/parse-spec.ts";
import { isPlanOnly } from "../api/plan-only.ts";
import { isKubeError } from "../kube/errors.ts";
import { type KubeObject, keyOf, keyText, type ObjectKey } from "../kube/resource.ts";
import type { StoreChange } from "../kube/store/store.ts";
import type { Context } from "../reconciler/context.ts";
import { errorPolicy } from "../reconciler/rules/error-policy.ts";
import { failureReadiness } from "../reconciler/rules/failure.ts";
import { apiKeyType } from "../resources/resource-types.ts";
import { ignoreStatusChanges } from "../runtime/predicates.ts";
import type { Reconcile, Result, Run } from "../runtime/result.ts";
import { jittered } from "../util/jitter.ts";
import { isBeingDeleted } from "../util/object-meta.ts";
import { parseInstant } from "../util/time.ts";
import type { Consumers, ConsumersBoard, Count } from "./board.ts";
import { NamespacePods } from "./namespace-pods.ts";
import { type RolloutResult, rollOut } from "./rollout.ts";
import { type Content, consumersOf, isStale } from "./rules/decide.ts";
import type { PodDigest } from "./rules/pod-digest.ts";
import { nextCountMs } from "./rules/schedule.ts";

/** The maximum number of Pod names in a message. */
const MAX_NAMES = 3;
/** Reasons that require an action by a person. */
const troubles = ["RestartFailed", "WorkloadNotFound", "NotConverging"] as const;

interface ConsumersController {
  readonly reconcile: Reconcile<ApiKey>;
  readonly onGone: (key: ObjectKey) => void;
  /** Whether the Secret has a new version, or the ApiKey has changed outside its status. */
  readonly predicate: (change: StoreChange<ApiKey>) => boolean;
}

export function createConsumersController(
  context: Context,
  board: ConsumersBoard,
  enqueue: (key: ObjectKey) => void,
): ConsumersController {
  const pods = new NamespacePods(context.kube);
  const uids = new Map<string, string>();
  const forget = (key: ObjectKey) => {
    board.delete(uids.get(keyText(key)) ?? "");
    uids.delete(keyText(key));
  };
  const publish = (object: ApiKey, consumers: Consumers) => {
    uids.set(keyText(keyOf(object)), object.metadata.uid);
    if (board.put(object.metadata.uid, consumers)) enqueue(keyOf(object));
  };
  return {
    onGone: forget,
    predicate: (change) =>
      ignoreStatusChanges(change) ||
      !isDeepStrictEqual(change.old?.status?.content, change.new?.status?.content),
    reconcile: async (cached, run) => {
      const object = await wholeOf(cached, context, run);
      if (object === undefined) return {};
      const parsed = parseSpec(apiKeyKind, object);
      const content = contentOf(object);
      const isLeaving = isBeingDeleted(object);
      if (parsed.ok && content !== undefined && !isLeaving)
        return count(
          { object, spec: parsed.spec, content },
          { context, board, pods, publish },
          run,
        );
      forget(keyOf(object));
      return {};
    },
  };
}

/** Reads an object from the API server if its cached form is partial. */
async function wholeOf(
  object: ApiKey,
  { kube }: Context,
  { signal }: Run,
): Promise<ApiKey | undefined> {
  const { isPartial }: KubeObject = object;
  return isPartial ? kube.get(apiKeyType, keyOf(object), { signal }) : object;
}

interface Subject {
  readonly object: ApiKey;
  readonly spec: ApiKeySpec;
  readonly content: Content;
}

interface ConsumersContext {
  readonly context: Context;
  readonly board: ConsumersBoard;
  readonly pods: NamespacePods;
  readonly publish: (object: ApiKey, consumers: Consumers) => void;
}

async function count(subject: Subject, parts: ConsumersContext, run: Run): Promise<Result> {
  const { object, content } = subject;
  const { clock, random } = parts.context;
  const users = await readUsers(subject, parts);
  const result = await tryRollout(subject, users, parts, run);
  const counted = countOf(users, content, clock.now());
  parts.publish(object, { ...counted, ...(result === undefined ? {} : { rollout: result.note }) });
  // An error that only a change of the workload can correct must not stop the counting.
  if (result?.error !== undefined && errorPolicy(result.error).kind !== "Terminal")
    throw result.error;
  const { stale } = counted;
  const { replacementTime } = content;
  const afterMs = nextCountMs({ stale, replacementTime, until: result?.until }, clock.now());
  return { requeueAfterMs: jittered(afterMs, { least: 0.9, most: 1.1 }, random.fraction()) };
}

async function readUsers(
  { object, content }: Subject,
  { pods, publish }: ConsumersContext,
): Promise<readonly PodDigest[]> {
  try {
    return consumersOf(await pods.list(keyOf(object).namespace), content);
  } catch (error) {
    publish(object, unread(error));
    throw error;
  }
}

/** Restarts the workloads that are due, if the spec requests it and restarts are allowed. */
async function tryRollout(
  { object, spec, content }: Subject,
  pods: readonly PodDigest[],
  { context, board }: ConsumersContext,
  { signal }: Run,
): Promise<RolloutResult | undefined> {
  const { rollout, suspend } = spec;
  if (rollout === undefined || suspend || isPlanOnly(object) || board.mode !== "restart")
    return undefined;
  signal.throwIfAborted();
  const { namespace } = keyOf(object);
  const result = await rollOut(context, { namespace, rollout, content, pods }, signal);
  recordRestarts(object, result, board.of(object.metadata.uid), content, context);
  // A conflict is retried at once and needs no event.
  if (isKubeError(result.error, "Conflict")) throw result.error;
  return result;
}

function contentOf({ metadata, status }: ApiKey): Content | undefined {
  const { content, secretName } = status ?? {};
  if (content === undefined || secretName === undefined) return undefined;
  return {
    apiKey: metadata.name,
    secret: secretName,
    hash: content.hash,
    replacementTime: parseInstant(content.replacementTime),
  };
}

function countOf(users: readonly PodDigest[], content: Content, now: number): Count {
  const stale = users.filter((pod) => isStale(pod, content, now)).map(({ name }) => name);
  return {
    kind: "Counted",
    hash: content.hash,
    pods: users.length,
    stale: stale.length,
    staleNames: stale.toSorted().slice(0, MAX_NAMES),
  };
}

function unread(error: unknown): Consumers {
  const { reason, message } = failureReadiness(error) ?? {
    reason: "Conflict",
    message: "The Pods could not be listed.",
  };
  return { kind: "Unknown", reason, message };
}

/** Records an event for every restart, and a Warning for a new problem. */
function recordRestarts(
  { metadata }: ApiKey,
  { restarted, note, error }: RolloutResult,
  before: Consumers | undefined,
  { secret }: Content,
  { events, log, metrics }: Context,
): void {
  const { namespace, name } = metadata;
  const about = { apiVersion: API_VERSION, kind: apiKeyKind.kind, metadata };
  const record = (reason: EventReason, text: string) =>
    events.record(about, toEvent(reason, "Restart", text));
  for (const workload of restarted) {
    const why = `its Pods read Secret ${secret} at their start, and its content has changed`;
    record("WorkloadRestarted", `Restarted ${workload}: ${why}.`);
    log.info({ namespace, name, workload }, "restarted workload");
    metrics.workloadRestarts.inc({ result: "Restarted" });
  }
  if (isKubeError(error, "Conflict")) return;
  if (error !== undefined) metrics.workloadRestarts.inc({ result: "Failed" });
  const known = before?.kind === "Counted" ? before.rollout?.message : undefined;
  const trouble = troubles.find((reason) => reason === note.reason);
  if (trouble !== undefined && note.message !== known) record(trouble, note.message);
}
