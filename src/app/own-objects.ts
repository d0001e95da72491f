/** Which objects this operator works on, where several share them by a selector of labels. */
import type { ApiKey } from "../api/api-key.ts";
import type { PolicyBinding } from "../api/policy-binding.ts";
import type { Caches } from "../controllers/frame/context.ts";
import { indexes } from "../controllers/indexes.ts";
import { accountKey } from "../controllers/refs.ts";
import { policyBindingType, serviceAccountType } from "../controllers/resource-types.ts";
import { parseLabelSelector } from "../kube/label-selector.ts";
import { type KubeObject, keyOf, keyText, type ObjectKey } from "../kube/resource.ts";
import { accountOf } from "./shares.ts";

/** Kinds that every operator works on. */
const UNSHARED: ReadonlySet<string> = new Set(["ClusterConnection", "Connection"]);

/** Tells an operator's own objects from those of others; "" selects all. */
export function createOwnership(caches: Caches, selector: string): (object: KubeObject) => boolean {
  const selects = parseLabelSelector(selector);
  if (selector === "" || selects === undefined) return () => true;
  return (object) =>
    UNSHARED.has(object.kind ?? "") || selects(decidingObject(caches, object).metadata.labels);
}

/** Whatever is done for a service account is done by one operator: its labels decide. */
function decidingObject(caches: Caches, object: KubeObject): KubeObject {
  switch (object.kind) {
    case "ApiKey":
      return accountOf(caches, object as ApiKey) ?? object;
    case "ServiceAccount":
      return accountOrBinding(caches, keyOf(object)) ?? object;
    case "PolicyBinding": {
      const account = accountKey(object as PolicyBinding);
      return (account && accountOrBinding(caches, account)) ?? object;
    }
    default:
      return object;
  }
}

/** The named ServiceAccount; where there is none, one PolicyBinding of it stands for all. */
function accountOrBinding(caches: Caches, key: ObjectKey): KubeObject | undefined {
  const [binding] = caches.of(policyBindingType).byIndex(indexes.serviceAccount, keyText(key));
  return caches.of(serviceAccountType).get(key) ?? binding;
}
