/** How many keys a namespace was issued in the last 24 hours. */
import type { ApiKey } from "../../api/api-key.ts";
import { keyOf, keyText } from "../../kube/resource.ts";
import { DAY, type Instant, parseInstant } from "../../util/time.ts";
import { type Caches, indexes } from "../frame/context.ts";

/** What this process has issued, by namespace. Unlike the statuses, it remembers ApiKeys that are gone. */
export class IssueLedger {
  /** Oldest first. */
  readonly #times = new Map<string, Instant[]>();

  note(namespace: string, now: Instant): void {
    const times = this.#recent(namespace, now);
    times.push(now);
    this.#times.set(namespace, times);
  }

  count(namespace: string, now: Instant): number {
    return this.#recent(namespace, now).length;
  }

  #recent(namespace: string, now: Instant): Instant[] {
    const times = this.#times.get(namespace) ?? [];
    while (times[0] !== undefined && times[0] <= now - DAY) times.shift();
    return times;
  }
}

/** As the statuses of all ApiKeys say that use the connection, which is given by its `connectionKey`. */
export function issuesInStatuses(
  { serviceAccounts, apiKeys }: Pick<Caches, "serviceAccounts" | "apiKeys">,
  connection: string,
  namespace: string,
  now: Instant,
): number {
  return serviceAccounts
    .byIndex(indexes.connection, connection)
    .filter(({ metadata }) => metadata.namespace === namespace)
    .flatMap((account) => apiKeys.byIndex(indexes.serviceAccount, keyText(keyOf(account))))
    .reduce((sum, apiKey) => sum + issuesOf(apiKey, now), 0);
}

function issuesOf({ status }: ApiKey, now: Instant): number {
  const { windowStartTime, count = 0 } = status?.issuances ?? {};
  return (parseInstant(windowStartTime) ?? 0) > now - DAY ? count : 0;
}
