/**
 * What this process remembers about keys in the making. Nothing here is needed to be safe after a restart,
 * but for {@link Memory.hold}: until it is written, a new pair exists here and nowhere else.
 */
import type { Instant } from "../../util/time.ts";
import type { HeldPair, OrphanedKey, Recovery, Rejection } from "./observed.ts";

interface Entry {
  held?: HeldPair;
  recovery?: Recovery;
  rejection?: Rejection;
  /** When the key in use was last tried against the console. */
  triedAt?: Instant;
  /** What a restored API server no longer lists. */
  forgotten?: readonly OrphanedKey[];
}

const MAX_SETTLED = 10_000;

export class Memory {
  readonly #entries = new Map<string, Entry>();
  /** Attempts of this process that are not explained yet: account → attempt → object. */
  readonly #open = new Map<string, Map<string, string>>();
  /** Attempts that are explained: a Secret holds their pair, or they are closed. */
  readonly #settled = new Set<string>();

  of(uid: string): Readonly<Entry> {
    return this.#entries.get(uid) ?? {};
  }

  update(uid: string, change: { [K in keyof Entry]: Entry[K] | undefined }): void {
    const next: Entry = {};
    for (const [name, value] of Object.entries({ ...this.#entries.get(uid), ...change }))
      if (value !== undefined) Object.assign(next, { [name]: value });
    if (Object.keys(next).length === 0) this.#entries.delete(uid);
    else this.#entries.set(uid, next);
  }

  /** Uids of the objects whose pair is not written anywhere yet. */
  get holding(): readonly string[] {
    return [...this.#entries].filter(([, entry]) => entry.held !== undefined).map(([uid]) => uid);
  }

  /** Notes that an object is about to issue for an account. */
  announce(account: string, attemptId: string, name: string): void {
    const open = this.#open.get(account) ?? new Map<string, string>();
    this.#open.set(account, open.set(attemptId, name));
  }

  /** Takes back an announcement: the attempt was not written down, so that no key can come of it. */
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
