/** A binary heap that can remove any of its items in logarithmic time. */
export class Heap<T extends object> {
  readonly #items: T[] = [];
  readonly #index = new Map<T, number>();
  readonly #comesBefore: (a: T, b: T) => boolean;

  constructor(comesBefore: (a: T, b: T) => boolean) {
    this.#comesBefore = comesBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  first(): T | undefined {
    return this.#items[0];
  }

  /** The item must not be in the heap yet, and its order must not change while it is in the heap. */
  push(item: T): void {
    this.#place(item, this.#items.length);
    this.#up(item);
  }

  /** Does nothing if the item is not in the heap. */
  remove(item: T): void {
    const at = this.#index.get(item);
    const last = this.#items.at(-1);
    if (at === undefined || last === undefined) return;
    this.#items.pop();
    this.#index.delete(item);
    if (last === item) return;
    this.#place(last, at);
    this.#up(last);
    this.#down(last);
  }

  #place(item: T, at: number): void {
    this.#items[at] = item;
    this.#index.set(item, at);
  }

  #up(item: T): void {
    for (;;) {
      const at = this.#index.get(item) ?? 0;
      const parent = this.#items[(at - 1) >> 1];
      if (at === 0 || parent === undefined || !this.#comesBefore(item, parent)) return;
      this.#place(parent, at);
      this.#place(item, (at - 1) >> 1);
    }
  }

  #down(item: T): void {
    for (;;) {
      const at = this.#index.get(item) ?? 0;
      const child = this.#earlierChild(at);
      const other = child === undefined ? undefined : this.#items[child];
      if (child === undefined || other === undefined || !this.#comesBefore(other, item)) return;
      this.#place(other, at);
      this.#place(item, child);
    }
  }

  #earlierChild(at: number): number | undefined {
    const left = this.#items[2 * at + 1];
    const right = this.#items[2 * at + 2];
    if (left === undefined) return undefined;
    return right !== undefined && this.#comesBefore(right, left) ? 2 * at + 2 : 2 * at + 1;
  }
}
