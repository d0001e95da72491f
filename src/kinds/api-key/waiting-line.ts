/**
 * ApiKeys that wait until the keys of an account are accounted for. No run blocks: all waiting ApiKeys are enqueued
 * when that may be the case.
 */
export class WaitingLine {
  readonly #waiting = new Map<string, Set<string>>();
  readonly #enqueue: (owner: string) => void;

  /** `enqueue` is called with each owner that waited. */
  constructor(enqueue: (owner: string) => void) {
    this.#enqueue = enqueue;
  }

  wait(account: string, owner: string): void {
    const owners = this.#waiting.get(account) ?? new Set();
    this.#waiting.set(account, owners.add(owner));
  }

  /** Enqueues every ApiKey that waits for the account. */
  notify(account: string): void {
    const owners = this.#waiting.get(account) ?? [];
    this.#waiting.delete(account);
    for (const owner of owners) this.#enqueue(owner);
  }

  /** Removes `owner`, which was deleted or cannot be reconciled, from all accounts. */
  forget(owner: string): void {
    for (const [account, owners] of this.#waiting)
      if (owners.delete(owner) && owners.size === 0) this.#waiting.delete(account);
  }
}
