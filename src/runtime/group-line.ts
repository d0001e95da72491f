/** From here on a line is long: whoever comes last would wait for all that came at once. */
const LONG = 128;
/** In a long line, one turn in so many goes to what came last. */
const LAST_COME_TURN = 4;

/**
 * What waits of one group, for one resource: first come, first served. In a long line one turn in four goes to
 * what came last, so that a single new item gets its turn soon behind thousands that came together, and those lose a
 * quarter of theirs at most.
 */
export class GroupLine<T> {
  readonly #items = new Set<T>();
  /** In the order in which they came; may have items that are no longer in the line. */
  #came: T[] = [];
  /** When it is the group's turn: the lower, the earlier. */
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

  /** Whose turn it is within the group. */
  get next(): T | undefined {
    const isForLast = this.size >= LONG && this.#turnsHad % LAST_COME_TURN === LAST_COME_TURN - 1;
    return isForLast ? this.#lastCome() : this.oldest;
  }

  add(item: T): void {
    this.#items.add(item);
    this.#came.push(item);
    if (this.#came.length > 2 * this.size + LONG) this.#came = [...this.#items];
  }

  /** Says whether the item was in the line. */
  delete(item: T): boolean {
    return this.#items.delete(item);
  }

  /** Notes that the group has had a turn. */
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
