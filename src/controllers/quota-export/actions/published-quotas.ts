/** The last listing of every export as metrics. A scrape reads these, never the console. */

import { type Amount, parseQuotaText } from "../../../api/quota-text.ts";
import type { Quota } from "../../../iam/model.ts";
import { keyText, type ObjectKey, parseKey } from "../../../kube/resource.ts";
import type { Metrics } from "../../../observability/metrics.ts";
import { type Clock, parseInstant, SECOND } from "../../../util/time.ts";
import { cut } from "../rules/listing.ts";

export interface QuotaListing {
  readonly clusterId: number;
  readonly quotas: readonly Quota[];
  readonly intervalMs: number;
  readonly durationMs: number;
}

interface PublishedListing {
  /** Monotonic. */
  readonly takenAt: number;
  readonly intervalMs: number;
  readonly fingerprint: string;
}

const MISSED_INTERVALS = 3;
const MAX_LABEL = 512;

/** Series come with a listing and vanish with the record, the export, or after three missed intervals. */
export class PublishedQuotas {
  readonly #metrics: Metrics;
  readonly #clock: Clock;
  readonly #listings = new Map<string, PublishedListing>();

  constructor(metrics: Metrics, clock: Clock) {
    this.#metrics = metrics;
    this.#clock = clock;
    metrics.onScrape(() => this.dropOutdated());
  }

  publish(key: ObjectKey, listing: QuotaListing): void {
    const { quotas, clusterId, intervalMs, durationMs } = listing;
    const labels = exportLabels(key);
    // Rewriting thousands of series costs far more than seeing that nothing has changed.
    const fingerprint = JSON.stringify([clusterId, quotas]);
    if (this.#listings.get(keyText(key))?.fingerprint !== fingerprint) {
      this.#metrics.forgetQuotas(key.namespace, key.name);
      for (const quota of quotas) this.#show(labels, clusterId, quota);
    }
    this.#listings.set(keyText(key), { takenAt: this.#clock.monotonic(), intervalMs, fingerprint });
    this.#metrics.quotaExportTotal.set(labels, quotas.length);
    this.#metrics.quotaExportLastSuccess.set(labels, Math.floor(this.#clock.now() / SECOND));
    this.#metrics.quotaExportDuration.set(labels, durationMs / SECOND);
  }

  drop(key: ObjectKey): void {
    if (!this.#listings.delete(keyText(key))) return;
    const labels = exportLabels(key);
    this.#metrics.forgetQuotas(key.namespace, key.name);
    this.#metrics.quotaExportTotal.remove(labels);
    this.#metrics.quotaExportLastSuccess.remove(labels);
    this.#metrics.quotaExportDuration.remove(labels);
  }

  dropOutdated(): void {
    const now = this.#clock.monotonic();
    for (const [text, { takenAt, intervalMs }] of this.#listings) {
      if (now - takenAt > MISSED_INTERVALS * intervalMs) this.drop(parseKey(text));
    }
  }

  #show(exported: ReturnType<typeof exportLabels>, clusterId: number, quota: Quota): void {
    const labels = {
      ...exported,
      cluster_id: String(clusterId),
      namespace: label(quota.namespace),
      name: label(quota.name),
    };
    const info = {
      status: label(quota.status ?? ""),
      request: label(quota.displayRequest),
      limit: label(quota.displayLimit),
    };
    this.#metrics.quotaInfo.set({ ...labels, ...info }, 1);
    const created = parseInstant(quota.createdAt);
    if (created !== undefined) this.#metrics.quotaCreated.set(labels, created / SECOND);
    const amounts = amountsOf(quota);
    this.#metrics.quotaParseOk.set(labels, amounts === undefined ? 0 : 1);
    for (const { resource, used, hard } of amounts ?? []) {
      this.#metrics.quota.set({ ...labels, resource, type: "used" }, used);
      this.#metrics.quota.set({ ...labels, resource, type: "hard" }, hard);
    }
  }
}

/** Both texts, or neither: the limit's resources are named `limits.…`, as ResourceQuotas name them. */
export function amountsOf(quota: Quota): readonly Amount[] | undefined {
  const requests = parseQuotaText(quota.displayRequest);
  const limits = parseQuotaText(quota.displayLimit);
  if (requests === undefined || limits === undefined) return undefined;
  const named = limits.map((amount) =>
    amount.resource.startsWith("limits.")
      ? amount
      : { ...amount, resource: `limits.${amount.resource}` },
  );
  return [...requests, ...named];
}

function exportLabels({ namespace, name }: ObjectKey) {
  return { export_namespace: namespace, export: name };
}

function label(text: string): string {
  return cut(text, MAX_LABEL);
}
