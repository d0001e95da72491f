/** How many keys a namespace was issued over a connection in the last 24 hours. */
import type { ApiKey } from "../../api/api-key.ts";
import { keyOf, keyText } from "../../kube/resource.ts";
import { DAY, type Instant, parseInstant } from "../../util/time.ts";
import type { Caches } from "../frame/context.ts";
import { indexes } from "../indexes.ts";
import { apiKeyType, serviceAccountType } from "../resource-types.ts";

/** Keys that were issued at one time. A status may give any number of them. */
interface Batch {
  readonly time: Instant;
  readonly count: number;
}

type IssueCaches = Pick<Caches, "of">;

/**
 * Counts what the statuses tell when a namespace is first asked about, and from then on what this process issues, also
 * for ApiKeys that are gone since. A connection is named by its `connectionKey`.
 */
export class NamespaceIssues {
  readonly #caches: IssueCaches;
  /** Oldest first. */
  readonly #batches = new Map<string, Batch[]>();

  constructor(caches: IssueCaches) {
    this.#caches = caches;
  }

  count(connection: string, namespace: string, now: Instant): number {
    const key = nameOf(connection, namespace);
    const batches = this.#batches.get(key) ?? batchesIn(this.#caches, connection, namespace);
    while (batches[0] !== undefined && batches[0].time <= now - DAY) batches.shift();
    this.#batches.set(key, batches);
    return batches.reduce((sum, { count }) => sum + count, 0);
  }

  /** A key is issued at `time`. Without effect on a namespace that nobody has asked about. */
  note(connection: string, namespace: string, time: Instant): void {
    this.#batches.get(nameOf(connection, namespace))?.push({ time, count: 1 });
  }

  /** The issue noted for `time` did not come about. */
  takeBack(connection: string, namespace: string, time: Instant): void {
    const batches = this.#batches.get(nameOf(connection, namespace)) ?? [];
    const index = batches.findLastIndex((batch) => batch.time === time && batch.count === 1);
    if (index >= 0) batches.splice(index, 1);
  }
}

function nameOf(connection: string, namespace: string): string {
  return `${connection} ${namespace}`;
}

/** As the statuses of the namespace's ApiKeys tell; a status tells the number and the time of the first. */
function batchesIn(caches: IssueCaches, connection: string, namespace: string): Batch[] {
  return caches
    .of(serviceAccountType)
    .byIndex(indexes.connection, connection)
    .filter(({ metadata }) => metadata.namespace === namespace)
    .flatMap((account) =>
      caches.of(apiKeyType).byIndex(indexes.serviceAccount, keyText(keyOf(account))),
    )
    .flatMap(batchOf)
    .toSorted((a, b) => a.time - b.time);
}

function batchOf({ status }: ApiKey): readonly Batch[] {
  const { windowStartTime, count = 0 } = status?.issuances ?? {};
  const time = parseInstant(windowStartTime);
  return time === undefined ? [] : [{ time, count }];
}
