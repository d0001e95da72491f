/** State of the process that spans ApiKeys: issue attempts, and key pairs that are stored nowhere else. */
import type { ApiKey } from "../../api/api-key.ts";
import { keyOf, keyText } from "../../kube/resource.ts";
import { keep } from "../../util/kept.ts";
import type { NamespaceIssues } from "./namespace-issues.ts";
import type { HeldPair } from "./rules/snapshot.ts";
import type { KeyAccount } from "./secret/pair.ts";
import type { WaitingLine } from "./waiting-line.ts";

export interface IssueCoordination {
  /** ApiKeys that wait until no attempt of their account is unexplained. */
  readonly line: WaitingLine;
  readonly attempts: AttemptRegistry;
  readonly namespaceIssues: NamespaceIssues;
  /** New pairs by ApiKey uid. Until a pair is written, it exists only here, even if its ApiKey seems to be deleted. */
  readonly heldPairs: Map<string, HeldPair>;
}

/** Identifies the service account of a key in the cluster; without a key, the account for which keys are issued. */
export function accountKeyOf(
  { metadata: { namespace = "" }, spec }: ApiKey,
  { serviceAccount }: KeyAccount = {},
): string {
  // A stored object may be older than its schema.
  return `${namespace}/${serviceAccount ?? spec?.serviceAccountRef?.name ?? ""}`;
}

/** Identifies an ApiKey in the cluster. */
export function ownerKeyOf(object: ApiKey): string {
  return keyText(keyOf(object));
}

/**
 * About 3 MB. Entries must not expire by age: after the API server is restored from a backup, an old attempt may be
 * open again, and keys that later attempts issued do not belong to it.
 */
const MAX_EXPLAINED = 10_000;
/** A console may list any number of keys that appeared during an attempt. */
const MAX_EXPLAINED_KEYS = 50_000;

interface OpenAttempt {
  readonly account: string;
  readonly owner: string;
  /**
   * `Unexplained`: no pair of the attempt was found. Only the account's list of keys can show whether a key was issued.
   */
  readonly state: "UnderWay" | "Unexplained";
}

interface ExplainedAttempt {
  readonly account: string;
  readonly keyIds: readonly string[];
}

/**
 * The issue attempts of this process. An attempt is under way until its run ends. Then it is explained (a Secret holds
 * its pair, or the attempt is closed) or unexplained. Losing the registry costs waiting time, never a key.
 */
export class AttemptRegistry {
  readonly #open = new Map<string, OpenAttempt>();
  readonly #explained = new Map<string, ExplainedAttempt>();
  #explainedKeys = 0;
  /** By account: number of lost keys listed in addition to the first key of each attempt. */
  readonly #surplus = new Map<string, number>();
  /** By account: the ApiKey whose run lists the account's lost keys. */
  readonly #explaining = new Map<string, string>();
  readonly #onExplained: (account: string) => void;

  /** `onExplained` receives the account of an attempt that other ApiKeys may have waited for. */
  constructor(onExplained: (account: string) => void) {
    this.#onExplained = onExplained;
  }

  /** From now on, the attempt may issue a key that only this process knows. */
  begin(id: string, account: string, owner: string): void {
    this.#open.set(id, { account, owner, state: "UnderWay" });
  }

  /** The attempt was not recorded, so it cannot issue a key. */
  withdraw(id: string): void {
    this.#open.delete(id);
  }

  /** The run that began the attempt has ended, or a later run has found no pair of the attempt. */
  leaveUnexplained(id: string, account: string, owner: string): void {
    this.#open.set(id, { account, owner, state: "Unexplained" });
  }

  /**
   * Whether the run of `owner` may list lost keys of the account. Only one run at a time may: two runs would list the
   * same keys.
   */
  startExplaining(account: string, owner: string): boolean {
    const first = this.#explaining.get(account) ?? owner;
    this.#explaining.set(account, first);
    return first === owner;
  }

  /** A run of `owner` has ended: its attempts under way become unexplained. */
  endRun(owner: string): void {
    for (const [account, who] of this.#explaining)
      if (who === owner) this.#explaining.delete(account);
    for (const [id, attempt] of this.#open)
      if (attempt.owner === owner && attempt.state === "UnderWay")
        this.#open.set(id, { ...attempt, state: "Unexplained" });
  }

  /** Drops the open attempts of `owner`. ApiKeys that waited for these attempts are notified. */
  forget(owner: string): void {
    for (const [id, attempt] of this.#open)
      if (attempt.owner === owner) {
        this.#open.delete(id);
        this.#onExplained(attempt.account);
      }
  }

  /** Records which keys the attempt has issued. */
  explain(id: string, account: string, keyIds: readonly string[]): void {
    const wasUnderWay = this.isOpen(id, "UnderWay");
    this.#open.delete(id);
    this.#setExplained(id, { account, keyIds });
    if (keyIds.length > 1) this.#surplus.set(account, this.surplusOf(account) + keyIds.length - 1);
    for (const oldest of this.#surplus.keys())
      if (this.#surplus.size > MAX_EXPLAINED) this.#surplus.delete(oldest);
    if (!wasUnderWay) this.#onExplained(account);
  }

  /** Adds a key that appeared after the attempt was closed. */
  addKey(id: string, account: string, keyId: string): void {
    const { keyIds = [] } = this.#explained.get(id) ?? {};
    this.#setExplained(id, { account, keyIds: [...keyIds, keyId] });
  }

  /** If there are too many, drops the oldest attempts, which left every status long ago. */
  #setExplained(id: string, attempt: ExplainedAttempt): void {
    this.#dropExplained(id);
    this.#explained.set(id, keep(attempt).value);
    this.#explainedKeys += attempt.keyIds.length;
    for (const oldest of this.#explained.keys()) {
      const isFull =
        this.#explained.size > MAX_EXPLAINED || this.#explainedKeys > MAX_EXPLAINED_KEYS;
      if (!isFull || oldest === id) return;
      this.#dropExplained(oldest);
    }
  }

  #dropExplained(id: string): void {
    this.#explainedKeys -= this.#explained.get(id)?.keyIds.length ?? 0;
    this.#explained.delete(id);
  }

  /** Number of lost keys of the account that are listed for one attempt but were issued by another. */
  surplusOf(account: string): number {
    return this.#surplus.get(account) ?? 0;
  }

  /** Attributes one surplus key to an attempt for which no key is listed. */
  takeSurplus(account: string): void {
    const left = this.surplusOf(account) - 1;
    if (left > 0) this.#surplus.set(account, left);
    else this.#surplus.delete(account);
  }

  isExplained(id: string): boolean {
    return this.#explained.has(id);
  }

  isOpen(id: string, state: OpenAttempt["state"]): boolean {
    return this.#open.get(id)?.state === state;
  }

  /** Whether an attempt for the account is under way. */
  isBusy(account: string): boolean {
    return [...this.#open.values()].some(
      (attempt) => attempt.account === account && attempt.state === "UnderWay",
    );
  }

  /** Keys of the account issued by explained attempts, whether or not a known status lists them. */
  keyIdsOf(account: string): readonly string[] {
    return [...this.#explained.values()]
      .filter((attempt) => attempt.account === account)
      .flatMap(({ keyIds }) => keyIds);
  }
}
