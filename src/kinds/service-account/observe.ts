import { useOf } from "../../accounts/key-accounts.ts";
import { LISTING_LAG_MS } from "../../accounts/listing-lag.ts";
import { accountInUse } from "../../api/account-in-use.ts";
import type { ApiKey } from "../../api/api-key.ts";
import { isTrue } from "../../api/conditions.ts";
import { annotations } from "../../api/meta.ts";
import type { ServiceAccount, ServiceAccountSpec } from "../../api/service-account.ts";
import { connectionKey } from "../../connections/connection-key.ts";
import { type KubeObject, keyOf, keyText } from "../../kube/resource.ts";
import type { Caches } from "../../reconciler/context.ts";
import { blockedSince } from "../../reconciler/rules/cleanup.ts";
import type { ReportedObject } from "../../reconciler/rules/report.ts";
import { openRequest, requestToken } from "../../reconciler/rules/request.ts";
import type { ReadContext } from "../../reconciler/run-context.ts";
import { settleAll } from "../../reconciler/settle-all.ts";
import { indexes } from "../../resources/indexes.ts";
import { apiKeyType, namespaceType, serviceAccountType } from "../../resources/resource-types.ts";
import { correctedTime, readTime } from "../../util/agreed-time.ts";
import { isBeingDeleted } from "../../util/object-meta.ts";
import { type Instant, parseInstant } from "../../util/time.ts";
import { readClaim, readOtherClaims, refOf } from "./claims.ts";
import type { MarkedAccounts } from "./marked-accounts.ts";
import { fromStatus } from "./rules/account.ts";
import type {
  AccountKind,
  AccountReading,
  AccountSnapshot,
  AccountUser,
} from "./rules/snapshot.ts";
import { accountStatusCodec } from "./rules/status.ts";

/** Reads only the caches. The rules decide which console calls are due, and in what order. */
export async function observe(
  object: ServiceAccount,
  spec: ServiceAccountSpec,
  { caches, connections, clock, clusterName, state = {} }: ReadContext<AccountKind>,
  marked: MarkedAccounts,
): Promise<AccountSnapshot> {
  const { status } = object;
  const key = keyOf(object);
  const namespace = caches.of(namespaceType).get({ namespace: "", name: key.namespace });
  const account = fromStatus(status, spec.saId);
  const { attempt, lastRecoveryTime, unreadableResponse } = accountStatusCodec.decode(status);
  const saId = account?.saId ?? spec.saId;
  const connection = await connections.resolve(refOf(object), key.namespace);
  const at = readTime(clock);
  const ofApiKeys = readApiKeys(object, caches);
  const claim = await readClaim(object, { caches, connections });
  // Does not read the claims for objects without permission: there may be thousands of these objects.
  const isRefused = account === undefined && spec.saId !== undefined && !claim.mayImport;
  const isLimited =
    !isRefused && connection.ok && connection.access.grant.maxServiceAccounts !== undefined;
  return {
    object,
    spec,
    connection,
    clusterName,
    namespaceTerminating: namespace?.metadata.deletionTimestamp !== undefined,
    account,
    attempt: attempt && { ...attempt, startTime: correctedTime(attempt.startTime, at) },
    unreadableResponse: responseOf(attempt, [unreadableResponse, state.unreadableResponse]),
    // Read only during deletion: an account may have thousands of users, and each of them enqueues it.
    ...readUsers(isBeingDeleted(object) ? usersOf(object, caches) : []),
    // Counted only for a limit, before the account exists: a namespace may have thousands of ServiceAccounts.
    ...(isLimited && account === undefined
      ? accountsBefore(object, caches)
      : { accountsBefore: 0, unmarkedBefore: 0 }),
    accountCount: caches
      .of(serviceAccountType)
      .countByIndex(indexes.connection, connectionKey(refOf(object), key.namespace)),
    ...readKeys(ofApiKeys.apiKeys, key.name, status?.liveKeyIds, at.now),
    recoveryTime: correctedTime(lastRecoveryTime, at),
    listTimes:
      spec.saId === undefined
        ? marked.lists.of(connectionKey(refOf(object), key.namespace), at.now)
        : undefined,
    ...ofApiKeys,
    ...readMarked(object, marked, caches),
    request: openRequest(object),
    claim,
    otherClaims: await readOtherClaims(saId === undefined || isRefused ? [] : [saId], object, {
      caches,
      connections,
    }),
    listing: undefined,
    answer: undefined,
    state,
  };
}

