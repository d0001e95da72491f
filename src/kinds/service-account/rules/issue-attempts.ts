/**
 * Finds out which keys the open attempts of the account's ApiKeys have issued. Two lists of the account's keys show it
 * that were read after the attempt was settled. Pure.
 */

import { attemptAccount } from "../../../accounts/key-accounts.ts";
import { accountInUse } from "../../../api/account-in-use.ts";
import type { ApiKey } from "../../../api/api-key.ts";
import { MAX_EXPLAINED_ATTEMPTS, MAX_KEYS_OF_ATTEMPT } from "../../../api/service-account.ts";
import type { IamServiceAccountDetail } from "../../../console/model.ts";
import type { KubeObject } from "../../../kube/resource.ts";
import { markerOf } from "../../../resources/marker.ts";
import { remainingMs } from "../../../util/agreed-time.ts";
import { isBeingDeleted } from "../../../util/object-meta.ts";
import { HOUR, type Instant, parseInstant, SECOND } from "../../../util/time.ts";
import { judgeAnswer } from "./account.ts";
import { namedKeyIds } from "./audit.ts";
import type { AccountSnapshot, AttemptEvidence } from "./snapshot.ts";
import { type AccountStatus, accountStatusCodec } from "./status.ts";

/** Between two lists while an attempt is not explained. */
const LIST_GAP_MS = 5 * SECOND;
/** The reason of an attempt that replaces a key in use which the console rejects. */
const KEY_REFUSED = "KeyRefused";
/** An older attempt no longer waits for other attempts that may have issued the same key. */
const PATIENCE_MS = HOUR;

export type ExplainedAttempt = NonNullable<AccountStatus["explainedAttempts"]>[number];

export interface Explanations {
  /** For each open attempt of which it is known. */
  readonly explained: readonly ExplainedAttempt[];
  readonly evidence: AccountSnapshot["state"]["evidence"];
  /** Milliseconds until the next list; `undefined` if no settled attempt is left. */
  readonly afterMs: number | undefined;
}

/** Whether the account's keys must be listed for an attempt. */
export function isAttemptListDue(snapshot: AccountSnapshot, now: Instant): boolean {
  const { evidence, lastRead } = snapshot.state;
  const left = unexplained(snapshot);
  if (left.some(({ id }) => evidence?.has(id) !== true)) return true;
  return left.length > 0 && remainingMs(lastRead?.startTime ?? 0, LIST_GAP_MS, now) <= 0;
}

/** Explains the oldest attempts first: no key is of two attempts. */
export function explainAttempts(snapshot: AccountSnapshot, now: Instant): Explanations {
  const explained = [...recorded(snapshot)];
  const left = unexplained(snapshot);
  if (left.length === 0) return { explained, evidence: undefined, afterMs: undefined };
  const named = new Set(namedKeyIds(snapshot.apiKeys));
  const note = (known: ExplainedAttempt) => {
    for (const keyId of known.keyIds ?? []) named.add(keyId);
  };
  explained.forEach(note);
  const evidence = new Map<string, AttemptEvidence>();
  const waiting = new Map(openAttempts(snapshot).map((each) => [each.id, each]));
  for (const { id } of explained) waiting.delete(id);
  for (const attempt of left) {
    const found = evidenceOn(attempt, named, snapshot, now);
    if (found !== undefined) evidence.set(attempt.id, found);
    if (found?.isComplete !== true || explained.length === MAX_EXPLAINED_ATTEMPTS) continue;
    const rivals = [...waiting.values()].filter(({ id }) => id !== attempt.id);
    const known = explain(attempt, found, { rivals, named, snapshot, now });
    if (known === undefined) continue;
    explained.push(known);
    note(known);
    waiting.delete(attempt.id);
  }
  const isDone = left.every(({ id }) => !waiting.has(id));
  return { explained, evidence, afterMs: isDone ? undefined : LIST_GAP_MS };
}

interface Attempt {
  readonly id: string;
  readonly reason: string;
  readonly startTime: Instant;
  /** Absent if the console did not list keys. */
  readonly knownKeyIds: readonly string[] | undefined;
  readonly isSettled: boolean;
  /** Whether `knownKeyIds` is absent because the cache does not hold it. */
  readonly isPartial: boolean;
}

/** Open attempts for this account, the oldest first. */
function openAttempts({ apiKeys, account, object }: AccountSnapshot): readonly Attempt[] {
  if (account === undefined) return [];
  return apiKeys
    .flatMap((apiKey: ApiKey & KubeObject) => {
      const { attempt } = apiKey.status ?? {};
      if (attempt === undefined || attemptAccount(apiKey) !== object.metadata.name) return [];
      if ((attempt.saId ?? account.saId) !== account.saId) return [];
      const { id, reason, startTime, knownKeyIds, settled } = attempt;
      return {
        id,
        reason,
        startTime: parseInstant(startTime) ?? 0,
        knownKeyIds,
        isSettled: settled === true,
        isPartial: apiKey.lacksStatus === true,
      };
    })
    .toSorted((a, b) => a.startTime - b.startTime || (a.id < b.id ? -1 : 1));
}

/** Settled attempts that the status does not explain. */
function unexplained(snapshot: AccountSnapshot): readonly Attempt[] {
  const known = new Set(recorded(snapshot).map(({ id }) => id));
  return openAttempts(snapshot).filter(({ id, isSettled }) => isSettled && !known.has(id));
}

