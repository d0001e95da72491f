/**
 * Finds unmanaged keys: keys in the console's list of an account that no ApiKey names. They were issued outside the
 * operator, by a deleted ApiKey, or by an attempt whose call took effect after the attempt was closed. Pure.
 */

import { attemptAccount } from "../../../accounts/key-accounts.ts";
import type { ApiKey } from "../../../api/api-key.ts";
import { isReportedOn } from "../../../api/conditions.ts";
import { isAttemptOf, isOfOtherCluster, type Marker, markerOf } from "../../../resources/marker.ts";
import { HOUR, type Instant, parseInstant, SECOND } from "../../../util/time.ts";
import { judgeAnswer } from "./account.ts";
import type { AccountSnapshot, UnnamedKeys } from "./snapshot.ts";
import { type AccountStatus, accountStatusCodec } from "./status.ts";

/** Status writes and watches may lag behind a list for this long. */
const CONFIRM_MS = 30 * SECOND;
/** An attempt that is open for longer no longer delays the result. */
const ATTEMPT_PATIENCE_MS = HOUR;
/** Maximum number of keys in the status. */
const MAX_LISTED = 50;

export type UnmanagedKey = NonNullable<AccountStatus["unmanagedKeys"]>[number];

export interface KeyAudit {
  /** The first unmanaged keys. Keys that an ApiKey must list as orphaned come first. */
  readonly unmanagedKeys: readonly UnmanagedKey[];
  readonly unmanagedKeyCount: number;
  /** Keys of ApiKeys that the console still lists although they have expired. */
  readonly expiredKeyIds: readonly string[];
  /** Keys in `unmanagedKeys` that no earlier report has named. */
  readonly found: readonly UnmanagedKey[];
  /** Keys of the last list that no ApiKey names, confirmed or not. */
  readonly unnamed: UnnamedKeys | undefined;
  /** Milliseconds until more keys can be confirmed without another list; `undefined` if no key is left to confirm. */
  readonly afterMs: number | undefined;
  /** Whether a key is left to confirm that no open attempt of an ApiKey can have issued. */
  readonly isUnexplained: boolean;
}

/**
 * `undefined` if the console does not list keys. A key counts once no ApiKey has named it for {@link CONFIRM_MS} since
 * a list showed it, and no open attempt can have issued it. A list from before an ApiKey dropped a key proves nothing:
 * only a new list makes the key a candidate.
 */
export function auditKeys(snapshot: AccountSnapshot, now: Instant): KeyAudit | undefined {
  const { account, apiKeys, object, state } = snapshot;
  const listed = account?.liveKeyIds;
  if (listed === undefined) return undefined;
  const stored = accountStatusCodec.decode(object.status);
  const expiries = expiriesOf(apiKeys);
  const wasExpired = new Set(stored.expiredKeyIds);
  const isExpired = (keyId: string) =>
    expiries.has(keyId) ? (expiries.get(keyId) ?? now) <= now : wasExpired.has(keyId);
  const open = listed.filter((keyId) => !expiries.has(keyId) && !isExpired(keyId));
  const unnamed = isRead(snapshot)
    ? notice(open, snapshot, stored, now)
    : state.unnamed && keep(open, state.unnamed);
  const before = (stored.unmanagedKeys ?? []).filter(({ keyId }) =>
    unnamed === undefined ? open.includes(keyId) : unnamed.has(keyId),
  );
  const verdict = judge(unnamed ?? new Map(), before, snapshot, now);
  const unmanaged = [...before.map((key) => attribute(key, apiKeys)), ...verdict.found];
  const unmanagedKeys = unmanaged
    .toSorted((a, b) => Number(a.apiKey === undefined) - Number(b.apiKey === undefined))
    .slice(0, MAX_LISTED);
  const named = new Set(before.map(({ keyId }) => keyId));
  return {
    unmanagedKeys,
    unmanagedKeyCount:
      unnamed === undefined ? countBefore(stored, before.length) : unmanaged.length,
    expiredKeyIds: listed.filter(isExpired),
    found: unmanagedKeys.filter(({ keyId }) => !named.has(keyId)),
    unnamed,
    afterMs: verdict.afterMs,
    isUnexplained: verdict.isUnexplained,
  };
}

/** Expiry of each key that an ApiKey names; infinite if the expiry is uncertain. */
function expiriesOf(apiKeys: readonly ApiKey[]): ReadonlyMap<string, Instant> {
  const expiries = new Map<string, Instant>();
  const never = Number.POSITIVE_INFINITY;
  for (const { status } of apiKeys) {
    const { current, pending, superseded = [], orphaned = [] } = status ?? {};
    const inUse = [current, pending].filter((key) => key !== undefined);
    for (const { keyId, expirationTime } of [...inUse, ...superseded])
      expiries.set(keyId, parseInstant(expirationTime) ?? never);
    for (const { keyId, expirationTime, late } of orphaned)
      if (keyId !== undefined)
        expiries.set(keyId, late === true ? never : (parseInstant(expirationTime) ?? never));
  }
  return expiries;
}

/** The keys that ApiKeys name. */
export function namedKeyIds(apiKeys: readonly ApiKey[]): ReadonlySet<string> {
  return new Set(expiriesOf(apiKeys).keys());
}

