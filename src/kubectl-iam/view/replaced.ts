/** What is left of an account that another ServiceAccount replaces, once it is gone or its access is revoked. Pure. */
import { accountInUse } from "../../api/account-in-use.ts";
import { annotations } from "../../api/meta.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { isGone } from "../cluster/bound-policies.ts";
import { type AnyObject, type Named, nameOf } from "../cluster/kinds.ts";
import type { World } from "../cluster/read.ts";
import { belongsTo } from "../cluster/relations.ts";
import { isRevoked } from "../cluster/revocation.ts";
import { accountOf } from "./named-commands.ts";

/** The advice to delete the account, or its PolicyBinding; `undefined` while the replacement is not complete. */
export function adviceOnReplaced(object: AnyObject, world: World): string | undefined {
  const former = object.kind === "PolicyBinding" ? accountOf(object) : object;
  if (former?.kind !== "ServiceAccount" || !isOver(former, world)) return undefined;
  const successor = world.serviceAccounts.find((account) => replaces(account, former));
  if (successor === undefined || isUsed(former, world)) return undefined;
  const bindings = bindingsOf(former, world);
  const bound = new Set(bindingsOf(successor, world).flatMap(({ spec }) => spec.policyIds));
  if (!bindings.every(({ spec }) => spec.policyIds.every((id) => bound.has(id)))) return undefined;
  const valid = object === former ? keyListedAsValid(former, world) : undefined;
  if (valid !== undefined) return valid;
  const left = object === former ? [...bindings.map(nameOf), nameOf(object)] : [nameOf(object)];
  return `Delete what ${nameOf(successor)} replaces: kubectl delete ${left.join(" ")} -n ${object.metadata.namespace}`;
}

/** A key of the account that the operator still has to revoke, for which it needs the ServiceAccount. */
function keyListedAsValid(former: Named, { apiKeys }: World): string | undefined {
  const { name, namespace } = former.metadata;
  for (const apiKey of apiKeys.filter(({ metadata }) => metadata.namespace === namespace)) {
    const key = apiKey.status?.superseded?.find(
      ({ serviceAccount, state }) => serviceAccount === name && state === "Live",
    );
    if (key !== undefined)
      return `Wait with its deletion until ${nameOf(apiKey)} no longer lists its key ${key.keyId} as Live, or revoke the key in the console.`;
  }
  return undefined;
}

/** Whether the ServiceAccount does not exist, its account was deleted in the console, or its access is revoked. */
function isOver(former: Named, { serviceAccounts }: World): boolean {
  const account = serviceAccounts.find((each) => isSame(each, former));
  return account === undefined || isGone(account) || isRevoked(account);
}

function isSame({ metadata }: Pick<Named, "metadata">, other: Named): boolean {
  return metadata.name === other.metadata.name && metadata.namespace === other.metadata.namespace;
}

function replaces({ metadata }: ServiceAccount, former: Named): boolean {
  const name = metadata.annotations?.[annotations.replaces];
  return name !== undefined && isSame({ metadata: { ...metadata, name } }, former);
}

function isUsed(former: Named, { apiKeys }: World): boolean {
  const { name, namespace } = former.metadata;
  return apiKeys.some(
    (key) =>
      belongsTo(key, former) ||
      (key.metadata.namespace === namespace && accountInUse(key) === name),
  );
}

function bindingsOf(account: Pick<Named, "metadata">, { policyBindings }: World) {
  return policyBindings.filter((binding) => belongsTo(binding, account));
}
