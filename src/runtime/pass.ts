import type { KubeObject } from "../kube/resource.ts";
import type { Metrics, ReconcileResult } from "../observability/metrics.ts";
import { assertNever } from "../util/assert-never.ts";
import type { Log } from "../util/log.ts";
import type { Random } from "../util/random.ts";
import { type Clock, MINUTE, SECOND } from "../util/time.ts";
import { toError } from "../util/to-error.ts";
import { errorType, type Span, type Tracer } from "../util/trace.ts";
import type { ErrorPolicy, Outcome, Reconcile, Result } from "./result.ts";
import type { Retries } from "./retries.ts";
import type { Addition } from "./work-queue.ts";

export interface PassOptions<T> {
  readonly name: string;
  readonly reconcile: Reconcile<T>;
  readonly errorPolicy: ErrorPolicy;
  readonly retries: Retries;
  readonly resyncMs: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
}

export interface Passes<T> {
  /** One pass; resolves to when the object is looked at again. Never rejects because of the reconciler. */
  run(key: string, object: T): Promise<Addition>;
  /** Aborts the signals of all running passes. */
  abort(): void;
}

/** Runs single passes: time limit, log, metrics, trace, and what becomes of an error. */
export function createPasses<T extends KubeObject>(options: PassOptions<T>): Passes<T> {
  const { name, clock, metrics, random, tracer } = options;
  const shutdown = new AbortController();

  const runPass = async (
    key: string,
    object: T,
    fields: PassFields,
    span: Span,
  ): Promise<Addition> => {
    const startedAt = clock.monotonic();
    const log = options.log.child(fields);
    const limit = new AbortController();
    const cancel = clock.setTimer(options.timeoutMs, () => {
      log.warn({ durationMs: options.timeoutMs }, "pass took too long");
      limit.abort(new Error("the pass took too long"));
    });
    const signal = AbortSignal.any([limit.signal, shutdown.signal]);
    const durationMs = () => Math.round(clock.monotonic() - startedAt);
    try {
      const result = await options.reconcile(object, { id: fields.reconcileId, signal });
      log.debug({ durationMs: durationMs(), ...result }, "pass ended");
      span.set({ outcome: "Success", ...result });
      return succeeded(options, key, result);
    } catch (error) {
      const outcome = shutdown.signal.aborted ? undefined : options.errorPolicy(error);
      logFailure(log, outcome, { err: toError(error), durationMs: durationMs() });
      noteFailure(span, outcome, error);
      return failed(options, key, outcome ?? { kind: "Retry" });
    } finally {
      cancel();
      metrics.reconcileTime.observe({ controller: name }, durationMs() / SECOND);
    }
  };

  return {
    run(key, object) {
      const id = random.id();
      const fields = passFields(name, object, id);
      return tracer.span(`reconcile ${name}`, fields, (span) => runPass(key, object, fields, span));
    },
    abort: () => shutdown.abort(new Error("the operator is shutting down")),
  };
}

/** What waits for a change is looked at so often all the same: the change may be one at the console. */
const TERMINAL_RESYNC_MS = 30 * MINUTE;

type PassFields = ReturnType<typeof passFields>;

function passFields(controller: string, { metadata }: KubeObject, reconcileId: string) {
  const { namespace, name, uid, generation } = metadata;
  return { controller, namespace, name, uid, generation, reconcileId };
}

function succeeded<T>(options: PassOptions<T>, key: string, { requeueAfterMs }: Result): Addition {
  options.retries.forget(key);
  const resync = nextResync(options);
  const sooner = requeueAfterMs !== undefined && requeueAfterMs < resync.afterMs;
  count(options, requeueAfterMs === undefined ? "success" : "requeue_after");
  return sooner ? { afterMs: Math.max(1, requeueAfterMs), priority: "requeue" } : resync;
}

function failed<T>(options: PassOptions<T>, key: string, outcome: Outcome): Addition {
  const { name, metrics, retries } = options;
  if (outcome.kind === "Terminal") {
    retries.forget(key);
    metrics.terminalErrors.inc({ controller: name });
    countError(options);
    return nextResync({ ...options, resyncMs: Math.min(options.resyncMs, TERMINAL_RESYNC_MS) });
  }
  metrics.queueRetries.inc({ name });
  if (outcome.kind === "Conflict") count(options, "requeue");
  else countError(options);
  const priority = outcome.kind === "Conflict" ? "requeue" : "retry";
  return { ...retries.delay(key, outcome), priority };
}

function nextResync<T>({ resyncMs, random }: Pick<PassOptions<T>, "resyncMs" | "random">): {
  afterMs: number;
  priority: "resync";
} {
  return { afterMs: resyncMs * (1 - random.fraction() / 10), priority: "resync" };
}

function count<T>({ name, metrics }: PassOptions<T>, result: ReconcileResult): void {
  metrics.reconciles.inc({ controller: name, result });
}

function countError<T>(options: PassOptions<T>): void {
  count(options, "error");
  options.metrics.reconcileErrors.inc({ controller: options.name });
}

/** How loud a failure is depends on who has to do something about it. */
function logFailure(
  log: Log,
  outcome: Outcome | undefined,
  fields: { readonly err: Error; readonly durationMs: number },
): void {
  if (outcome === undefined) {
    log.debug(fields, "pass was cut off by the shutdown");
    return;
  }
  switch (outcome.kind) {
    case "Conflict":
      log.debug(fields, "pass met a conflict");
      return;
    case "Retry":
      log.warn(fields, "pass failed, will be retried");
      return;
    case "SlowRetry":
      log.error(fields, "pass failed, will be retried slowly");
      return;
    case "Terminal":
      log.info(fields, "pass failed, waiting for a change");
      return;
    default:
      assertNever(outcome);
  }
}

/** A conflict and a shutdown are nobody's fault. */
function noteFailure(span: Span, outcome: Outcome | undefined, error: unknown): void {
  span.set({ outcome: outcome?.kind ?? "CutOff" });
  if (outcome !== undefined && outcome.kind !== "Conflict") span.fail(errorType(error));
}
