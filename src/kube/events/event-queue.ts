/** Series that wait to be written: namespaces take turns, and none can take the room of the others. */
import type { EventTarget } from "./event-recorder.ts";
import type { EventSeries } from "./event-series.ts";

/** The namespace for events of cluster-scoped objects. */
const CLUSTER_SCOPED_NAMESPACE = "default";

export class EventQueue {
  readonly #capacity: number;
  /** By namespace; the next namespace comes first, and none is empty. */
  readonly #waiting = new Map<string, Set<EventSeries>>();
  #size = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Each series waits once, however often its event happens. Returns the series that has no room; it may be the new one. */
  add(series: EventSeries): EventSeries | undefined {
    const namespace = namespaceOf(series.target);
    const own = this.#waiting.get(namespace) ?? new Set();
    if (own.has(series)) return undefined;
    const dropped = this.#size < this.#capacity ? undefined : this.#dropFor(own.size);
    if (this.#size >= this.#capacity) return series;
    own.add(series);
    this.#waiting.set(namespace, own);
    this.#size += 1;
    return dropped;
  }

  /** Removes and returns the next series; `undefined` if none waits. */
  next(): EventSeries | undefined {
    for (const [namespace, own] of this.#waiting)
      for (const series of own) {
        this.#waiting.delete(namespace);
        own.delete(series);
        this.#size -= 1;
        if (own.size > 0) this.#waiting.set(namespace, own);
        return series;
      }
    return undefined;
  }

  /** Drops the last series of the namespace with the most, if that has more than the new series' namespace would have. */
  #dropFor(ownSize: number): EventSeries | undefined {
    const largest = [...this.#waiting.values()].reduce((a, b) => (b.size > a.size ? b : a));
    if (largest.size <= ownSize + 1) return undefined;
    const last = [...largest].at(-1);
    if (last === undefined) return undefined;
    largest.delete(last);
    this.#size -= 1;
    return last;
  }
}

export function namespaceOf({ metadata }: Pick<EventTarget, "metadata">): string {
  return metadata.namespace ?? CLUSTER_SCOPED_NAMESPACE;
}
