import { originOf } from "../../connections/connection-origin.ts";
import type { IamServiceAccount } from "../../console/model.ts";
import type { Caches, Connections, WithClient } from "../../reconciler/context.ts";
import { nameOfInvented } from "../../reconciler/plan/invented.ts";
import { serviceAccountType } from "../../resources/resource-types.ts";

/** Connections whose consoles also list the accounts that earlier plans create: their names are in use. */
export function listingPlanned(
  connections: Connections<WithClient>,
  caches: Pick<Caches, "of">,
): Connections<WithClient> {
  return {
    resolve: async (ref, namespace) => {
      const found = await connections.resolve(ref, namespace);
      if (!found.ok) return found;
      const { client, spec } = found.access;
      const listServiceAccounts: typeof client.listServiceAccounts = async (...request) => [
        ...(await client.listServiceAccounts(...request)),
        ...plannedAccounts(caches, originOf(spec.baseURL)),
      ];
      return { ok: true, access: { ...found.access, client: { ...client, listServiceAccounts } } };
    },
  };
}

function plannedAccounts(
  caches: Pick<Caches, "of">,
  origin: string | undefined,
): readonly IamServiceAccount[] {
  return caches
    .of(serviceAccountType)
    .list()
    .flatMap(({ status: { saId = "", consoleURL, orgId, projectId } = {} }) => {
      const name = nameOfInvented(saId);
      if (name === undefined || consoleURL !== origin) return [];
      return [{ saId, name, ...(orgId && { orgId }), ...(projectId && { projectId }) }];
    });
}
