/** The last listing of every export as metrics. A scrape reads these metrics and never calls the console. */

import { createHash } from "node:crypto";
import { type Amount, parseQuotaText } from "../../api/quota-text.ts";
import type { Quota } from "../../console/model.ts";
import { keyText, type ObjectKey, parseKey } from "../../kube/resource.ts";
import type { Metrics } from "../../observability/metrics.ts";
import { type Clock, parseInstant, SECOND } from "../../util/time.ts";
import { cut } from "./rules/listing.ts";

interface QuotaListing {
  readonly clusterId: number;
  readonly quotas: readonly Quota[];
  readonly intervalMs: number;
  readonly durationMs: number;
}

interface PublishedListing {
  /** Milliseconds of the monotonic clock. */
  readonly takenAt: number;
  readonly intervalMs: number;
  /** The hash of the whole listing. */
  readonly hash: string;
  /** How much of the limits its series use. */
  readonly used: number;
  readonly omitted: number;
}

/** The maximum number of series; a series with long labels counts as several. */
export interface SeriesLimits {
  readonly perExport: number;
  readonly total: number;
}

/** The series of one quota. */
interface QuotaSeries {
  readonly cost: number;
  show(): void;
}

/** A listing without series. */
const HIDDEN = { hash: "", used: 0 };
const MISSED_INTERVALS = 3;
const MAX_LABEL = 512;
const CHARACTERS_OF_SERIES = 256;
/** Quotas processed before the process yields to other work. */
const SLICE = 200;

/**
 * Publishes the series of listings. The series of a quota disappear when a listing no longer has it, and all that a
 * listing has shown after three missed intervals. The time of the last listing stays as long as the export, unless that
 * is suspended.
 */
export class PublishedQuotas {
  readonly #metrics: Metrics;
  readonly #clock: Clock;
  readonly #limits: SeriesLimits;
  readonly #isSuspended: (key: ObjectKey) => boolean;
  readonly #listings = new Map<string, PublishedListing>();

  constructor(
    metrics: Metrics,
    clock: Clock,
    limits: SeriesLimits,
    isSuspended: (key: ObjectKey) => boolean,
  ) {
    this.#metrics = metrics;
    this.#limits = limits;
    this.#clock = clock;
    this.#isSuspended = isSuspended;
    metrics.onScrape(() => this.dropOutdated());
  }

  /** Resolves to the number of quotas without series because of the limits. */
  async publish(key: ObjectKey, listing: QuotaListing): Promise<number> {
    const { quotas, clusterId, intervalMs, durationMs } = listing;
    const labels = exportLabels(key);
    const hash = await this.#hashOf(clusterId, quotas);
    const known = this.#listings.get(keyText(key));
    // Comparing the hash costs far less than rewriting thousands of unchanged series.
    const isSame = known?.hash === hash && known.omitted === 0;
    // Must not wait between the check of the limits and the record of what is used: exports are published concurrently.
    const { used, omitted } = isSame
      ? known
      : this.#replace(key, await this.#seriesOfAll(key, clusterId, quotas), quotas.length);
    const takenAt = this.#clock.monotonic();
    this.#listings.set(keyText(key), { takenAt, intervalMs, hash, used, omitted });
    this.#metrics.quotaExportTotal.set(labels, quotas.length);
    this.#metrics.quotaExportOmitted.set(labels, omitted);
    this.#metrics.quotaExportLastSuccess.set(labels, Math.floor(this.#clock.now() / SECOND));
    this.#metrics.quotaExportDuration.set(labels, durationMs / SECOND);
    return omitted;
  }

