/** Imports of accounts: a ServiceAccount of any namespace may have the account already. */
import type { ServiceAccount } from "../../api/service-account.ts";
import type { ResourceType } from "../../kube/resource.ts";
import { connectionType, serviceAccountType } from "../../resources/resource-types.ts";

type Importing = Partial<Pick<ServiceAccount, "spec" | "status">>;

/** Decide in the whole cluster who has an account. */
export const claimTypes: readonly ResourceType[] = [serviceAccountType, connectionType];

/** Whether the object is to import an account that it does not have yet. */
export function isImport({ spec, status }: Importing): boolean {
  return spec?.saId !== undefined && status?.saId === undefined;
}

/** Why it is unknown whether the object gets its account. */
export function doubtOfImport(
  object: Importing,
  isUnlisted: (type: ResourceType) => boolean,
): string | undefined {
  return isImport(object) && claimTypes.some(isUnlisted)
    ? `you do not have permission to list serviceaccounts and connections in all namespaces, and another ServiceAccount may manage account ${object.spec?.saId}`
    : undefined;
}
