/** Number of keys issued for a namespace through a connection in the last 24 hours. */
import type { ApiKey } from "../../api/api-key.ts";
import { keyOf, keyText } from "../../kube/resource.ts";
import type { Caches } from "../../reconciler/context.ts";
import { indexes } from "../../resources/indexes.ts";
import { apiKeyType, serviceAccountType } from "../../resources/resource-types.ts";
import { type AgreedTime, certainTime, correctedTime } from "../../util/agreed-time.ts";
import { DAY, type Instant, parseInstant } from "../../util/time.ts";
import { DeletedIssues } from "./deleted-issues.ts";

/** Keys issued at the same time for one ApiKey. */
interface Batch {
  readonly uid?: string;
  readonly time: Instant;
  readonly count: number;
}

export interface NamespaceUsage {
  readonly most: number;
  readonly count: number;
  /** From when the limit permits another key, unless others are issued first. Infinity if it permits none. */
  readonly freeAt: Instant;
}

/** Connections and namespaces with a count in memory. */
const MOST_COUNTED = 10_000;

type IssueCaches = Pick<Caches, "of">;

/**
 * The first count for a namespace reads the statuses and the known issues of deleted ApiKeys. After that, the keys that
 * this process issues are added. A connection is identified by its `connectionKey`.
 */
export class NamespaceIssues {
  readonly #caches: IssueCaches;
  readonly #deleted: DeletedIssues;
  /** Oldest first. */
  readonly #batches = new Map<string, Batch[]>();

  constructor(caches: IssueCaches, deleted = new DeletedIssues()) {
    this.#caches = caches;
    this.#deleted = deleted;
  }

  count(connection: string, namespace: string, at: AgreedTime): number {
    return this.#recent(connection, namespace, at).reduce((sum, { count }) => sum + count, 0);
  }

  /** The count against a limit of `most` keys. */
  usage(connection: string, namespace: string, most: number, at: AgreedTime): NamespaceUsage {
    const count = this.count(connection, namespace, at);
    if (most === 0) return { most, count, freeAt: Number.POSITIVE_INFINITY };
    let newest = 0;
    const oldestCounted = this.#recent(connection, namespace, at).findLast((batch) => {
      newest += batch.count;
      return newest >= most;
    });
    return { most, count, freeAt: oldestCounted === undefined ? 0 : oldestCounted.time + DAY };
  }

  /** The issues of the last 24 hours, oldest first. */
  #recent(connection: string, namespace: string, at: AgreedTime): readonly Batch[] {
    const name = nameOf(connection, namespace);
    const now = certainTime(at);
    const batches =
      this.#batches.get(name) ??
      [...batchesIn(this.#caches, connection, namespace, now), ...this.#deleted.of(name)]
        .map((batch) => ({ ...batch, time: correctedTime(batch.time, at) }))
        .toSorted((a, b) => a.time - b.time);
    while (batches[0] !== undefined && batches[0].time <= now - DAY) batches.shift();
    // Last, so that the first is the one that was counted longest ago: it can be counted again.
    this.#batches.delete(name);
    this.#batches.set(name, batches);
    for (const oldest of this.#batches.keys())
      if (this.#batches.size > MOST_COUNTED) this.#batches.delete(oldest);
    return batches;
  }

  /** Counts a key issued at `time`. Has no effect on a namespace that was never counted. */
  note(connection: string, namespace: string, uid: string, time: Instant): void {
    this.#batches.get(nameOf(connection, namespace))?.push({ uid, time, count: 1 });
  }

  /** Removes the issue noted for `time`, because it did not happen. */
  remove(connection: string, namespace: string, uid: string, time: Instant): void {
    const batches = this.#batches.get(nameOf(connection, namespace)) ?? [];
    const index = batches.findLastIndex(
      (batch) => batch.time === time && batch.count === 1 && batch.uid === uid,
    );
    if (index >= 0) batches.splice(index, 1);
  }

  /** The status of an ApiKey is deleted: keeps its issues for the next leader. */
  onDeleted({ metadata: { namespace, uid } }: ApiKey): void {
    for (const [name, batches] of this.#batches)
      if (name.endsWith(nameOf("", namespace ?? "")))
        for (const batch of batches.filter((each) => each.uid === uid))
          this.#deleted.add(name, batch.time, batch.count);
  }
}

function nameOf(connection: string, namespace: string): string {
  return `${connection} ${namespace}`;
}

function batchesIn(
  caches: IssueCaches,
  connection: string,
  namespace: string,
  now: Instant,
): readonly Batch[] {
  const apiKeys = caches
    .of(serviceAccountType)
    .byIndex(indexes.connection, connection)
    .filter(({ metadata }) => metadata.namespace === namespace)
    .flatMap((account) =>
      caches.of(apiKeyType).byIndex(indexes.serviceAccount, keyText(keyOf(account))),
    );
  // An ApiKey can have keys of several accounts.
  return [...new Set(apiKeys)].flatMap((apiKey) => batchesOf(apiKey, now));
}

/** The issues that a status reports. If they are too many for it: the earlier keys that it lists. */
function batchesOf({ metadata: { uid }, status }: ApiKey, now: Instant): readonly Batch[] {
  const { current, superseded = [], recentIssues = [] } = status ?? {};
  const issues = timesOf(recentIssues.map(({ time }) => time));
  const oldest = Math.min(...issues);
  const listed = timesOf([current?.issueTime, ...superseded.map((key) => key.issueTime)]);
  return [...issues, ...listed.filter((time) => time < oldest)]
    .filter((time) => time > now - DAY)
    .map((time) => ({ uid, time, count: 1 }));
}

function timesOf(texts: readonly (string | undefined)[]): readonly Instant[] {
  return texts.map(parseInstant).filter((time) => time !== undefined);
}
