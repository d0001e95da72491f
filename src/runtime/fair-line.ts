import { GroupLine } from "./group-line.ts";
import { Heap } from "./heap.ts";

/** An item that waits on behalf of a group, for a resource. */
export interface WaitingKey {
  readonly group: string;
  readonly resource: string;
}

/** Items that wait for one resource, by group. The group with the next turn comes first. */
interface ResourceLine<T> {
  readonly resource: string;
  readonly groups: Map<string, GroupLine<T>>;
}

/**
 * A queue in which groups take turns, however many items each group has.
 *
 * A group has separate turns for each resource that it waits for. Items of one group and resource are in one
 * {@link GroupLine}. Each operation takes logarithmic time; {@link FairLine.first} takes it for each skipped resource.
 */
export class FairLine<T extends WaitingKey> {
  readonly #lines = new Map<string, ResourceLine<T>>();
  /** Ordered by the next turn. */
  readonly #order = new Heap<ResourceLine<T>>((a, b) => turnOf(a) < turnOf(b));
  #turns = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(item: T): void {
    this.#size += 1;
    const line = this.#lines.get(item.resource) ?? { resource: item.resource, groups: new Map() };
    const group = line.groups.get(item.group);
    if (group !== undefined) {
      group.add(item);
      return;
    }
    const first = new GroupLine<T>(this.#nextTurn());
    first.add(item);
    line.groups.set(item.group, first);
    if (line.groups.size > 1) return;
    this.#lines.set(item.resource, line);
    this.#order.push(line);
  }

  /** Returns whether the item was in the queue. */
  delete(item: T): boolean {
    const line = this.#lines.get(item.resource);
    const group = line?.groups.get(item.group);
    if (line === undefined || !group?.delete(item)) return false;
    this.#size -= 1;
    if (group.size === 0) this.#reorder(line, () => line.groups.delete(item.group));
    return true;
  }

  /** Deletes an item and ends its group's turn. */
  take(item: T): void {
    if (!this.delete(item)) return;
    const line = this.#lines.get(item.resource);
    const group = line?.groups.get(item.group);
    if (line === undefined || group === undefined) return;
    group.endTurn();
    // The only group is next again.
    if (this.#order.size === 1 && line.groups.size === 1) return;
    this.#reorder(line, () => {
      group.turn = this.#nextTurn();
      line.groups.delete(item.group);
      line.groups.set(item.group, group);
    });
  }

  /** The next item whose resource is free (`isFree`) and whose group can have a turn (`mayHaveTurn`). */
  first(
    isFree: (resource: string) => boolean,
    mayHaveTurn: (group: string) => boolean = () => true,
  ): T | undefined {
    const line = this.#order.first();
    if (line === undefined) return undefined;
    const head = isFree(line.resource) ? headOf(line, mayHaveTurn) : undefined;
    if (head !== undefined) return head;
    this.#order.remove(line);
    const next = this.first(isFree, mayHaveTurn);
    this.#order.push(line);
    return next;
  }

  /** The longest-waiting item of each group and resource. */
  *oldest(): Generator<T> {
    for (const { groups } of this.#lines.values()) {
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
  #reorder(line: ResourceLine<T>, change: () => void): void {
    this.#order.remove(line);
    change();
    if (line.groups.size > 0) this.#order.push(line);
    else this.#lines.delete(line.resource);
  }
}

function headOf<T>(
  { groups }: ResourceLine<T>,
  mayHaveTurn: (group: string) => boolean,
): T | undefined {
  for (const [name, group] of groups) if (mayHaveTurn(name)) return group.next;
  return undefined;
}

function turnOf<T>({ groups }: ResourceLine<T>): number {
  return firstOf(groups.values())?.turn ?? Number.POSITIVE_INFINITY;
}

function firstOf<T>(items: Iterable<T>): T | undefined {
  for (const item of items) return item;
  return undefined;
}