/** The ApiKeys of the account, as the cache has them. */
function readApiKeys(
  object: ServiceAccount,
  caches: Caches,
): Pick<AccountSnapshot, "apiKeys" | "apiKeysAreCurrent"> {
  const cache = caches.of(apiKeyType);
  const apiKeys = cache.byIndex(indexes.serviceAccount, keyText(keyOf(object)));
  return { apiKeys, apiKeysAreCurrent: apiKeys.every((each) => cache.isCurrent(keyOf(each))) };
}

/** Of ApiKeys that are too large for the cache; each may name thousands of keys. */
const MOST_LARGE = 8;

/**
 * The ApiKeys of the account after its keys were listed: one that has issued a listed key has it in its status, or an
 * open attempt. Reads large ApiKeys live if they have a settled attempt.
 */
export async function readApiKeysAgain(
  object: ServiceAccount,
  { caches, kube, signal }: Pick<AccountReading, "caches" | "kube" | "signal">,
): Promise<Pick<AccountSnapshot, "apiKeys" | "apiKeysAreCurrent">> {
  const read = readApiKeys(object, caches);
  const isLarge = (apiKey: ApiKey & KubeObject) =>
    apiKey.lacksStatus === true && apiKey.status?.attempt?.settled === true;
  const large = read.apiKeys.filter(isLarge).slice(0, MOST_LARGE);
  if (large.length === 0) return read;
  const whole = await settleAll(
    large.map((apiKey) => kube.get(apiKeyType, keyOf(apiKey), { signal })),
  );
  const others = read.apiKeys.filter((apiKey) => !large.includes(apiKey));
  return { ...read, apiKeys: [...others, ...whole.filter((apiKey) => apiKey !== undefined)] };
}

/** Accounts that were created for the object in addition to its own. */
export function readMarked(
  object: ServiceAccount,
  marked: MarkedAccounts,
  caches: Caches,
): Pick<AccountSnapshot, "markedAccounts" | "namedAccounts"> {
  const key = keyOf(object);
  const markedAccounts = marked.of(connectionKey(refOf(object), key.namespace), key);
  const candidates = [...(markedAccounts ?? []), ...(object.status?.orphanedAccounts ?? [])];
  const isNamed = (saId: string) =>
    caches
      .of(serviceAccountType)
      .byIndex(indexes.saId, saId)
      .some(({ metadata }) => metadata.uid !== object.metadata.uid);
  const namedAccounts = new Set(candidates.map(({ saId }) => saId).filter(isNamed));
  return { markedAccounts, namedAccounts };
}

/** The response to the open attempt; it is remembered until a status write has stored it. */
function responseOf(
  attempt: AccountSnapshot["attempt"],
  known: readonly AccountSnapshot["unreadableResponse"][],
): AccountSnapshot["unreadableResponse"] {
  return known.find((each) => each !== undefined && each.attemptId === attempt?.id);
}

type User = AccountUser & Pick<ReportedObject, "status">;

function readUsers(users: readonly User[]): Pick<AccountSnapshot, "users" | "usersAreBlocked"> {
  const isBlocked = (user: User) => blockedSince(user) !== undefined;
  return {
    users: users.map(({ name, use }) => ({ name, use })).sort((a, b) => (a.name < b.name ? -1 : 1)),
    usersAreBlocked: users.length > 0 && users.every(isBlocked),
  };
}

