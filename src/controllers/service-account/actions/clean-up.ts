/** Console calls of a deletion. */
import type { IamClient } from "../../../iam/client/client.ts";
import { IamError, isIamError } from "../../../iam/errors.ts";
import { lookUpAccount } from "../../look-up-account.ts";
import type { AccountAction } from "../rules/snapshot.ts";

/**
 * Calls syncBindings. A 404 may come from a gateway: it counts as success only if listBindings then shows no policies
 * or also returns 404.
 */
export async function revokePolicies(
  client: IamClient,
  { tpn, orgId, only }: Revocation,
  signal: AbortSignal,
): Promise<void> {
  try {
    const policyIds = only === undefined ? [] : await othersBound(client, tpn, only, signal);
    if (policyIds !== undefined) await client.syncBindings({ tpn, orgId, policyIds }, signal);
  } catch (error) {
    if (!isIamError(error, "NotFound") || (await hasBindings(client, tpn, signal))) throw error;
  }
}

type Revocation = Omit<Extract<AccountAction, { kind: "RevokePolicies" }>, "kind">;

/** Policies bound in addition to `policyIds`; `undefined` if none of `policyIds` is bound. */
async function othersBound(
  client: IamClient,
  tpn: string,
  policyIds: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const live = await client.listBindings(tpn, signal);
  if (!live.readable)
    throw new IamError("MalformedResponse", "listBindings: the response cannot be read", {
      operation: "listBindings",
    });
  const others = live.policyIds.filter((id) => !policyIds.includes(id));
  return others.length === live.policyIds.length ? undefined : others;
}

async function hasBindings(client: IamClient, tpn: string, signal: AbortSignal): Promise<boolean> {
  try {
    const live = await client.listBindings(tpn, signal);
    return live.readable && live.policyIds.length > 0;
  } catch (error) {
    if (isIamError(error, "NotFound")) return false;
    throw error;
  }
}

/**
 * A 404 counts as success only if the console no longer has the account: a wrong path in the connection also returns
 * 404.
 */
export async function deleteAccount(
  client: IamClient,
  saId: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.deleteServiceAccount?.(saId, signal);
  } catch (error) {
    if (!isIamError(error, "NotFound")) throw error;
    if ((await lookUpAccount(client, saId, signal)) !== undefined) throw error;
  }
}
