/**
 * Lets one ApiKey of an account issue at a time: only then does the difference between two key lists say
 * which key is whose. One that has to wait is woken when its turn may have come.
 */
export class AccountTurn {
  readonly #accounts = new Map<string, Line>();
  readonly #wake: (key: string) => void;

  /** `wake` is called with the key whose turn may have come. */
  constructor(wake: (key: string) => void) {
    this.#wake = wake;
  }

  /** Who has the account's turn now. */
  holderOf(account: string): string | undefined {
    return this.#accounts.get(account)?.holder;
  }

  /** Takes the account's turn for `key`; else answers who has it, and `key` waits. */
  take(account: string, key: string): string | undefined {
    const line = this.#lineOf(account);
    if (line.holder !== undefined && line.holder !== key) {
      line.waiting.add(key);
      return line.holder;
    }
    line.holder = key;
    line.waiting.delete(key);
    if (line.called === key) line.called = undefined;
    return undefined;
  }

  /** Has `key` wait until a turn is passed on, though nobody may have it now. */
  wait(account: string, key: string): void {
    this.#lineOf(account).waiting.add(key);
  }

  /** At the end of a pass of `key`: whatever it had of the account's turn goes to the next one. */
  leave(account: string, key: string): void {
    const line = this.#accounts.get(account);
    if (line === undefined) return;
    const hadTurn = line.holder === key;
    const hadCall = line.called === key;
    if (hadTurn) line.holder = undefined;
    if (hadCall) line.called = undefined;
    // One that was called and waits again found something that the next one would find as well.
    if (hadTurn || (hadCall && !line.waiting.has(key))) this.passOn(account);
    if (isEmpty(line)) this.#accounts.delete(account);
  }

  /** `key` is gone or cannot be worked on, whatever it waited for. */
  forget(key: string): void {
    for (const [account, line] of this.#accounts) {
      line.waiting.delete(key);
      this.leave(account, key);
    }
  }

  /** Wakes the next one that waits, unless somebody has the turn or was called already. */
  passOn(account: string): void {
    const line = this.#accounts.get(account);
    if (line === undefined || line.holder !== undefined || line.called !== undefined) return;
    const [next] = line.waiting;
    if (next === undefined) return;
    line.waiting.delete(next);
    line.called = next;
    this.#wake(next);
  }

  #lineOf(account: string): Line {
    const line = this.#accounts.get(account) ?? {
      holder: undefined,
      called: undefined,
      waiting: new Set(),
    };
    this.#accounts.set(account, line);
    return line;
  }
}

interface Line {
  holder: string | undefined;
  /** Woken, and not heard of since. */
  called: string | undefined;
  readonly waiting: Set<string>;
}

function isEmpty({ holder, called, waiting }: Line): boolean {
  return holder === undefined && called === undefined && waiting.size === 0;
}
