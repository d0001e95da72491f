/** A console client without writes: it notes the calls that would be made and shows their results in later reads. */
import type { PlannedCall } from "../../../api/plan.ts";
import type { Calls, IamClient } from "../../../iam/client/client.ts";
import type { IamReader } from "../../../iam/client/reader.ts";
import type { ExtraOperation } from "../../../iam/endpoints.ts";
import { isIamError } from "../../../iam/errors.ts";
import {
  type BindingSet,
  type IamServiceAccountDetail,
  type KeyIds,
  type LiveBindings,
  type NewKey,
  type NewServiceAccount,
  SECRET_LENGTH,
} from "../../../iam/model.ts";
import { Redacted } from "../../../util/redacted.ts";
import type { PlanLog } from "./plan-log.ts";

const MADE_UP_SECRET = new Redacted("x".repeat(SECRET_LENGTH));

export function overlayConsole(reader: IamReader, plan: PlanLog): IamClient {
  const accounts = new Map<string, IamServiceAccountDetail>();
  const bindings = new Map<string, readonly string[]>();
  const keys = new Set<string | undefined>();
  const client: IamClient = {
    ...reader,
    listServiceAccounts: async (_, signal) => [
      ...(await reader.listServiceAccounts(undefined, signal)),
      ...accounts.values(),
    ],
    getServiceAccount: async (saId, signal) =>
      accounts.get(saId) ?? reader.getServiceAccount(saId, signal),
    listBindings: async (tpn, signal) => {
      const policyIds = bindings.get(tpn);
      return policyIds ? { readable: true, policyIds } : reader.listBindings(tpn, signal);
    },
    searchActions: async (query, signal) =>
      keys.has(query.key?.keyId) ? [] : reader.searchActions(query, signal),
    createServiceAccount: async (account) => {
      const made = toAccount(account);
      accounts.set(made.saId, made);
      bindings.set(made.tpn, []);
      plan.add(creation(account));
      return made;
    },
    issueKey: async (key) => {
      const keyId = `new:${keys.size + 1}`;
      keys.add(keyId);
      plan.add(issuance(key));
      return { keyId, secret: MADE_UP_SECRET };
    },
    syncBindings: async (wanted, signal) => {
      plan.add(await changeOf(wanted, client, signal));
      bindings.set(wanted.tpn, wanted.policyIds);
    },
    ...extraCalls(reader.extraCalls, plan),
    get urgent() {
      return client;
    },
    get requested() {
      return client;
    },
    // The owner of the underlying client closes it.
    close: async () => undefined,
  };
  return client;
}

/** The console chooses the IDs of a new account; these placeholders contain its name. */
function toAccount(account: NewServiceAccount) {
  const saId = `new:${account.name}`;
  const tpn = `tpn:new:sa/${saId}`;
  return { ...account, saId, tpn, status: "active", keyIds: [] };
}

function creation({ name, projectId }: NewServiceAccount): PlannedCall {
  const message = `Creates service account ${name} in project ${projectId}.`;
  return { call: "createServiceAccount", object: name, message };
}

function issuance({ saId, expiresInDays }: NewKey): PlannedCall {
  const message = `Issues a key of service account ${saId} valid for ${expiresInDays} days.`;
  return { call: "issueKey", object: saId, message };
}

/** The changes that replacing the list would cause, as far as the current bindings can be read. */
async function changeOf(
  { tpn, orgId, policyIds }: BindingSet,
  client: IamClient,
  signal: AbortSignal | undefined,
): Promise<PlannedCall> {
  const bound = await readBindings(tpn, client, signal);
  const names = await policyNames(client, orgId, signal);
  const before = bound.readable ? bound.policyIds : [];
  const without = (list: readonly string[], others: readonly string[]) =>
    list.filter((id) => !others.includes(id)).map((id) => names.get(id) ?? id);
  const bind = without(policyIds, before);
  const unbind = without(before, policyIds);
  const parts = [
    bind.length === 0 ? "" : `Binds ${bind.join(", ")}.`,
    unbind.length === 0 ? "" : `Unbinds ${unbind.join(", ")}.`,
    bound.readable ? "" : "Unbinds everything else; the bound policies cannot be read.",
  ];
  const said = parts.filter((part) => part !== "").join(" ");
  const message = said || "Submits the already bound policies.";
  return { call: "syncBindings", object: tpn, message, bind, unbind };
}

/** The call is planned even if the login does not have permission to read the current bindings. */
async function readBindings(
  tpn: string,
  client: IamClient,
  signal: AbortSignal | undefined,
): Promise<LiveBindings> {
  try {
    return await client.listBindings(tpn, signal);
  } catch (error) {
    if (isIamError(error, "PermissionDenied") || isIamError(error, "NotFound"))
      return { readable: false };
    throw error;
  }
}

/**
 * `ID (name)` by ID. Names only make a plan easier to read: without permission to list policies, a plan has only IDs.
 */
async function policyNames(
  client: IamClient,
  orgId: string,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, string>> {
  try {
    const policies = await client.listPolicies({ orgId }, signal);
    return new Map(
      policies.flatMap(({ policyId, name }) => (name ? [[policyId, `${policyId} (${name})`]] : [])),
    );
  } catch (error) {
    if (isIamError(error)) return new Map();
    throw error;
  }
}

function extraCalls(
  offered: ReadonlySet<ExtraOperation>,
  plan: PlanLog,
): Pick<Calls, ExtraOperation> {
  const has = (call: ExtraOperation) => offered.has(call);
  const endKey =
    (call: "disableKey" | "deleteKey") =>
    async ({ saId, keyId }: KeyIds) => {
      const verb = call === "disableKey" ? "Disables" : "Deletes";
      plan.add({
        call,
        object: keyId,
        message: `${verb} key ${keyId} of service account ${saId}.`,
      });
    };
  const deleteServiceAccount = async (saId: string) => {
    const message = `Deletes service account ${saId}.`;
    plan.add({ call: "deleteServiceAccount", object: saId, message });
  };
  return {
    ...(has("disableKey") ? { disableKey: endKey("disableKey") } : {}),
    ...(has("deleteKey") ? { deleteKey: endKey("deleteKey") } : {}),
    ...(has("deleteServiceAccount") ? { deleteServiceAccount } : {}),
  };
}
