/** The valid keys of an account, where each key is stored, and which keys no ApiKey names. Pure. */
import { accountKeysOf } from "../../accounts/key-accounts.ts";
import type { ApiKey } from "../../api/api-key.ts";
import { findCondition } from "../../api/conditions.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { keyOf, keyText } from "../../kube/resource.ts";
import { isGone } from "./bound-policies.ts";
import { lacksSecret } from "./missing-secrets.ts";
import type { World } from "./read.ts";

interface LiveKey {
  readonly keyId: string;
  readonly where: string;
  /**
   * Whether deleting the ApiKey can revoke the key: its status lists it as current or superseded, and the Secret is not
   * retained. False for pending, orphaned and unmanaged keys.
   */
  readonly isRevocable: boolean;
}

/**
 * Leaves out keys that do not work as last read, and keys of other accounts in the statuses of `apiKeys`, which are
 * those of the namespace. A key without an ID is named by its attempt. `missing`: Secrets that are known not to exist.
 */
export function liveKeysOf(
  account: ServiceAccount,
  apiKeys: readonly ApiKey[],
  missing: ReadonlySet<string> = new Set(),
): readonly LiveKey[] {
  if (isGone(account)) return [];
  const known = apiKeys.flatMap((apiKey) =>
    keysOf(apiKey, account.metadata.name, missing).filter(
      ({ keyId }) => !hasEnded(keyId, apiKey, account),
    ),
  );
  const unmanaged = unnamedKeyIds(account, apiKeys).map((keyId) => ({
    keyId,
    where: "unmanaged: in no ApiKey's status",
    isRevocable: false,
  }));
  return [...known, ...unmanaged];
}

/** The keys in the console's last list of the account that no ApiKey of its namespace names. */
export function unnamedKeyIds(
  { metadata, status }: Pick<ServiceAccount, "metadata" | "status">,
  apiKeys: readonly ApiKey[],
): readonly string[] {
  const named = apiKeys
    .filter((apiKey) => apiKey.metadata.namespace === metadata.namespace)
    .flatMap(keyIdsOf);
  const known = new Set([...named, ...(status?.expiredKeyIds ?? [])]);
  return (status?.liveKeyIds ?? []).filter((keyId) => !known.has(keyId));
}

function keyIdsOf({ status }: ApiKey): readonly string[] {
  const { current, pending, superseded = [], orphaned = [] } = status ?? {};
  return [current, pending, ...superseded, ...orphaned].flatMap((key) => key?.keyId ?? []);
}

/** For each account that an ApiKey names and that does not exist, a ServiceAccount with nothing but its name. */
export function missingAccounts({
  apiKeys,
  serviceAccounts,
}: Pick<World, "apiKeys" | "serviceAccounts">): readonly ServiceAccount[] {
  const existing = new Set(serviceAccounts.map((account) => keyText(keyOf(account))));
  const named = new Map(apiKeys.flatMap(accountKeysOf).map((key) => [keyText(key), key]));
  return [...named]
    .filter(([text]) => !existing.has(text))
    .map(([, metadata]) => ({ kind: "ServiceAccount", metadata, spec: {} }) as ServiceAccount);
}

const MOST_LINES = 10;

/** One line for each key; the last line counts the keys that are left out. */
export function keyLines(keys: readonly LiveKey[]): readonly string[] {
  const lines = keys.slice(0, MOST_LINES).map(({ keyId, where }) => `${keyId} (${where})`);
  const more = keys.length - lines.length;
  return more === 0 ? lines : [...lines, `and ${more} more`];
}

/** The keys that the ApiKey has of the account. A status without an account is about the account of the spec. */
function keysOf(apiKey: ApiKey, account: string, missing: ReadonlySet<string>): readonly LiveKey[] {
  const { metadata, spec, status } = apiKey;
  const isOf = (key: { readonly serviceAccount?: string | undefined } | undefined) =>
    key !== undefined && (key.serviceAccount ?? spec.serviceAccountRef.name) === account;
  const name = `iamkey/${metadata.name}`;
  const { current, pending, secretName, superseded = [], orphaned = [] } = status ?? {};
  const ofSecret = { isRevocable: spec.secret?.deletionPolicy !== "Retain" };
  const secret = `secret/${secretName ?? metadata.name}`;
  const where = lacksSecret(apiKey, missing)
    ? `${name}, whose ${secret} does not exist`
    : `${name}, in ${secret}`;
  return [
    ...[current].filter((key) => key !== undefined).map((key) => ({ ...key, where, ...ofSecret })),
    ...[pending]
      .filter((key) => key !== undefined)
      .map((key) => ({ ...key, where: `${name}, not delivered yet`, isRevocable: false })),
    ...superseded
      .filter(({ state }) => state === "Live" || state === "Unknown")
      .map((key) => ({
        ...key,
        where: `${name}, superseded${key.state === "Live" ? "" : "; whether it still works is unknown"}`,
        ...ofSecret,
      })),
    ...orphaned.map((key) => ({
      ...key,
      keyId: key.keyId ?? `attempt ${key.attemptId}`,
      where: `${name}, orphaned`,
      isRevocable: false,
    })),
  ]
    .filter(isOf)
    .map(({ keyId, where, isRevocable }) => ({ keyId, where, isRevocable }));
}

/** Whether the console lists the key as inactive, or neither lists nor accepts it. */
function hasEnded(keyId: string, { status }: ApiKey, account: ServiceAccount): boolean {
  const { liveKeyIds, inactiveKeyIds } = account.status ?? {};
  if (inactiveKeyIds?.includes(keyId)) return true;
  const isRefused = findCondition(status?.conditions, "Verified")?.reason === "KeyRefused";
  const isUnlisted = liveKeyIds !== undefined && !liveKeyIds.includes(keyId);
  return isRefused && isUnlisted && status?.current?.keyId === keyId;
}
