/** From this size on, a new item would wait too long behind items that were added together. */
const LONG = 128;
/** In a long queue, every fourth turn goes to the newest item. */
const LAST_COME_TURN = 4;

/**
 * The waiting items of one group for one resource: first come, first served. In a long queue, every fourth turn goes
 * to the newest item. A single new item then gets its turn soon even behind thousands of items that were added
 * together, and they lose at most a quarter of their turns.
 */
export class GroupQueue<T> {
  readonly #items = new Set<T>();
  /** In order of arrival; can contain items that are no longer in the queue. */
  #came: T[] = [];
  /** The group's turn: a lower number is earlier. */
  turn: number;
  #turnsHad = 0;

  constructor(turn: number) {
    this.turn = turn;
  }

  get size(): number {
    return this.#items.size;
  }

  get oldest(): T | undefined {
    for (const item of this.#items) return item;
    return undefined;
  }

  /** The item with the next turn in the group. */
  get next(): T | undefined {
    const isForLast = this.size >= LONG && this.#turnsHad % LAST_COME_TURN === LAST_COME_TURN - 1;
    return isForLast ? this.#lastCome() : this.oldest;
  }

  add(item: T): void {
    this.#items.add(item);
    this.#came.push(item);
    if (this.#came.length > 2 * this.size + LONG) this.#came = [...this.#items];
  }

  /** Returns whether the item was in the queue. */
  delete(item: T): boolean {
    return this.#items.delete(item);
  }

  /** Counts a turn of the group. */
  endTurn(): void {
    this.#turnsHad += 1;
  }

  #lastCome(): T | undefined {
    while (this.#came.length > 0) {
      const last = this.#came.at(-1);
      if (last !== undefined && this.#items.has(last)) return last;
      this.#came.pop();
    }
    return this.oldest;
  }
}
