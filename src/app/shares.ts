/** What the queue needs to know of objects to be fair to tenants: which connection a run will wait for, and what is urgent. */
import type { ApiKey } from "../api/api-key.ts";
import type { ServiceAccount } from "../api/service-account.ts";
import type { Caches } from "../controllers/frame/context.ts";
import { indexes } from "../controllers/indexes.ts";
import { policyBindingType, serviceAccountType } from "../controllers/resource-types.ts";
import { type KubeObject, keyOf, keyText, type ObjectKey } from "../kube/resource.ts";

type WithConnection = KubeObject & {
  readonly spec?: {
    readonly connectionRef?: {
      readonly kind?: string | undefined;
      readonly name?: string | undefined;
    };
  };
};

/**
 * The ClusterConnection that the object uses. `undefined` for a Connection of its own namespace, which then counts as the
 * namespace: a tenant may have any number of them.
 */
export function connectionShare({ spec }: WithConnection): string | undefined {
  const { kind, name = "default" } = spec?.connectionRef ?? {};
  return kind === "Connection" ? undefined : `ClusterConnection/${name}`;
}

/** The same for an object of the named ServiceAccount. */
export function accountShare(caches: Pick<Caches, "of">, key: ObjectKey): string | undefined {
  const account = caches.of(serviceAccountType).get(key);
  return account && connectionShare(account);
}

export function apiKeyShare(caches: Caches, apiKey: ApiKey): string | undefined {
  const account = accountOf(caches, apiKey);
  return account && connectionShare(account);
}

/** The ServiceAccount of an ApiKey. */
export function accountOf(caches: Pick<Caches, "of">, apiKey: ApiKey): ServiceAccount | undefined {
  const { namespace } = keyOf(apiKey);
  const spec: Partial<ApiKey["spec"]> | undefined = apiKey.spec;
  return caches
    .of(serviceAccountType)
    .get({ namespace, name: spec?.serviceAccountRef?.name ?? "" });
}

/**
 * Whether an account's access is to be revoked and may still have policies bound. Of an account that the operator created
 * and bound nothing for, nothing is urgent: a tenant may have any number of them.
 */
export function isRevocationDue(
  caches: Pick<Caches, "of">,
  account: ServiceAccount | undefined,
): boolean {
  const spec: Partial<ServiceAccount["spec"]> | undefined = account?.spec;
  if (account === undefined || spec?.access !== "Revoked") return false;
  const { bindings, origin } = account.status ?? {};
  if (bindings?.unansweredSync !== undefined) return true;
  if (bindings?.policyCount !== undefined) return bindings.policyCount !== 0;
  return (
    origin === "Imported" ||
    caches
      .of(policyBindingType)
      .byIndex(indexes.serviceAccount, keyText(keyOf(account)))
      .some(({ status }) => (status?.appliedPolicyIds ?? []).length > 0)
  );
}
