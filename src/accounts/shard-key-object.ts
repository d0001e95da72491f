import { type KubeObject, keyText, type ObjectKey } from "../kube/resource.ts";
import type { Caches } from "../reconciler/context.ts";
import { indexes } from "../resources/indexes.ts";
import { policyBindingType, serviceAccountType } from "../resources/resource-types.ts";

/**
 * The object whose labels decide which operator reconciles an account and its policies: the ServiceAccount. If it does
 * not exist, one of its PolicyBindings decides for all of them.
 */
export function shardKeyObject(caches: Caches, key: ObjectKey | undefined): KubeObject | undefined {
  if (key === undefined) return undefined;
  const [binding] = caches.of(policyBindingType).byIndex(indexes.serviceAccount, keyText(key));
  return caches.of(serviceAccountType).get(key) ?? binding;
}