/** Whether the account's list was read in this run. */
function isRead(snapshot: AccountSnapshot): boolean {
  return judgeAnswer(snapshot)?.account !== undefined;
}

function notice(
  open: readonly string[],
  { answer, state }: AccountSnapshot,
  stored: AccountStatus,
  now: Instant,
): UnnamedKeys {
  const records = answer?.detail?.keyRecords;
  const counted = state.unnamed === undefined ? countedKeys(stored) : undefined;
  const unnamed = new Map<string, { noticedTime: Instant; marker: Marker | undefined }>();
  for (const keyId of open) {
    const { description = "" } = records?.get(keyId) ?? {};
    const noticedTime = state.unnamed?.get(keyId)?.noticedTime ?? (counted?.has(keyId) ? 0 : now);
    // The clock may have been set back.
    unnamed.set(keyId, {
      noticedTime: Math.min(noticedTime, now),
      marker: markerOf(description),
    });
  }
  return unnamed;
}

/**
 * If the status counts more keys than it lists, all keys of its list: this process does not know which keys were
 * counted.
 */
function countedKeys({
  unmanagedKeys = [],
  unmanagedKeyCount = 0,
  liveKeyIds,
}: AccountStatus): ReadonlySet<string> | undefined {
  return unmanagedKeyCount > unmanagedKeys.length ? new Set(liveKeyIds) : undefined;
}

function countBefore(
  { unmanagedKeys = [], unmanagedKeyCount = 0 }: AccountStatus,
  left: number,
): number {
  return Math.max(unmanagedKeyCount - (unmanagedKeys.length - left), left);
}

function keep(open: readonly string[], unnamed: UnnamedKeys): UnnamedKeys {
  const still = new Set(open);
  return new Map([...unnamed].filter(([keyId]) => still.has(keyId)));
}

interface Verdict extends Pick<KeyAudit, "found" | "afterMs" | "isUnexplained"> {}

function judge(
  unnamed: UnnamedKeys,
  before: readonly UnmanagedKey[],
  snapshot: AccountSnapshot,
  now: Instant,
): Verdict {
  const known = new Set(before.map(({ keyId }) => keyId));
  const isOfAttempt = attemptsOf(snapshot, now);
  const isKnown = snapshot.apiKeysAreCurrent && snapshot.apiKeys.every(isReportedOn);
  const found: UnmanagedKey[] = [];
  let afterMs: number | undefined;
  let isUnexplained = false;
  for (const [keyId, { noticedTime, marker }] of unnamed) {
    if (known.has(keyId)) continue;
    const waitMs = noticedTime + CONFIRM_MS - now;
    const isExplained = isOfAttempt(keyId, marker);
    if (waitMs <= 0 && isKnown && !isExplained) {
      found.push({ keyId, observedTime: now, ...attributionOf(marker, snapshot) });
      continue;
    }
    afterMs = Math.min(afterMs ?? CONFIRM_MS, waitMs > 0 ? waitMs : CONFIRM_MS);
    isUnexplained ||= !isExplained;
  }
  return { found, afterMs, isUnexplained };
}

/** Whether an open attempt of an ApiKey may have issued a key, so that the ApiKey may still name it. */
function attemptsOf(
  { object, apiKeys }: AccountSnapshot,
  now: Instant,
): (keyId: string, marker: Marker | undefined) => boolean {
  const attempts = apiKeys
    .filter((apiKey) => attemptAccount(apiKey) === object.metadata.name)
    .flatMap(({ status }) => status?.attempt ?? [])
    .filter(({ startTime }) => now - (parseInstant(startTime) ?? 0) < ATTEMPT_PATIENCE_MS)
    .map(({ id, knownKeyIds }) => ({ id, knownKeyIds: new Set(knownKeyIds) }));
  return (keyId, marker) =>
    marker === undefined
      ? attempts.some(({ knownKeyIds }) => !knownKeyIds.has(keyId))
      : attempts.some(({ id }) => id === marker.attempt);
}

/** The ApiKey of the account whose own attempt the marker names: it must list the key as orphaned. */
function attributionOf(
  marker: Marker | undefined,
  { apiKeys, clusterName }: Pick<AccountSnapshot, "apiKeys" | "clusterName">,
): Pick<UnmanagedKey, "apiKey" | "attemptId" | "cluster"> {
  const isOther = isOfOtherCluster(marker, clusterName);
  const apiKey = apiKeys.find(
    ({ metadata }) =>
      !isOther &&
      marker?.name === metadata.name &&
      marker.namespace === metadata.namespace &&
      isAttemptOf(metadata.uid, marker.attempt),
  );
  return {
    apiKey: apiKey?.metadata.name,
    attemptId: apiKey === undefined ? undefined : marker?.attempt.slice(0, 64),
    cluster: marker?.cluster,
  };
}

/** Removes the attribution if the ApiKey has been deleted since. */
function attribute(key: UnmanagedKey, apiKeys: readonly ApiKey[]): UnmanagedKey {
  const { apiKey: name, attemptId: attempt = "" } = key;
  const isThere = apiKeys.some(
    ({ metadata }) => metadata.name === name && isAttemptOf(metadata.uid, attempt),
  );
  return isThere ? key : { ...key, apiKey: undefined, attemptId: undefined };
}
