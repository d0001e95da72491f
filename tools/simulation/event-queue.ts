import type { CallRecord } from "./journal.ts";

/** What somebody who decides about the order of events goes by. */
export interface Label {
  /** Where it happens: a server or a process. */
  readonly to: string;
  /** Unlike that of any other event of the run, and the same in another run with the same beginning. */
  readonly name: string;
  /** Changes nothing there. */
  readonly isRead: boolean;
  /** The call that arrives, or whose response does. */
  readonly call?: CallRecord;
  /** Events of one stream happen in the order of their numbers. */
  readonly stream?: { readonly name: string; readonly index: number };
}

/** A binary heap of what is to happen, ordered by (time, tie-break, order of arrival). */
export interface QueuedEvent {
  readonly at: number;
  readonly tie: number;
  readonly sequence: number;
  readonly run: () => void;
  readonly label?: () => Label;
  cancelled: boolean;
}

export class EventQueue {
  readonly #heap: QueuedEvent[] = [];

  push(event: QueuedEvent): void {
    const heap = this.#heap;
    let index = heap.push(event) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(event, heap[parent] as QueuedEvent)) break;
      heap[index] = heap[parent] as QueuedEvent;
      index = parent;
    }
    heap[index] = event;
  }

  /** The next event that was not cancelled. */
  peek(): QueuedEvent | undefined {
    while (this.#heap[0]?.cancelled) this.#removeFirst();
    return this.#heap[0];
  }

  pop(): QueuedEvent | undefined {
    const first = this.peek();
    if (first !== undefined) this.#removeFirst();
    return first;
  }

  /** All that have not happened, in no order. */
  get waiting(): readonly QueuedEvent[] {
    return this.#heap.filter(({ cancelled }) => !cancelled);
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, heap[child] as QueuedEvent)) child += 1;
      const least = heap[child];
      if (least === undefined || !isBefore(least, last)) break;
      heap[index] = least;
      index = child;
    }
    heap[index] = last;
  }
}

function isBefore(a: QueuedEvent, b: QueuedEvent): boolean {
  return a.at - b.at < 0 || (a.at === b.at && (a.tie - b.tie || a.sequence - b.sequence) < 0);
}
