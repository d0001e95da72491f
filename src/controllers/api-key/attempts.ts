/** What the process knows across ApiKeys: which attempts are under way, and pairs that are nowhere else. */
import type { ApiKey } from "../../api/api-key.ts";
import { keyOf, keyText } from "../../kube/resource.ts";
import type { NamespaceIssues } from "./namespace-issues.ts";
import type { HeldPair } from "./rules/snapshot.ts";
import type { WaitingLine } from "./waiting-line.ts";

export interface IssueCoordination {
  /** ApiKeys that are issued for when no attempt of their account is unexplained. */
  readonly line: WaitingLine;
  readonly attempts: AttemptRegistry;
  readonly namespaceIssues: NamespaceIssues;
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

/**
 * Some 3 MB. Age is no safe bound: where the API server was set back, an attempt of long ago may be open again, and the
 * keys that others have led to since are not its own.
 */
const MAX_EXPLAINED = 10_000;

interface OpenAttempt {
  readonly account: string;
  readonly owner: string;
  /** Unexplained: its pair is nowhere, and the account's list of keys has to tell whether there is one. */
  readonly state: "UnderWay" | "Unexplained";
}

interface ExplainedAttempt {
  readonly account: string;
  readonly keyIds: readonly string[];
}

/**
 * The attempts of this process. An attempt is under way until its run ends, then explained (a Secret holds its pair, or
 * it is closed) or unexplained. Losing the registry costs waiting, never a key.
 */
export class AttemptRegistry {
  readonly #open = new Map<string, OpenAttempt>();
  readonly #explained = new Map<string, ExplainedAttempt>();
  /** By account: how many lost keys were listed beyond one for each attempt. */
  readonly #surplus = new Map<string, number>();
  /** By account: whose run lists its lost keys. */
  readonly #explaining = new Map<string, string>();
  readonly #onExplained: (account: string) => void;

  /** `onExplained` is called with the account of an attempt that others may have waited for. */
  constructor(onExplained: (account: string) => void) {
    this.#onExplained = onExplained;
  }

  /** From now on a key may be issued that nobody else knows of. */
  begin(id: string, account: string, owner: string): void {
    this.#open.set(id, { account, owner, state: "UnderWay" });
  }

  /** The attempt was not recorded, so that no key can come of it. */
  withdraw(id: string): void {
    this.#open.delete(id);
  }

  /** The run that began it has ended, or another one has found no pair of it. */
  leaveUnexplained(id: string, account: string, owner: string): void {
    this.#open.set(id, { account, owner, state: "Unexplained" });
  }

  /** Whether the run over `owner` may list lost keys of the account: one run at a time, or two would list the same. */
  startExplaining(account: string, owner: string): boolean {
    const first = this.#explaining.get(account) ?? owner;
    this.#explaining.set(account, first);
    return first === owner;
  }

  /** A run over `owner` has ended: what it had under way is unexplained. */
  endRun(owner: string): void {
    for (const [account, who] of this.#explaining)
      if (who === owner) this.#explaining.delete(account);
    for (const [id, attempt] of this.#open)
      if (attempt.owner === owner && attempt.state === "UnderWay")
        this.#open.set(id, { ...attempt, state: "Unexplained" });
  }

  /** `owner` is gone, and what it had open with it. */
  forget(owner: string): void {
    for (const [id, attempt] of this.#open)
      if (attempt.owner === owner) {
        this.#open.delete(id);
        this.#onExplained(attempt.account);
      }
  }

  /** Which keys have come of the attempt is known. */
  explain(id: string, account: string, keyIds: readonly string[]): void {
    const wasUnderWay = this.isOpen(id, "UnderWay");
    this.#open.delete(id);
    this.#explained.set(id, { account, keyIds });
    if (keyIds.length > 1) this.#surplus.set(account, this.surplusOf(account) + keyIds.length - 1);
    this.#dropOldest();
    if (!wasUnderWay) this.#onExplained(account);
  }

  /** The attempt was closed, and has led to one more key. */
  addKey(id: string, account: string, keyId: string): void {
    const { keyIds = [] } = this.#explained.get(id) ?? {};
    this.#explained.set(id, { account, keyIds: [...keyIds, keyId] });
    this.#dropOldest();
  }

  /** The oldest ones have long left every status. */
  #dropOldest(): void {
    if (this.#explained.size > MAX_EXPLAINED)
      for (const oldest of this.#explained.keys()) return void this.#explained.delete(oldest);
  }

  /** Lost keys of the account that came of attempts other than those that they are listed for. */
  surplusOf(account: string): number {
    return this.#surplus.get(account) ?? 0;
  }

  /** One of them is that of an attempt that no key is listed for. */
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

  /** Keys of the account that came of explained attempts, whether or not a status that is known here lists them. */
  keyIdsOf(account: string): readonly string[] {
    return [...this.#explained.values()]
      .filter((attempt) => attempt.account === account)
      .flatMap(({ keyIds }) => keyIds);
  }
}