/** What the status says of attempts that are still open. */
function recorded(snapshot: AccountSnapshot): readonly ExplainedAttempt[] {
  const { status } = snapshot.object;
  // Decoding a long status takes time, and most accounts have no such attempt.
  if (status?.explainedAttempts === undefined) return [];
  const { explainedAttempts = [] } = accountStatusCodec.decode(status);
  const open = new Set(openAttempts(snapshot).map(({ id }) => id));
  return explainedAttempts.filter(({ id }) => open.has(id));
}

/** What the lists have shown since the attempt was settled, with the list of this run. */
function evidenceOn(
  attempt: Attempt,
  named: ReadonlySet<string>,
  snapshot: AccountSnapshot,
  now: Instant,
): AttemptEvidence | undefined {
  const before = snapshot.state.evidence?.get(attempt.id);
  const list = listOf(snapshot);
  const { lookTime } = snapshot;
  if (list === undefined || lookTime === undefined) return before;
  if (attempt.isPartial || before?.isComplete === true) return before;
  const firstTime = Math.min(before?.firstTime ?? lookTime, lookTime);
  const shown = keysOf(attempt, list, named);
  const missing = before?.missingKeyIds ?? keysInUse(attempt, snapshot, now);
  return {
    firstTime,
    isComplete: lookTime - firstTime >= LIST_GAP_MS,
    keys: shown === undefined ? before?.keys : new Map([...(before?.keys ?? []), ...shown]),
    missingKeyIds: missing.filter((keyId) => list.keyIds?.includes(keyId) !== true),
  };
}

type KeyList = Pick<IamServiceAccountDetail, "keyIds" | "keyRecords">;

/** The list that this run has read. A deleted account has no keys. */
function listOf(snapshot: AccountSnapshot): KeyList | undefined {
  const { answer } = snapshot;
  if (answer !== undefined && answer.detail === undefined) return { keyIds: [] };
  return judgeAnswer(snapshot)?.account === undefined ? undefined : answer?.detail;
}

/** By keyId: whether its description names the attempt. `undefined` if the console does not list keys. */
function keysOf(
  { id, knownKeyIds }: Attempt,
  { keyIds, keyRecords }: KeyList,
  named: ReadonlySet<string>,
): readonly (readonly [keyId: string, isMarked: boolean])[] | undefined {
  if (keyIds === undefined || knownKeyIds === undefined) return undefined;
  const known = new Set(knownKeyIds);
  return keyIds
    .filter((keyId) => !known.has(keyId) && !named.has(keyId))
    .map((keyId) => [keyId, markerOf(keyRecords?.get(keyId)?.description ?? "")?.attempt] as const)
    .filter(([, marked]) => marked === undefined || marked === id)
    .map(([keyId, marked]) => [keyId, marked !== undefined]);
}

/**
 * Keys that a complete list contains: the console has accepted them. Not the key that the attempt replaces because the
 * console rejects it, nor a key of a deleted ApiKey, which may have been revoked.
 */
function keysInUse(
  { id, reason }: Attempt,
  { apiKeys, account, object }: AccountSnapshot,
  now: Instant,
): readonly string[] {
  return apiKeys.flatMap((apiKey) => {
    const { current, attempt } = apiKey.status ?? {};
    const isOfAccount =
      accountInUse(apiKey) === object.metadata.name &&
      (current?.saId ?? account?.saId) === account?.saId;
    const isRefused = attempt?.id === id && reason === KEY_REFUSED;
    if (!isOfAccount || isRefused || isBeingDeleted(apiKey)) return [];
    if (current?.verificationTime === undefined) return [];
    return now < (parseInstant(current.expirationTime) ?? 0) ? [current.keyId] : [];
  });
}

interface Others {
  /** Other open attempts that are not explained. */
  readonly rivals: readonly Attempt[];
  /** Keys of ApiKeys and of explained attempts. */
  readonly named: ReadonlySet<string>;
  readonly snapshot: AccountSnapshot;
  readonly now: Instant;
}

/**
 * `undefined` while a key without a description may be of an attempt whose call is under way, or of an ApiKey whose keys
 * are not known. If it may be of several settled attempts, the first has one key, and the last has the others.
 */
function explain(
  { id, startTime }: Attempt,
  { keys, missingKeyIds: [missingKeyId] }: AttemptEvidence,
  { rivals, named, snapshot, now }: Others,
): ExplainedAttempt | undefined {
  if (keys === undefined) return { id, keyIds: undefined, missingKeyId: undefined };
  const left = [...keys].filter(([keyId]) => !named.has(keyId));
  const marked = left.filter(([, isMarked]) => isMarked).map(([keyId]) => keyId);
  const others = left.filter(([, isMarked]) => !isMarked).map(([keyId]) => keyId);
  const rivalsFor = (keyId: string) =>
    rivals.filter(({ knownKeyIds = [] }) => !knownKeyIds.includes(keyId));
  const isDoubtful = others.length > 0 && now - startTime < PATIENCE_MS;
  if (isDoubtful && !isKnown(snapshot)) return undefined;
  if (isDoubtful && others.flatMap(rivalsFor).some(({ isSettled }) => !isSettled)) return undefined;
  const own = [...marked, ...others.filter((keyId) => rivalsFor(keyId).length === 0)];
  const keyIds = own.length > 0 ? own : others.slice(0, 1);
  return keyIds.length === 0 && missingKeyId !== undefined
    ? { id, keyIds: undefined, missingKeyId }
    : { id, keyIds: keyIds.slice(0, MAX_KEYS_OF_ATTEMPT), missingKeyId: undefined };
}

/** Whether the statuses of the account's ApiKeys name every key that they have. */
function isKnown({ apiKeys, apiKeysAreCurrent }: AccountSnapshot): boolean {
  return apiKeysAreCurrent && !apiKeys.some(({ lacksStatus }: KubeObject) => lacksStatus === true);
}
