/** Accounts whose keys do not work, whatever the ApiKey's status says about its key. Pure. */
import { quoteServerText } from "../../../console/errors.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import { stalled } from "../../../reconciler/rules/waiting.ts";
import type { Instant } from "../../../util/time.ts";

/** What the console has shown of the account's keys, whatever the account waits for now. */
export interface KeyList {
  /** Valid keys as last listed by the console; `undefined` if the console does not list keys. */
  readonly liveKeyIds: readonly string[] | undefined;
  /** Keys that the console listed as inactive or expired. */
  readonly inactiveKeyIds: readonly string[] | undefined;
  /** When that list was read; a newer key cannot be in it. */
  readonly lastKeyListTime: Instant | undefined;
  /** Whether the console has ever listed a key of the account. */
  readonly listsKeys?: boolean;
  /** Whether the console's last answer about the account shows that it does not exist: none of its keys works. */
  readonly isGone?: boolean;
}

/** What an ApiKey waits for while no key can be issued for its account. */
export interface UnusableAccount extends Waiting, Partial<KeyList> {
  /** Whether the console has shown that no key of the account works. */
  readonly endsKeys?: true;
  /** Whether its connection, which cannot be used now, names a call that ends keys. */
  readonly canEndKeys?: boolean;
}

export function inactiveAccount(
  saId: string,
  state: string | undefined,
  afterMs?: number,
): UnusableAccount {
  return ended(
    `The console reports that service account ${saId} is ${quoteServerText(state ?? "unknown")}, not active: its keys do not work, and the operator issues no key. Activate the account in the console.`,
    afterMs,
  );
}

export function deletedAccount(saId: string, afterMs?: number): UnusableAccount {
  const message = `The console no longer has service account ${saId}: its keys do not work, and the operator issues no key. Use kubectl iam replace-account to move the ApiKeys of the ServiceAccount to a new account, then new keys are issued.`;
  return { ...ended(message, afterMs), isGone: true };
}

/** The ServiceAccount's own run has not read the account yet, and will report the details. */
export function foreignAccount(saId: string, afterMs: number): UnusableAccount {
  return stalled(
    "ServiceAccountNotReady",
    `Service account ${saId} was not created for this ServiceAccount, although the status names it: the operator issues no key. Check the Ready condition of the ServiceAccount.`,
    afterMs,
  );
}

function ended(message: string, afterMs: number | undefined): UnusableAccount {
  return { ...stalled("ServiceAccountNotReady", message, afterMs), endsKeys: true };
}
