/** How many keys a namespace was issued over a connection in the last 24 hours. */
import type { ApiKey } from "../../api/api-key.ts";
import { keyOf, keyText } from "../../kube/resource.ts";
import { DAY, type Instant, parseInstant } from "../../util/time.ts";
import { type Caches, indexes } from "../frame/context.ts";

type IssueCaches = Pick<Caches, "serviceAccounts" | "apiKeys">;

/**
 * Counts what the statuses tell when a namespace is first asked about, and from then on what this process issues, also
 * for ApiKeys that are gone since. A connection is named by its `connectionKey`.
 */
export class NamespaceIssues {
  readonly #caches: IssueCaches;
  /** Times of issues, oldest first. */
  readonly #times = new Map<string, Instant[]>();

  constructor(caches: IssueCaches) {
    this.#caches = caches;
  }

  count(connection: string, namespace: string, now: Instant): number {
    const key = nameOf(connection, namespace);
    const times = this.#times.get(key) ?? issueTimes(this.#caches, connection, namespace);
    while (times[0] !== undefined && times[0] <= now - DAY) times.shift();
    this.#times.set(key, times);
    return times.length;
  }

  /** A key is issued at `time`. Without effect on a namespace that nobody has asked about. */
  note(connection: string, namespace: string, time: Instant): void {
    this.#times.get(nameOf(connection, namespace))?.push(time);
  }

  /** The issue noted for `time` did not come about. */
  takeBack(connection: string, namespace: string, time: Instant): void {
    const times = this.#times.get(nameOf(connection, namespace)) ?? [];
    const index = times.lastIndexOf(time);
    if (index >= 0) times.splice(index, 1);
  }
}

function nameOf(connection: string, namespace: string): string {
  return `${connection} ${namespace}`;
}

/** As the statuses of the namespace's ApiKeys tell; a status tells the number and the time of the first. */
function issueTimes(
  { serviceAccounts, apiKeys }: IssueCaches,
  connection: string,
  namespace: string,
): Instant[] {
  return serviceAccounts
    .byIndex(indexes.connection, connection)
    .filter(({ metadata }) => metadata.namespace === namespace)
    .flatMap((account) => apiKeys.byIndex(indexes.serviceAccount, keyText(keyOf(account))))
    .flatMap(timesOf)
    .toSorted((a, b) => a - b);
}

function timesOf({ status }: ApiKey): readonly Instant[] {
  const { windowStartTime, count = 0 } = status?.issuances ?? {};
  const first = parseInstant(windowStartTime);
  return first === undefined ? [] : new Array<Instant>(count).fill(first);
}
