/** What a deletion does at the console. */
import type { IamClient } from "../../../iam/client/client.ts";
import { isIamError } from "../../../iam/errors.ts";
import { lookUpAccount } from "../../look-up-account.ts";

/** Call 8. A 404 may be a gateway's: it counts once the console says that nothing is bound, or says it again. */
export async function revokePolicies(
  client: IamClient,
  { tpn, orgId }: { readonly tpn: string; readonly orgId: string },
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.syncBindings({ tpn, orgId, policyIds: [] }, signal);
  } catch (error) {
    if (!isIamError(error, "NotFound") || (await hasBindings(client, tpn, signal))) throw error;
  }
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

/** An account that was deleted before answers 404, and so does a path that the connection names wrongly. */
export async function deleteAccount(
  client: IamClient,
  saId: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.extra.deleteServiceAccount?.(saId, signal);
  } catch (error) {
    if (!isIamError(error, "NotFound")) throw error;
    if ((await lookUpAccount(client, saId, signal)) !== undefined) throw error;
  }
}
