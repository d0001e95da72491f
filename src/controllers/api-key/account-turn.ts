/**
 * Lets one ApiKey of an account issue at a time: only then does the difference between two key lists say
 * which key is whose. A key that has to wait is woken when its turn comes.
 */
export class AccountTurn {
  readonly #holders = new Map<string, string>();
  readonly #waiting = new Map<string, Set<string>>();
  readonly #wake: (key: string) => void;

  /** `wake` is called with the key whose turn may have come. */
  constructor(wake: (key: string) => void) {
    this.#wake = wake;
  }

  /** Who has the account's turn now. */
  holderOf(account: string): string | undefined {
    return this.#holders.get(account);
  }

  /** Takes the account's turn for `key`; else answers who has it, and `key` will be woken. */
  take(account: string, key: string): string | undefined {
    const holder = this.#holders.get(account);
    if (holder === undefined || holder === key) {
      this.#holders.set(account, key);
      this.#waiting.get(account)?.delete(key);
      return undefined;
    }
    const waiting = this.#waiting.get(account) ?? new Set();
    this.#waiting.set(account, waiting.add(key));
    return holder;
  }

  /** Gives the turn back, if `key` has it, and wakes the next one. */
  release(account: string, key: string): void {
    if (this.#holders.get(account) !== key) return;
    this.#holders.delete(account);
    const waiting = this.#waiting.get(account);
    const [next] = waiting ?? [];
    if (next === undefined) return;
    waiting?.delete(next);
    if (waiting?.size === 0) this.#waiting.delete(account);
    this.#wake(next);
  }
}
