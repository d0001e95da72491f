import type { IamClient } from "../console/client/client.ts";
import { IamError, type IamErrorCode, isIamError } from "../console/errors.ts";
import type { IamServiceAccount, IamServiceAccountDetail } from "../console/model.ts";

/** After these errors of listServiceAccounts, it is unknown which accounts the console has. */
const UNLISTED: ReadonlySet<IamErrorCode> = new Set(["MalformedResponse", "PermissionDenied"]);

/**
 * getServiceAccount; `undefined` if the console does not know the account. A 404 may also come from a gateway that
 * knows no accounts, and a deleted account has serious consequences. So the 404 counts only if the console's list
 * (listServiceAccounts) can be read and does not contain the account either. Otherwise, the promise rejects with
 * Unavailable. It rejects with MalformedResponse if the answer is about a different account.
 */
export async function lookUpAccount(
  client: Pick<IamClient, "getServiceAccount" | "listServiceAccounts">,
  saId: string,
  signal: AbortSignal,
): Promise<IamServiceAccountDetail | undefined> {
  const detail = await client.getServiceAccount(saId, signal);
  if (detail !== undefined && detail.saId !== saId) throw otherAccount();
  if (detail !== undefined) return detail;
  const listing = await listAccounts(client, signal);
  if (!listing.some((account) => account.saId === saId)) return undefined;
  throw contradiction("though it lists that account");
}

async function listAccounts(
  client: Pick<IamClient, "listServiceAccounts">,
  signal: AbortSignal,
): Promise<readonly IamServiceAccount[]> {
  try {
    return await client.listServiceAccounts(undefined, signal);
  } catch (error) {
    if (isIamError(error, "NotFound"))
      throw contradiction("and does not serve the list of accounts");
    if (isIamError(error) && UNLISTED.has(error.code))
      throw contradiction(`and its accounts cannot be listed: ${error.message}`);
    throw error;
  }
}

function otherAccount(): IamError {
  const message = "getServiceAccount: the console answered about another account";
  return new IamError("MalformedResponse", message, { operation: "getServiceAccount" });
}

function contradiction(what: string): IamError {
  const message = `getServiceAccount: the console answered 404 ${what}`;
  return new IamError("Unavailable", message, { operation: "getServiceAccount", status: 404 });
}
