/** What the account's list of keys, as last read, shows about the keys of an ApiKey. Pure. */
import { LISTING_LAG_MS } from "../../../accounts/listing-lag.ts";
import { type Instant, MINUTE } from "../../../util/time.ts";
import type { ReadyAccount } from "./snapshot.ts";
import type { SupersededKey } from "./status.ts";
import type { UnusableAccount } from "./unusable-account.ts";

interface KeyList {
  /** Absent if the console does not list keys. */
  readonly liveKeyIds?: readonly string[] | undefined;
  /** Keys that the console lists as inactive or expired. */
  readonly inactiveKeyIds?: readonly string[] | undefined;
  /** Whether the list shows each live key as active. */
  readonly listsKeyStates?: boolean | undefined;
  readonly lastKeyListTime?: Instant | undefined;
  /** Whether the console has ever listed a key of the account. */
  readonly listsKeys?: boolean | undefined;
}

/** The list with lookups in constant time. */
export interface ListedKeys {
  readonly isLive: (keyId: string) => boolean;
  readonly isInactive: (keyId: string) => boolean;
  readonly showsStates: boolean;
  readonly hasShownKeys: boolean;
  /** When the list was read. */
  readonly time: Instant;
}

export function listedKeys(list: KeyList): ListedKeys {
  const live = new Set(list.liveKeyIds);
  const inactive = new Set(list.inactiveKeyIds);
  return {
    isLive: (keyId) => live.has(keyId),
    isInactive: (keyId) => inactive.has(keyId),
    showsStates: list.listsKeyStates === true,
    hasShownKeys: list.listsKeys === true,
    time: list.lastKeyListTime ?? 0,
  };
}

/** Whether the console lists the key as inactive or expired. */
export function isListedInactive(account: ReadyAccount | UnusableAccount, keyId: string): boolean {
  return account.inactiveKeyIds?.includes(keyId) === true;
}

/** A list that is not much newer than the end of a key may come from a replica that is behind. */
const LIST_LAG_MS = MINUTE;

type KeyInStatus = Pick<SupersededKey, "keyId" | "issueTime" | "state"> &
  Partial<Pick<SupersededKey, "answeredCall" | "stateTime">>;

/**
 * The state of a superseded key: a list outranks what the operator knows from its own calls. `keyInUse` is the key in
 * use, if it belongs to the account of the list.
 */
export function stateInList(
  key: KeyInStatus,
  listed: ListedKeys,
  keyInUse: { readonly keyId: string } | undefined,
): SupersededKey["state"] {
  const { keyId, state } = key;
  if (listed.isInactive(keyId)) return INACTIVE[state];
  if (listed.isLive(keyId)) return isContradicted(key, listed) ? "Live" : state;
  return isMissing(key, listed, keyInUse) ? endedState(key) : state;
}

/**
 * Whether a list without the key shows that the console no longer has it: the console had time to list it, and the list
 * shows the key in use. If that belongs to another account, lists of this account must have shown keys before.
 */
function isMissing(
  { issueTime }: KeyInStatus,
  { isLive, isInactive, time, hasShownKeys }: ListedKeys,
  keyInUse: { readonly keyId: string } | undefined,
): boolean {
  if (time < issueTime + LISTING_LAG_MS) return false;
  if (keyInUse === undefined) return hasShownKeys;
  return isLive(keyInUse.keyId) || isInactive(keyInUse.keyId);
}

/** The state of a superseded key that the console no longer has. */
export function endedState({
  state,
  answeredCall,
}: Pick<KeyInStatus, "state" | "answeredCall">): SupersededKey["state"] {
  return state === "Unknown" && answeredCall === "deleteKey" ? "Deleted" : INACTIVE[state];
}

/** An administrator may disable a superseded key. A console may list a deleted key as inactive for good. */
const INACTIVE: Readonly<Record<SupersededKey["state"], SupersededKey["state"]>> = {
  Live: "Inactive",
  Unknown: "Disabled",
  Inactive: "Inactive",
  Disabled: "Disabled",
  Deleted: "Deleted",
  Expired: "Expired",
};

/** Whether a list of live keys contradicts the end of a key. Without states, it may list disabled keys. */
function isContradicted(
  { state, answeredCall, stateTime = 0 }: KeyInStatus,
  { showsStates, time }: ListedKeys,
): boolean {
  if (state === "Inactive") return true;
  if (state === "Expired" || time < stateTime + LIST_LAG_MS) return false;
  return showsStates || answeredCall === "deleteKey";
}

/** The key as the list shows it; one that works has to be ended again. */
export function keyInList(
  key: SupersededKey,
  listed: ListedKeys,
  keyInUse: { readonly keyId: string } | undefined,
): SupersededKey {
  const state = stateInList(key, listed, keyInUse);
  if (state !== "Live" || key.state === "Live") return { ...key, state };
  return { ...key, state, answeredCall: undefined, stateTime: undefined };
}

/** Whether no read has shown that the key does not work. */
export function mayWork({ state }: { readonly state: SupersededKey["state"] }): boolean {
  return state === "Live" || state === "Unknown";
}
