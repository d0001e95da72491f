import type { KubeObject } from "../kube/resource.ts";
import type { Metrics, ReconcileResult } from "../observability/metrics.ts";
import { assertNever } from "../util/assert-never.ts";
import { jittered } from "../util/jitter.ts";
import type { Log } from "../util/log.ts";
import type { Random } from "../util/random.ts";
import { type Clock, MINUTE, SECOND } from "../util/time.ts";
import { toError } from "../util/to-error.ts";
import { errorType, type Span, type Tracer } from "../util/trace.ts";
import type { AddOptions } from "./add-options.ts";
import type { ErrorOutcome, ErrorPolicy, Reconcile, Result } from "./result.ts";
import type { Retries } from "./retries.ts";
import { type RunLimit, startLimit } from "./run-limit.ts";

interface RunnerOptions<T> {
  readonly name: string;
  readonly reconcile: Reconcile<T>;
  readonly errorPolicy: ErrorPolicy;
  readonly retries: Retries;
  readonly resyncMs: number;
  /** Time limit of a run; its report has some more time. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
}

export interface Runner<T> {
  /** Runs the reconciler once. Resolves to when the object is due again. Does not reject if the reconciler throws. */
  run(key: string, object: T, isRequested?: boolean): Promise<AddOptions>;
  /** Aborts the signals of all runs. */
  abort(): void;
}

/** Runs a reconciler with a time limit, log, metrics and trace, and turns its errors into retries. */
export function createRunner<T extends KubeObject>(options: RunnerOptions<T>): Runner<T> {
  const { name, clock, metrics, random, tracer } = options;
  /** Time limits of the current runs. */
  const running = new Set<RunLimit>();
  let isShuttingDown = false;

  const runOnce = async (
    key: string,
    object: T,
    fields: RunFields,
    span: Span,
    isRequested: boolean,
  ): Promise<AddOptions> => {
    const startedAt = clock.monotonic();
    const log = options.log.child(fields);
    const limit = startLimit(clock, options.timeoutMs, () =>
      log.warn({ durationMs: options.timeoutMs }, "reconcile timed out"),
    );
    running.add(limit);
    if (isShuttingDown) limit.stop();
    const durationMs = () => Math.round(clock.monotonic() - startedAt);
    try {
      const result = await options.reconcile(object, {
        id: fields.reconcileId,
        signal: limit.signal,
        reportSignal: limit.reportSignal,
        isRequested,
      });
      log.debug({ durationMs: durationMs(), ...result }, "reconcile finished");
      span.set({ outcome: "Success", ...result });
      return succeeded(options, key, result);
    } catch (error) {
      const outcome = isShuttingDown ? undefined : options.errorPolicy(error);
      logFailure(log, outcome, { err: toError(error), durationMs: durationMs() });
      noteFailure(span, outcome, error);
      const again = failed(options, key, outcome ?? { kind: "Retry" });
      // After a conflict the request is still open.
      return outcome?.kind === "Conflict" && isRequested
        ? { ...again, bypassBackoff: true }
        : again;
    } finally {
      limit.cancel();
      running.delete(limit);
      metrics.reconcileTime.observe({ controller: name }, durationMs() / SECOND);
    }
  };

  return {
    run(key, object, isRequested = false) {
      const id = random.id();
      const fields = runFields(name, object, id);
      return tracer.span(`reconcile ${name}`, fields, (span) =>
        runOnce(key, object, fields, span, isRequested),
      );
    },
    abort() {
      isShuttingDown = true;
      for (const limit of running) limit.stop();
    },
  };
}

/** An object that waits for a change is still reconciled this often, because the change may happen in the console. */
const TERMINAL_RESYNC_MS = 30 * MINUTE;

type RunFields = ReturnType<typeof runFields>;

function runFields(controller: string, { metadata }: KubeObject, reconcileId: string) {
  const { namespace, name, uid, generation } = metadata;
  return { controller, namespace, name, uid, generation, reconcileId };
}

function succeeded<T>(
  options: RunnerOptions<T>,
  key: string,
  { requeueAfterMs }: Result,
): AddOptions {
  options.retries.forget(key);
  const resync = nextResync(options);
  const sooner = requeueAfterMs !== undefined && requeueAfterMs < resync.afterMs;
  count(options, requeueAfterMs === undefined ? "success" : "requeue_after");
  return sooner ? { afterMs: Math.max(1, requeueAfterMs), priority: "requeue" } : resync;
}

function failed<T>(options: RunnerOptions<T>, key: string, outcome: ErrorOutcome): AddOptions {
  const { name, metrics, retries } = options;
  if (outcome.kind === "Terminal") {
    retries.forget(key);
    metrics.terminalErrors.inc({ controller: name });
    countError(options);
    const { resyncMs: terminalMs = TERMINAL_RESYNC_MS } = outcome;
    return nextResync({ ...options, resyncMs: Math.min(options.resyncMs, terminalMs) });
  }
  metrics.queueRetries.inc({ name });
  if (outcome.kind === "Conflict") count(options, "requeue");
  else countError(options);
  const priority = outcome.kind === "Conflict" ? "requeue" : "retry";
  return { ...retries.delay(key, outcome), priority };
}

function nextResync<T>({ resyncMs, random }: Pick<RunnerOptions<T>, "resyncMs" | "random">): {
  afterMs: number;
  priority: "resync";
} {
  return {
    afterMs: jittered(resyncMs, { least: 0.9, most: 1 }, random.fraction()),
    priority: "resync",
  };
}

function count<T>({ name, metrics }: RunnerOptions<T>, result: ReconcileResult): void {
  metrics.reconciles.inc({ controller: name, result });
}

function countError<T>(options: RunnerOptions<T>): void {
  count(options, "error");
  options.metrics.reconcileErrors.inc({ controller: options.name });
}

/** The log level depends on who must act on the failure. */
function logFailure(
  log: Log,
  outcome: ErrorOutcome | undefined,
  fields: { readonly err: Error; readonly durationMs: number },
): void {
  if (outcome === undefined) {
    log.debug(fields, "reconcile was interrupted by shutdown");
    return;
  }
  switch (outcome.kind) {
    case "Conflict":
      log.debug(fields, "reconcile hit a conflict");
      return;
    case "Retry":
      log.warn(fields, "reconcile failed, will retry");
      return;
    case "SlowRetry":
      log.error(fields, "reconcile failed, will retry slowly");
      return;
    case "Terminal":
      log.info(fields, "reconcile failed, waiting for a change");
      return;
    default:
      assertNever(outcome);
  }
}

/** Conflicts and shutdowns do not mark the span as failed. */
function noteFailure(span: Span, outcome: ErrorOutcome | undefined, error: unknown): void {
  span.set({ outcome: outcome?.kind ?? "CutOff" });
  if (outcome !== undefined && outcome.kind !== "Conflict") span.fail(errorType(error));
}
