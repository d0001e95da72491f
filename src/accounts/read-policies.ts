import type { IamReader } from "../console/client/reader.ts";
import { isIamError } from "../console/errors.ts";
import type { IamPolicy } from "../console/model.ts";

/** The organization's policies, to name what a call is about; `undefined` if the console does not list them. */
export async function readPolicies(
  console: Pick<IamReader, "listPolicies">,
  orgId: string,
  signal: AbortSignal,
): Promise<readonly IamPolicy[] | undefined> {
  try {
    return await console.listPolicies({ orgId }, signal);
  } catch (error) {
    if (isIamError(error)) return undefined;
    throw error;
  }
}