/** Superseded keys that work count, unless a read has shown that the account has no permissions, or does not exist. */
function usersOf(object: ServiceAccount, caches: Caches): readonly User[] {
  const key = keyOf(object);
  const isPowerless =
    isTrue(object.status?.conditions, "AccessRevoked") || object.status?.ownership === "Gone";
  const others = caches
    .indexedBy(indexes.serviceAccount)
    .filter(({ type }) => type.kind !== apiKeyType.kind)
    .flatMap(({ type, store }) =>
      store.byIndex(indexes.serviceAccount, keyText(key)).map((user) => {
        const name = `${type.kind} ${user.metadata.name}`;
        return { ...user, name, use: "Policies" as const };
      }),
    );
  const apiKeys = caches
    .of(apiKeyType)
    .byIndex(indexes.serviceAccount, keyText(key))
    .flatMap((apiKey) => {
      const use = useOf(apiKey, key.name);
      if (use === undefined || (use === "SupersededKeys" && isPowerless)) return [];
      return [{ ...apiKey, name: `ApiKey ${apiKey.metadata.name}`, use }];
    });
  return [...others, ...apiKeys];
}

function accountsBefore(
  object: ServiceAccount,
  caches: Caches,
): Pick<AccountSnapshot, "accountsBefore" | "unmarkedBefore"> {
  const { namespace = "", uid } = object.metadata;
  const age = ({ metadata }: ServiceAccount) =>
    `${metadata.creationTimestamp ?? ""} ${metadata.name}`;
  const hasAccount = ({ status }: ServiceAccount) =>
    status?.saId !== undefined || status?.attempt !== undefined;
  const before = caches
    .of(serviceAccountType)
    .byIndex(indexes.connection, connectionKey(refOf(object), namespace))
    .filter(({ metadata }) => metadata.namespace === namespace && metadata.uid !== uid)
    .filter((other) => hasAccount(other) || age(other) < age(object));
  const isMarked = ({ status }: ServiceAccount) =>
    status?.saId !== undefined && status.origin !== "Imported";
  return {
    accountsBefore: before.length,
    unmarkedBefore: before.filter((other) => !isMarked(other)).length,
  };
}

/** Facts about the account's ApiKeys that decide when to read the account. */
function readKeys(
  apiKeys: readonly ApiKey[],
  name: string,
  liveKeyIds: readonly string[] | undefined,
  now: Instant,
): Pick<AccountSnapshot, "unlistedKeyTime" | "keyRecoveryTime" | "keyRequests"> {
  const listed = liveKeyIds && new Set(liveKeyIds);
  let unlistedKeyTime: Instant | undefined;
  let keyRecoveryTime: Instant | undefined;
  const keyRequests: string[] = [];
  for (const apiKey of apiKeys) {
    const { metadata, spec, status } = apiKey;
    const { current, superseded = [], lastRecoveryTime } = status ?? {};
    const isOwn = accountInUse(apiKey) === name;
    if (current !== undefined && isOwn && listed?.has(current.keyId) === false)
      unlistedKeyTime = latest(unlistedKeyTime, current.verificationTime ?? current.issueTime);
    for (const key of superseded) {
      const { serviceAccount = spec.serviceAccountRef.name, keyId, state } = key;
      if (state !== "Live" || serviceAccount !== name || listed?.has(keyId) !== false) continue;
      const listableTime = (parseInstant(key.issueTime) ?? 0) + LISTING_LAG_MS;
      if (listableTime <= now) unlistedKeyTime = Math.max(unlistedKeyTime ?? 0, listableTime);
    }
    if (lastRecoveryTime !== undefined) keyRecoveryTime = latest(keyRecoveryTime, lastRecoveryTime);
    const request = requestToken(metadata, annotations.reconcileRequestedAt);
    if (request !== undefined) keyRequests.push(`${metadata.uid} ${request}`);
  }
  return { unlistedKeyTime, keyRecoveryTime, keyRequests };
}

function latest(before: Instant | undefined, time: string): Instant {
  return Math.max(before ?? 0, parseInstant(time) ?? 0);
}
