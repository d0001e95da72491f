import type { PolicyBinding } from "../../api/policy-binding.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { keyOf, keyText, type ObjectKey } from "../../kube/resource.ts";
import { type Context, indexes } from "../frame/context.ts";
import { policyBindingType, serviceAccountType } from "../resource-types.ts";

/** A ServiceAccount, if there is one, and every PolicyBinding that names it, oldest first. */
export interface Objects {
  readonly account: ServiceAccount | undefined;
  readonly bindings: readonly PolicyBinding[];
}

/** From the caches; `undefined` while one of them has not been listed or has not seen our own last writes. */
export function observeCached(
  { caches }: Pick<Context, "caches">,
  key: ObjectKey,
): Objects | undefined {
  const { serviceAccounts, policyBindings } = caches;
  if (!serviceAccounts.synced || !policyBindings.synced) return undefined;
  const bindings = policyBindings.byIndex(indexes.serviceAccount, keyText(key));
  const current =
    serviceAccounts.isCurrent(key) &&
    bindings.every((binding) => policyBindings.isCurrent(keyOf(binding)));
  return current ? { account: serviceAccounts.get(key), bindings: inOrder(bindings) } : undefined;
}

/**
 * From the API server itself: what a PUT or the end of an object is decided on (S10, S20). A cache may be
 * behind in ways it cannot know of; this answer is complete or an error.
 */
export async function observeLive(
  { kube }: Pick<Context, "kube">,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<Objects> {
  const bindings = await kube.list(policyBindingType, {
    namespace: key.namespace,
    fieldSelector: `spec.serviceAccountRef.name=${key.name}`,
    signal,
  });
  const account = await kube.get(serviceAccountType, key, { signal });
  return { account, bindings: inOrder(bindings.filter((binding) => names(binding, key))) };
}

function names(binding: PolicyBinding, key: ObjectKey): boolean {
  const spec = binding.spec as Partial<PolicyBinding["spec"]> | undefined;
  return binding.metadata.namespace === key.namespace && spec?.serviceAccountRef?.name === key.name;
}

function inOrder(bindings: readonly PolicyBinding[]): readonly PolicyBinding[] {
  const order = ({ metadata }: PolicyBinding) => `${metadata.creationTimestamp}/${metadata.uid}`;
  return bindings.toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
}
