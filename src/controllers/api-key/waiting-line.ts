/** Who waits for the keys of an account to be accounted for. Nobody blocks: all are enqueued when that may have come. */
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

  /** Enqueues everybody who waits for the account. */
  notify(account: string): void {
    const owners = this.#waiting.get(account) ?? [];
    this.#waiting.delete(account);
    for (const owner of owners) this.#enqueue(owner);
  }

  /** `owner` is gone or cannot be worked on, whatever it waited for. */
  forget(owner: string): void {
    for (const [account, owners] of this.#waiting)
      if (owners.delete(owner) && owners.size === 0) this.#waiting.delete(account);
  }
}
