import { ACTIONS } from "../actions.ts";
import { iamResource, requirePermission } from "../authorization.ts";
import { type Call, type Endpoint, envelope, list, record } from "../call.ts";
import { homeOrganization } from "../organization.ts";
import { paginate, unpaged } from "../pagination.ts";
import type { AccountRecord } from "../world.ts";
import { accountRecord, keyList } from "./service-account-records.ts";

/** Call 3: the accounts of the caller's organization, oldest first. */
export const listServiceAccounts: Endpoint = (call) => {
  const orgId = homeOrganization(call.principal);
  requirePermission(call, ACTIONS.listServiceAccounts, iamResource(call.world, orgId, "-", "sa/*"));
  const accounts = [...call.world.accounts.values()].filter((account) => account.orgId === orgId);
  const page =
    call.shapes.serviceAccountPaging === "honoured"
      ? paginate(accounts, {
          page: call.query.integer("page", { min: 0, default: 1 }),
          pageSize: call.query.integer("pageSize", { min: 1, max: 1000, default: 20 }),
        })
      : unpaged(accounts);
  const data = page.data.map((account) =>
    accountRecord(call.shapes, account, listedKeys(call, account)),
  );
  switch (call.shapes.serviceAccountList) {
    case "envelope":
      return list({ ...page, data });
    case "items":
      return envelope({ items: data, total: page.pagination.totalCount });
    case "bareArray":
      return record(200, data);
  }
};

function listedKeys({ world, shapes }: Call, { saId }: AccountRecord): unknown {
  switch (shapes.serviceAccountListKeys) {
    case "empty":
      return [];
    case "listed":
      return keyList(world, shapes, saId);
    case "omitted":
      return undefined;
  }
}
