/** How many keys a namespace was issued over a connection in the last 24 hours. */
import type { ApiKey } from "../../api/api-key.ts";
import { keyOf, keyText } from "../../kube/resource.ts";
import { DAY, type Instant, parseInstant } from "../../util/time.ts";
import type { Caches } from "../frame/context.ts";
import { indexes } from "../indexes.ts";
import { apiKeyType, serviceAccountType } from "../resource-types.ts";
import { DeletedIssues } from "./deleted-issues.ts";

/** Keys that were issued at one time for one ApiKey. A status may give any number of them. */
interface Batch {
  readonly uid?: string;
  readonly time: Instant;
  readonly count: number;
}

type IssueCaches = Pick<Caches, "of">;

/**
 * Counts what the statuses tell when a namespace is first asked about, what is known of ApiKeys that were deleted, and from
 * then on what this process issues. A connection is named by its `connectionKey`.
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

  count(connection: string, namespace: string, now: Instant): number {
    const name = nameOf(connection, namespace);
    const batches =
      this.#batches.get(name) ??
      [...batchesIn(this.#caches, connection, namespace, now), ...this.#deleted.of(name)].toSorted(
        (a, b) => a.time - b.time,
      );
    while (batches[0] !== undefined && batches[0].time <= now - DAY) batches.shift();
    this.#batches.set(name, batches);
    return batches.reduce((sum, { count }) => sum + count, 0);
  }

  /** A key is issued at `time`. Without effect on a namespace that nobody has asked about. */
  note(connection: string, namespace: string, uid: string, time: Instant): void {
    this.#batches.get(nameOf(connection, namespace))?.push({ uid, time, count: 1 });
  }

  /** The issue noted for `time` did not come about. */
  takeBack(connection: string, namespace: string, uid: string, time: Instant): void {
    const batches = this.#batches.get(nameOf(connection, namespace)) ?? [];
    const index = batches.findLastIndex(
      (batch) => batch.time === time && batch.count === 1 && batch.uid === uid,
    );
    if (index >= 0) batches.splice(index, 1);
  }

  /** The status of an ApiKey is gone: what it was issued is left to the next leader. */
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
  return caches
    .of(serviceAccountType)
    .byIndex(indexes.connection, connection)
    .filter(({ metadata }) => metadata.namespace === namespace)
    .flatMap((account) =>
      caches.of(apiKeyType).byIndex(indexes.serviceAccount, keyText(keyOf(account))),
    )
    .flatMap((apiKey) => batchesOf(apiKey, now));
}

/**
 * A status tells when each key that it lists was asked for, and how many were in a window of 24 hours. Those of the window
 * that it does not list any more count as issued with the last one.
 */
function batchesOf({ metadata: { uid }, status }: ApiKey, now: Instant): readonly Batch[] {
  const { current, superseded = [], attempt, issuances } = status ?? {};
  const times = [current?.issueTime, attempt?.startTime, ...superseded.map((key) => key.issueTime)]
    .map(parseInstant)
    .filter((time) => time !== undefined)
    .filter((time) => time > now - DAY);
  const start = parseInstant(issuances?.windowStartTime);
  const listed = times.map((time) => ({ uid, time, count: 1 }));
  if (start === undefined) return listed;
  const inWindow = times.filter((time) => time >= start);
  const count = (issuances?.count ?? 0) - inWindow.length;
  return count <= 0 ? listed : [...listed, { uid, time: Math.max(start, ...inWindow), count }];
}
