import type { ServiceAccount } from "../api/service-account.ts";
import { keyOf, keyText } from "../kube/resource.ts";
import type { Caches } from "../reconciler/context.ts";
import { indexes } from "../resources/indexes.ts";
import { policyBindingType } from "../resources/resource-types.ts";

/**
 * Whether the access of an account must be revoked and policies may still be bound. An account that the operator
 * created and never bound a policy to is not urgent: a tenant can have any number of such accounts.
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
