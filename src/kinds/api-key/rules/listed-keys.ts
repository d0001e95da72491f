/** What the account's list of keys, as last read, shows about the keys of an ApiKey. Pure. */
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
}

/** The list with lookups in constant time. */
export interface ListedKeys {
  readonly isLive: (keyId: string) => boolean;
  readonly isInactive: (keyId: string) => boolean;
  readonly showsStates: boolean;
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
    time: list.lastKeyListTime ?? 0,
  };
}

/** Whether the console lists the key as inactive or expired. */
export function isListedInactive(account: ReadyAccount | UnusableAccount, keyId: string): boolean {
  return account.kind === "Ready" && account.inactiveKeyIds?.includes(keyId) === true;
}

/** A list that is not much newer than the end of a key may come from a replica that is behind. */
const LIST_LAG_MS = MINUTE;

type KeyInStatus = Pick<SupersededKey, "keyId" | "state"> &
  Partial<Pick<SupersededKey, "answeredCall" | "stateTime">>;

/**
 * The state of a superseded key: a list that shows it outranks what the operator knows from its own calls. A key that a
 * list lacks stays as it was.
 */
export function stateInList(key: KeyInStatus, listed: ListedKeys): SupersededKey["state"] {
  const { keyId, state } = key;
  if (listed.isInactive(keyId)) return INACTIVE[state];
  return listed.isLive(keyId) && isContradicted(key, listed) ? "Live" : state;
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

/** Whether a list of live keys proves that a key of this state works. Without states, it may list disabled keys. */
function isContradicted(
  { state, answeredCall, stateTime = 0 }: KeyInStatus,
  { showsStates, time }: ListedKeys,
): boolean {
  if (state === "Live" || state === "Inactive") return true;
  if (state === "Expired" || time < stateTime + LIST_LAG_MS) return false;
  return showsStates || answeredCall === "deleteKey";
}

/** The key as the list shows it; one that works has to be ended again. */
export function keyInList(key: SupersededKey, listed: ListedKeys): SupersededKey {
  const state = stateInList(key, listed);
  if (state !== "Live" || key.state === "Live") return { ...key, state };
  return { ...key, state, answeredCall: undefined, stateTime: undefined };
}

/** Whether no read has shown that the key does not work. */
export function mayWork({ state }: { readonly state: SupersededKey["state"] }): boolean {
  return state === "Live" || state === "Unknown";
}
