/** What the ServiceAccounts of an ApiKey have recorded about its attempts. */

import { accountKeysOf, attemptAccount } from "../../accounts/key-accounts.ts";
import type { ApiKey } from "../../api/api-key.ts";
import type { ServiceAccount, ServiceAccountStatus } from "../../api/service-account.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { Context } from "../../reconciler/context.ts";
import { isAttemptOf } from "../../resources/marker.ts";
import { serviceAccountType } from "../../resources/resource-types.ts";
import type { ApiKeyReading, Explanation, LateKey } from "./rules/snapshot.ts";
import { listedKeyIds } from "./rules/status.ts";

/** What the open attempt has issued. Reads a ServiceAccount live that is too large for the cache. */
export async function explanationOf(
  object: ApiKey,
  { caches, kube, signal }: Pick<ApiKeyReading, "caches" | "kube" | "signal">,
): Promise<Explanation | undefined> {
  const { attempt } = object.status ?? {};
  const name = attemptAccount(object);
  if (attempt === undefined || name === undefined) return undefined;
  const key = { namespace: object.metadata.namespace ?? "", name };
  const cached: (ServiceAccount & KubeObject) | undefined = caches.of(serviceAccountType).get(key);
  const isLacking = cached?.lacksStatus === true && attempt.settled === true;
  const account = isLacking ? await kube.get(serviceAccountType, key, { signal }) : cached;
  return account?.status?.explainedAttempts?.find(({ id }) => id === attempt.id);
}

/**
 * Keys that an account of the object reports as unmanaged and that this very object issued, according to their
 * descriptions. Descriptions can be forged: the operator only lists such a key and never revokes it.
 */
export function lateKeysOf(
  object: ApiKey,
  { caches }: Pick<Context, "caches">,
): readonly LateKey[] {
  return accountKeysOf(object).flatMap((key) => {
    const { status } = caches.of(serviceAccountType).get(key) ?? {};
    return lateKeysIn(object, key.name, status);
  });
}

function lateKeysIn(
  { metadata: { name, uid }, status }: ApiKey,
  serviceAccount: string,
  { saId, unmanagedKeys: unmanaged = [] }: ServiceAccountStatus = {},
): readonly LateKey[] {
  if (unmanaged.length === 0) return [];
  const listed = new Set(listedKeyIds(status));
  return unmanaged.flatMap(({ keyId, apiKey, attemptId = "" }) =>
    apiKey === name && isAttemptOf(uid, attemptId) && !listed.has(keyId)
      ? [{ keyId, attemptId, serviceAccount, saId }]
      : [],
  );
}
