import { GroupQueue } from "./group-queue.ts";
import { Heap } from "./heap.ts";

/** An item that waits on behalf of a group, for a resource. */
export interface WaitingKey {
  readonly group: string;
  readonly resource: string;
}

/** Items that wait for one resource, by group. The group with the next turn comes first. */
interface ResourceQueue<T> {
  readonly resource: string;
  readonly groups: Map<string, GroupQueue<T>>;
}

/**
 * A queue in which groups take turns, however many items each group has.
 *
 * A group has separate turns for each resource that it waits for. Items of one group and resource are in one
 * {@link GroupQueue}. Each operation takes logarithmic time; {@link FairQueue.first} takes it for each skipped resource.
 */
export class FairQueue<T extends WaitingKey> {
  readonly #queues = new Map<string, ResourceQueue<T>>();
  /** Ordered by the next turn. */
  readonly #order = new Heap<ResourceQueue<T>>((a, b) => turnOf(a) < turnOf(b));
  #turns = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(item: T): void {
    this.#size += 1;
    const queue = this.#queues.get(item.resource) ?? { resource: item.resource, groups: new Map() };
    const group = queue.groups.get(item.group);
    if (group !== undefined) {
      group.add(item);
      return;
    }
    const first = new GroupQueue<T>(this.#nextTurn());
    first.add(item);
    queue.groups.set(item.group, first);
    if (queue.groups.size > 1) return;
    this.#queues.set(item.resource, queue);
    this.#order.push(queue);
  }

  /** Returns whether the item was in the queue. */
  delete(item: T): boolean {
    const queue = this.#queues.get(item.resource);
    const group = queue?.groups.get(item.group);
    if (queue === undefined || !group?.delete(item)) return false;
    this.#size -= 1;
    if (group.size === 0) this.#reorder(queue, () => queue.groups.delete(item.group));
    return true;
  }

  /** Deletes an item and ends its group's turn. */
  take(item: T): void {
    if (!this.delete(item)) return;
    const queue = this.#queues.get(item.resource);
    const group = queue?.groups.get(item.group);
    if (queue === undefined || group === undefined) return;
    group.endTurn();
    // The only group is next again.
    if (this.#order.size === 1 && queue.groups.size === 1) return;
    this.#reorder(queue, () => {
      group.turn = this.#nextTurn();
      queue.groups.delete(item.group);
      queue.groups.set(item.group, group);
    });
  }

  /** The next item whose resource is free (`isFree`) and whose group can have a turn (`isEligible`). */
  first(
    isFree: (resource: string) => boolean,
    isEligible: (group: string) => boolean = () => true,
  ): T | undefined {
    const skipped: ResourceQueue<T>[] = [];
    let head: T | undefined;
    for (let queue = this.#order.first(); queue !== undefined; queue = this.#order.first()) {
      if (isFree(queue.resource)) head = headOf(queue, isEligible);
      if (head !== undefined) break;
      this.#order.remove(queue);
      skipped.push(queue);
    }
    for (const queue of skipped) this.#order.push(queue);
    return head;
  }

  /** The longest-waiting item of each group and resource. */
  *oldest(): Generator<T> {
    for (const { groups } of this.#queues.values()) {
      for (const { oldest } of groups.values()) {
        if (oldest !== undefined) yield oldest;
      }
    }
  }

  #nextTurn(): number {
    this.#turns += 1;
    return this.#turns;
  }

  /** An item's order must not change while the item is in the heap. */
  #reorder(queue: ResourceQueue<T>, change: () => void): void {
    this.#order.remove(queue);
    change();
    if (queue.groups.size > 0) this.#order.push(queue);
    else this.#queues.delete(queue.resource);
  }
}

function headOf<T>(
  { groups }: ResourceQueue<T>,
  isEligible: (group: string) => boolean,
): T | undefined {
  for (const [name, group] of groups) if (isEligible(name)) return group.next;
  return undefined;
}

function turnOf<T>({ groups }: ResourceQueue<T>): number {
  return firstOf(groups.values())?.turn ?? Number.POSITIVE_INFINITY;
}

function firstOf<T>(items: Iterable<T>): T | undefined {
  for (const item of items) return item;
  return undefined;
}
