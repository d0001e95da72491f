/**
 * All metrics of the program. Label values are closed sets; only per-object gauges have an object's name as a label.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Registry } from "prom-client";
import { consoleMetrics, kubeMetrics } from "./call-metrics.ts";
import { CollectedGauge } from "./collected-gauge.ts";
import {
  apiKeyMetrics,
  consumerMetrics,
  objectMetrics,
  serviceAccountMetrics,
} from "./object-metrics.ts";
import { controllerMetrics, queueMetrics } from "./queue-metrics.ts";
import { quotaMetrics } from "./quota-metrics.ts";

export type Metrics = ReturnType<typeof createMetrics>;

/** The outcomes of an attempt to issue a key. */
export const ISSUE_RESULTS = ["Issued", "NotCommitted", "Unknown"] as const;
type IssueResult = (typeof ISSUE_RESULTS)[number];
/** The outcome of a login: accepted, second factor required, rejected, or no usable response. */
type LoginResult = "success" | "mfaRequired" | "rejected" | "error";
/** The result labels of controller-runtime. */
export type ReconcileResult = "success" | "requeue" | "requeue_after" | "error";

const issueResults: readonly IssueResult[] = ["Issued", "NotCommitted", "Unknown"];
const loginResults: readonly LoginResult[] = ["success", "mfaRequired", "rejected", "error"];
const restartResults = ["Restarted", "Failed"] as const;
const reconcileResults: readonly ReconcileResult[] = [
  "success",
  "requeue",
  "requeue_after",
  "error",
];

/**
 * Sampling interval of the event loop's lag, in milliseconds. Each sample wakes the process: the default of 10 ms took
 * two thirds of an idle operator's CPU time.
 */
export const LAG_SAMPLE_MS = 50;

/** Declares the operator's metrics on `registry`; known series start at zero. */
export function createMetrics(registry: Registry) {
  const declared = declare(registry);
  for (const result of issueResults) declared.apiKeyIssues.inc({ result }, 0);
  for (const result of loginResults) declared.logins.inc({ result }, 0);
  for (const result of restartResults) declared.workloadRestarts.inc({ result }, 0);

  const scrapes = new Set<() => void>();
  return {
    registry,
    ...declared,

    /** Removes the quotas of one export, so that quotas that no longer exist in the console disappear. */
    forgetQuotas(exportNamespace: string, exportName: string): void {
      forgetQuotas(declared, exportNamespace, exportName);
    },

    /** Starts the series of a controller and its queue at zero. */
    startController(controller: string, concurrency: number): void {
      startController(declared, controller, concurrency);
    },

    /**
     * Calls `update` before every rendering, for gauges that change over time; returns a function that stops the calls.
     */
    onScrape(update: () => void): () => void {
      scrapes.add(update);
      return () => scrapes.delete(update);
    },

    /**
     * The text of a scrape, as parts outside the heap. Rendering thousands of objects takes long, so it yields to the
     * event loop after each part.
     */
    async renderParts(): Promise<readonly Uint8Array[]> {
      for (const update of scrapes) update();
      const parts: Uint8Array[] = [];
      for (const metric of registry.getMetricsAsArray() as readonly unknown[])
        for await (const text of textsOf(registry, metric)) {
          parts.push(Buffer.from(text));
          await nextTurn();
        }
      return parts;
    },

    async render(): Promise<string> {
      return Buffer.concat(await this.renderParts()).toString();
    },
  };
}

const SERIES_AT_ONCE = 1_000;

async function* textsOf(registry: Registry, metric: unknown): AsyncGenerator<string> {
  if (metric instanceof CollectedGauge) yield* metric.texts(SERIES_AT_ONCE);
  else yield `${await registry.getSingleMetricAsString((metric as { name: string }).name)}\n`;
}

type Declared = ReturnType<typeof declare>;

function declare(registry: Registry) {
  return {
    ...objectMetrics(registry),
    ...serviceAccountMetrics(registry),
    ...apiKeyMetrics(registry),
    ...consumerMetrics(registry),
    ...quotaMetrics(registry),
    ...consoleMetrics(registry),
    ...kubeMetrics(registry),
    ...controllerMetrics(registry),
    ...queueMetrics(registry),
  };
}

function forgetQuotas(metrics: Declared, namespace: string, name: string): void {
  const match = { export_namespace: namespace, export: name };
  metrics.quotaInfo.remove(match);
  metrics.quotaCreated.remove(match);
  metrics.quota.remove(match);
  metrics.quotaParseOk.remove(match);
}

function startController(metrics: Declared, controller: string, concurrency: number): void {
  for (const result of reconcileResults) metrics.reconciles.inc({ controller, result }, 0);
  metrics.reconcileErrors.inc({ controller }, 0);
  metrics.terminalErrors.inc({ controller }, 0);
  metrics.maxConcurrentReconciles.set({ controller }, concurrency);
  metrics.activeWorkers.set({ controller }, 0);
  metrics.staleSyncSkips.inc({ kind: controller }, 0);
  metrics.queueAdds.inc({ name: controller }, 0);
  metrics.queueRetries.inc({ name: controller }, 0);
  metrics.queueDepth.set({ name: controller }, 0);
}
