/** The possible causes of a 403, in the order of the checks in the console's documentation. Pure. */
import type { IamError } from "../../../console/errors.ts";
import { withRequestId } from "../../../reconciler/rules/failure.ts";
import type { Credential } from "./credential.ts";

export function explainDenial(error: IamError, credential: Credential): string {
  const denial = withRequestId(`The console denied the listing: ${error.message}`, error);
  return `${denial}. ${findings(credential).join(" ")}`;
}

function findings(credential: Credential): readonly string[] {
  if (credential.kind !== "Key") {
    return ["The connection's user needs a policy that allows listing resource quotas."];
  }
  const { apiKey, account } = credential;
  const { saId = "unknown", bindings } = account.status ?? {};
  const count = bindings?.policyCount;
  return [
    count === undefined
      ? `1. Whether any policy is bound to account ${saId} is not known: no PolicyBinding of it was synced yet.`
      : count === 0
        ? `1. No policy is bound to account ${saId}: create a PolicyBinding.`
        : `1. Account ${saId} has ${count} ${count === 1 ? "policy" : "policies"} bound.`,
    ...(count === 0
      ? []
      : ["2. Check that one of them allows listing resource quotas and that none denies it."]),
    `3. Key ${apiKey.status?.current?.keyId ?? ""} was issued for that account.`,
    "4. This call ignores the partition header.",
  ];
}
