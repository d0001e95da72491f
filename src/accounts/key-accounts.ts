/** The ServiceAccounts of an ApiKey: the one that its spec names, and those whose keys its status names. Pure. */
import { accountInUse } from "../api/account-in-use.ts";
import type { ApiKey, ApiKeyStatus } from "../api/api-key.ts";
import { keyText, type ObjectKey } from "../kube/resource.ts";

type Stored = Pick<ApiKey, "metadata"> & Partial<Pick<ApiKey, "spec" | "status">>;

/** Every ServiceAccount that the object names, without duplicates. A stored object may be older than its schema. */
export function accountKeysOf(apiKey: Stored): readonly ObjectKey[] {
  const { superseded = [], orphaned = [] } = apiKey.status ?? {};
  const keys = [...keysInUse(apiKey.status), ...superseded, ...orphaned];
  return inNamespaceOf(apiKey, [specAccount(apiKey), ...keys.map((key) => key?.serviceAccount)]);
}

/** The index `serviceAccount` of an ApiKey. */
export function accountIndex(apiKey: Stored): readonly string[] {
  return accountKeysOf(apiKey).map(keyText);
}

/** Name of the ServiceAccount that the open attempt issues for. */
export function attemptAccount(apiKey: Stored): string | undefined {
  return apiKey.status?.attempt?.serviceAccount ?? specAccount(apiKey);
}

/** Whether the ApiKey is to have a key of this ServiceAccount, and its key in use belongs to another one. */
export function movesTo(apiKey: Stored, name: string): boolean {
  return specAccount(apiKey) === name && accountInUse(apiKey) !== name;
}

/**
 * How an ApiKey uses a ServiceAccount: it is issued keys of it, its key is of it until it has one of another, or it has a
 * superseded key of it that may still work.
 */
export type KeyUse = "Keys" | "MovingKeys" | "SupersededKeys";

/** `undefined` if the ApiKey does not use the ServiceAccount. */
export function useOf(apiKey: Stored, name: string): KeyUse | undefined {
  if (specAccount(apiKey) === name) return "Keys";
  if (keysInUse(apiKey.status).map(serviceAccountOf).includes(name)) return "MovingKeys";
  const { superseded = [] } = apiKey.status ?? {};
  const works = superseded.some(
    ({ state, serviceAccount }) =>
      serviceAccount === name && (state === "Live" || state === "Unknown"),
  );
  return works ? "SupersededKeys" : undefined;
}

function keysInUse({ current, pending, attempt }: ApiKeyStatus = {}) {
  return [current, pending, attempt];
}

function serviceAccountOf(
  key: { readonly serviceAccount?: string | undefined } | undefined,
): string | undefined {
  return key?.serviceAccount;
}

function specAccount({ spec }: Stored): string | undefined {
  return spec?.serviceAccountRef?.name;
}

function inNamespaceOf(
  { metadata: { namespace = "" } }: Stored,
  names: readonly (string | undefined)[],
): readonly ObjectKey[] {
  const named = new Set(names.filter((name) => name !== undefined));
  return [...named].map((name) => ({ namespace, name }));
}
