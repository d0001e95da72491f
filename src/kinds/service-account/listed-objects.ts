/** The stored objects that a list of accounts is compared with. */

import type { ServiceAccount } from "../../api/service-account.ts";
import { connectionKey } from "../../connections/connection-key.ts";
import type { IamServiceAccount } from "../../console/model.ts";
import { keyOf, type ObjectKey } from "../../kube/resource.ts";
import type { Context } from "../../reconciler/context.ts";
import { indexes } from "../../resources/indexes.ts";
import { isOfOtherCluster } from "../../resources/marker.ts";
import { serviceAccountType } from "../../resources/resource-types.ts";
import { refOf } from "./claims.ts";
import type { ListedObjects } from "./marked-accounts.ts";
import { desiredAccount } from "./rules/desired-account.ts";
import { isInPlace } from "./rules/recovery.ts";
import type { AccountSnapshot } from "./rules/snapshot.ts";

/** `connection` is the usable connection of the list, with its key `place`. */
export function listedObjects(
  place: string,
  connection: AccountSnapshot["connection"],
  { caches, clusterName }: Pick<Context, "caches" | "clusterName">,
): ListedObjects {
  const objects = caches.of(serviceAccountType);
  let created: ReadonlyMap<string, readonly ServiceAccount[]> | undefined;
  const desired = (object: ServiceAccount) =>
    desiredAccount({
      object,
      spec: object.spec ?? {},
      connection,
      clusterName,
      account: object.status?.saId === undefined ? undefined : object.status,
      attempt: object.status?.attempt,
    });
  return {
    isNamed: (saId) => objects.countByIndex(indexes.saId, saId) > 0,
    isUser: (marker) => {
      const user = objects.get(marker);
      return (
        user !== undefined &&
        connectionKey(refOf(user), marker.namespace) === place &&
        !isOfOtherCluster(marker, clusterName)
      );
    },
    namesakesOf: (account: IamServiceAccount): readonly ObjectKey[] => {
      created ??= Map.groupBy(
        objects.byIndex(indexes.connection, place).filter(({ spec }) => spec?.saId === undefined),
        (object) => desired(object).name,
      );
      return (created.get(account.name ?? "") ?? [])
        .filter((object) => isInPlace(account, desired(object)))
        .map(keyOf);
    },
  };
}
