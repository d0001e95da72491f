/** What the queue holds: ServiceAccounts by key, even if they do not exist and only a PolicyBinding names them. */
import { isDeepStrictEqual } from "node:util";
import { findCondition } from "../../api/conditions.ts";
import { API_VERSION } from "../../api/meta.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { type KubeObject, keyOf, keyText, type ObjectKey } from "../../kube/resource.ts";
import type { QueueSource, StoreChange } from "../../kube/store/store.ts";
import type { Caches } from "../../reconciler/context.ts";
import type { ReportedObject } from "../../reconciler/rules/report.ts";
import { indexes } from "../../resources/indexes.ts";
import { accountKey } from "../../resources/refs.ts";
import { policyBindingType, serviceAccountType } from "../../resources/resource-types.ts";
import { ignoreStatusChanges, isRequest } from "../../runtime/predicates.ts";

/** Names a ServiceAccount, which may not exist. The uid is the key, because the reference has only a name. */
export interface AccountRef extends ReportedObject {
  /** Whether a person changed one of the account's objects. */
  readonly isRequested?: boolean;
}

/**
 * The controller reconciles the PolicyBindings of a ServiceAccount together, so it runs over this store. The store
 * holds the key of every account named by a PolicyBinding, whether the account exists or not, of every imported account,
 * and of every account with revoked access or recorded bindings. Other accounts have no known bindings and need none.
 * `isCurrent` is always true: the reconciler itself checks whether the caches have seen its own writes, for all objects
 * that it decides on.
 */
export function createAccountStore(caches: Pick<Caches, "of">): QueueSource<AccountRef> {
  const serviceAccounts = caches.of(serviceAccountType);
  const policyBindings = caches.of(policyBindingType);
  const isNamed = (key: ObjectKey) =>
    policyBindings.countByIndex(indexes.serviceAccount, keyText(key)) > 0;
  const isConcerned = (key: ObjectKey) => mayHaveBindings(serviceAccounts.get(key)) || isNamed(key);
  return {
    get synced() {
      return serviceAccounts.synced && policyBindings.synced;
    },
    get: (key) => (isConcerned(key) ? toRef(key) : undefined),
    list: () => {
      const keys = [
        ...serviceAccounts.list().filter(mayHaveBindings).map(keyOf),
        ...policyBindings.list().flatMap((binding) => accountKey(binding) ?? []),
      ];
      return [...new Map(keys.map((key) => [keyText(key), toRef(key)])).values()];
    },
    isCurrent: () => true,
    subscribe: (listener) => {
      const enqueue = (key: ObjectKey | undefined, change: StoreChange<KubeObject>) => {
        if (key === undefined) return;
        const ref = { ...toRef(key), isRequested: isRequest(change) };
        listener({ key, old: undefined, new: ref });
      };
      const stops = [
        serviceAccounts.subscribe((change) => {
          const { key, old } = change;
          if ((mayHaveBindings(old) || isConcerned(key)) && accountMatters(change))
            enqueue(key, change);
        }),
        policyBindings.subscribe((change) => {
          const binding = change.new ?? change.old;
          if (binding !== undefined && ignoreStatusChanges(change))
            enqueue(accountKey(binding), change);
        }),
      ];
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}

function mayHaveBindings(account: ServiceAccount | undefined): boolean {
  const spec: Partial<ServiceAccount["spec"]> | undefined = account?.spec;
  const { bindings, origin } = account?.status ?? {};
  return spec?.access === "Revoked" || bindings !== undefined || origin === "Imported";
}

export function toRef(key: ObjectKey): AccountRef {
  return {
    apiVersion: API_VERSION,
    kind: serviceAccountType.kind,
    metadata: { ...key, uid: keyText(key), resourceVersion: "" },
    spec: {},
  };
}

/** Whether anything changed that the policies depend on. The rest of the status changes more often. */
function accountMatters(change: StoreChange<ServiceAccount>): boolean {
  return (
    ignoreStatusChanges(change) || !isDeepStrictEqual(inputsOf(change.old), inputsOf(change.new))
  );
}

function inputsOf(account: ServiceAccount | undefined): readonly unknown[] {
  const { tpn, orgId, origin, ownership, consoleURL, conditions } = account?.status ?? {};
  const { status, reason } = findCondition(conditions, "Ready") ?? {};
  return [tpn, orgId, origin, ownership, consoleURL, status, reason];
}
