/** What the process knows across ApiKeys: who issues for which account, and pairs that are nowhere else. */
import type { ApiKey } from "../../api/api-key.ts";
import { keyOf, keyText } from "../../kube/resource.ts";
import type { KeyedMutex } from "./keyed-mutex.ts";
import type { IssueLedger } from "./namespace-issues.ts";
import type { HeldPair } from "./rules/snapshot.ts";

export interface IssueCoordination {
  /**
   * Lets one ApiKey of an account issue at a time: only then does the difference between two key lists say which
   * key is whose.
   */
  readonly accounts: KeyedMutex;
  readonly attempts: AttemptRegistry;
  readonly ledger: IssueLedger;
  /** By uid. Until it is written, a new pair exists here and nowhere else, also where its object seems gone. */
  readonly heldPairs: Map<string, HeldPair>;
}

/** Names an ApiKey's service account among all. */
export function accountKeyOf({ metadata: { namespace = "" }, spec }: ApiKey): string {
  // A stored object may be older than its schema.
  return `${namespace}/${spec?.serviceAccountRef?.name ?? ""}`;
}

/** Names an ApiKey among all. */
export function ownerKeyOf(object: ApiKey): string {
  return keyText(keyOf(object));
}

const MAX_SETTLED = 10_000;

/** The attempts of this process. Losing it costs waiting, never a key. */
export class AttemptRegistry {
  /** Attempts that are not explained yet: account → attempt → name of the object. */
  readonly #open = new Map<string, Map<string, string>>();
  /** Attempts that are explained: a Secret holds their pair, or they are closed. */
  readonly #settled = new Set<string>();

  /** Notes that an object is about to issue for an account. */
  announce(account: string, attemptId: string, name: string): void {
    const open = this.#open.get(account) ?? new Map<string, string>();
    this.#open.set(account, open.set(attemptId, name));
  }

  /** Takes back an announcement: the attempt was not recorded, so that no key can come of it. */
  withdraw(account: string, attemptId: string): void {
    const open = this.#open.get(account);
    open?.delete(attemptId);
    if (open?.size === 0) this.#open.delete(account);
  }

  /** Takes back all that an object has announced: it is gone. */
  withdrawAll(namespace: string, name: string): void {
    for (const [account, open] of [...this.#open])
      if (account.startsWith(`${namespace}/`))
        for (const [attemptId, announcer] of [...open])
          if (announcer === name) this.withdraw(account, attemptId);
  }

  /** Other objects that have announced attempts for the account which are not settled. */
  announcers(account: string, exceptName: string): readonly string[] {
    return [...(this.#open.get(account)?.values() ?? [])].filter((name) => name !== exceptName);
  }

  /** Notes that the attempt's keys are known: it no longer blurs the account's key list. */
  settle(account: string, attemptId: string): void {
    this.withdraw(account, attemptId);
    this.#settled.add(attemptId);
    // The oldest ones have long left every status.
    if (this.#settled.size > MAX_SETTLED)
      for (const oldest of this.#settled) return void this.#settled.delete(oldest);
  }

  isSettled(attemptId: string): boolean {
    return this.#settled.has(attemptId);
  }
}