  drop(key: ObjectKey): void {
    if (!this.#listings.has(keyText(key))) return;
    this.#hide(key);
    this.#listings.delete(keyText(key));
    this.#metrics.quotaExportLastSuccess.remove(exportLabels(key));
  }

  dropOutdated(): void {
    const now = this.#clock.monotonic();
    for (const [text, listing] of this.#listings) {
      if (now - listing.takenAt <= MISSED_INTERVALS * listing.intervalMs) continue;
      const key = parseKey(text);
      this.#hide(key);
      this.#listings.set(text, { ...listing, ...HIDDEN });
      if (this.#isSuspended(key)) this.drop(key);
    }
  }

  #hide(key: ObjectKey): void {
    const labels = exportLabels(key);
    this.#metrics.forgetQuotas(key.namespace, key.name);
    this.#metrics.quotaExportTotal.remove(labels);
    this.#metrics.quotaExportOmitted.remove(labels);
    this.#metrics.quotaExportDuration.remove(labels);
  }

  async #hashOf(clusterId: number, quotas: readonly Quota[]): Promise<string> {
    const hash = createHash("sha256").update(`${clusterId}`);
    for (let from = 0; from < quotas.length; from += SLICE) {
      hash.update(JSON.stringify(quotas.slice(from, from + SLICE)));
      await this.#clock.yieldToEventLoop?.();
    }
    return hash.digest("base64");
  }

  /** Parses the quotas in slices, within the limit of one export. */
  async #seriesOfAll(
    key: ObjectKey,
    clusterId: number,
    quotas: readonly Quota[],
  ): Promise<readonly QuotaSeries[]> {
    const { perExport } = this.#limits;
    const labels = { ...exportLabels(key), cluster_id: String(clusterId) };
    const ready: QuotaSeries[] = [];
    let room = perExport;
    for (const quota of quotas) {
      const series = this.#seriesOf(labels, quota);
      room -= series.cost;
      if (room < 0) break;
      ready.push(series);
      if (ready.length % SLICE === 0) await this.#clock.yieldToEventLoop?.();
    }
    return ready;
  }

  /** Replaces all previous series of the export. */
  #replace(
    key: ObjectKey,
    ready: readonly QuotaSeries[],
    total: number,
  ): Pick<PublishedListing, "used" | "omitted"> {
    this.#metrics.forgetQuotas(key.namespace, key.name);
    let left = this.#limits.total - this.#usedByOthers(key);
    let used = 0;
    let shown = 0;
    for (const { cost, show } of ready) {
      if (cost > left) break;
      show();
      left -= cost;
      used += cost;
      shown += 1;
    }
    return { used, omitted: total - shown };
  }

  #usedByOthers(key: ObjectKey): number {
    const own = keyText(key);
    return [...this.#listings].reduce(
      (sum, [text, { used }]) => (text === own ? sum : sum + used),
      0,
    );
  }

  #seriesOf(
    exported: Readonly<Record<"export_namespace" | "export" | "cluster_id", string>>,
    quota: Quota,
  ): QuotaSeries {
    const metrics = this.#metrics;
    const labels = { ...exported, namespace: label(quota.namespace), name: label(quota.name) };
    const info = {
      status: label(quota.status ?? ""),
      request: label(quota.displayRequest),
      limit: label(quota.displayLimit),
    };
    const created = parseInstant(quota.createdAt);
    const amounts = amountsOf(quota);
    const each = costOf(labels);
    const ofAmounts = (amounts ?? []).map(({ resource }) => 2 * costOf({ ...labels, resource }));
    return {
      cost: ofAmounts.reduce((sum, cost) => sum + cost, 2 * each + costOf({ ...labels, ...info })),
      show: () => {
        metrics.quotaInfo.set({ ...labels, ...info }, 1);
        if (created !== undefined) metrics.quotaCreated.set(labels, created / SECOND);
        metrics.quotaParseOk.set(labels, amounts === undefined ? 0 : 1);
        for (const { resource, used, hard } of amounts ?? []) {
          metrics.quota.set({ ...labels, resource, type: "used" }, used);
          metrics.quota.set({ ...labels, resource, type: "hard" }, hard);
        }
      },
    };
  }
}

function costOf(labels: Readonly<Record<string, string>>): number {
  const length = Object.values(labels).reduce((sum, text) => sum + text.length, 0);
  return Math.max(1, Math.ceil(length / CHARACTERS_OF_SERIES));
}

/**
 * The amounts of both texts; `undefined` if one of them cannot be parsed. The resources of the limit are named
 * `limits.…`, as in a ResourceQuota.
 */
function amountsOf(quota: Quota): readonly Amount[] | undefined {
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
