import { isRevocationDue } from "../../accounts/revocation-due.ts";
import { shardKeyObject } from "../../accounts/shard-key-object.ts";
import type { PolicyBinding } from "../../api/policy-binding.ts";
import { isPartial, keyOf, keyText, type ObjectKey } from "../../kube/resource.ts";
import type { Caches } from "../../reconciler/context.ts";
import { defineModule } from "../../reconciler/kind-module.ts";
import { type AccessParts, accessWatches } from "../../resources/access-watches.ts";
import { indexes } from "../../resources/indexes.ts";
import { accountResource } from "../../resources/queue-resources.ts";
import { accountKey, indexedAs } from "../../resources/refs.ts";
import { policyBindingType, serviceAccountType } from "../../resources/resource-types.ts";
import { type AccountRef, createAccountStore } from "./account-store.ts";
import { createAccountBindingsReconciler } from "./reconciler.ts";

/** A service account has one list of policies, so the queue holds ServiceAccounts. */
export const policyBindings = defineModule<PolicyBinding, AccessParts, AccountRef>({
  type: policyBindingType,
  cache: {
    indexes: { [indexes.serviceAccount]: (binding) => indexedAs(accountKey(binding)) },
  },
  watches: (caches, parts) => accessWatches(serviceAccountType, caches, parts),
  queue: (caches) => ({
    store: createAccountStore(caches),
    predicate: () => true,
    isRequest: ({ new: ref }) => ref?.isRequested === true,
    resourceOf: (ref) => accountResource(caches, keyOf(ref)),
    isLarge: (ref) => isLarge(caches, keyOf(ref)),
    isUrgent: (ref) => isRevocationDue(caches, caches.of(serviceAccountType).get(keyOf(ref))),
  }),
  shardKeyObject: (binding, caches) => shardKeyObject(caches, accountKey(binding)) ?? binding,
  reconciler: (context) => createAccountBindingsReconciler(context),
});

/** Whether a run reads the account and its PolicyBindings from the API server, because the caches have them in part. */
function isLarge(caches: Caches, key: ObjectKey): boolean {
  const bindings = caches.of(policyBindingType).byIndex(indexes.serviceAccount, keyText(key));
  const account = caches.of(serviceAccountType).get(key);
  return isPartial(account) || bindings.some(isPartial);
}
