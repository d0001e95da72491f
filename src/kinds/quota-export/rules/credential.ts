/** Which credential the operator uses for the listing of an export. Pure. */

import { accountInUse } from "../../../api/account-in-use.ts";
import { type ApiKey, apiKeyKind } from "../../../api/api-key.ts";
import type { ConnectionRef } from "../../../api/fields.ts";
import { parseSpec } from "../../../api/parse-spec.ts";
import { type ServiceAccount, serviceAccountKind } from "../../../api/service-account.ts";

export type Credential =
  | { readonly kind: "Bearer" }
  | { readonly kind: "Key"; readonly apiKey: ApiKey; readonly account: ServiceAccount }
  /** A change of the ApiKey enqueues the export. */
  | { readonly kind: "Waiting"; readonly message: string }
  | { readonly kind: "Mismatch"; readonly message: string };

/**
 * A key is sent only over the connection of its own ServiceAccount. Otherwise a user with permission to create an
 * export and a Connection, but not to read Secrets, could have a key sent to the user's own server.
 */
export function chooseCredential(
  name: string | undefined,
  connectionRef: ConnectionRef,
  apiKey: ApiKey | undefined,
  accountOf: (name: string) => ServiceAccount | undefined,
): Credential {
  if (name === undefined) return { kind: "Bearer" };
  if (apiKey === undefined) return waiting(`ApiKey ${name} does not exist.`);
  const key = parseSpec(apiKeyKind, apiKey);
  if (!key.ok) return waiting(`The spec of ApiKey ${name} is invalid.`);
  // The key in use may belong to another account than the spec names.
  const accountName = accountInUse(apiKey) ?? key.spec.serviceAccountRef.name;
  const account = accountOf(accountName);
  const parsed = account === undefined ? undefined : parseSpec(serviceAccountKind, account);
  if (account === undefined || parsed?.ok !== true) {
    return waiting(`ServiceAccount ${accountName} of ApiKey ${name} is missing or invalid.`);
  }
  const { kind, name: connection } = parsed.spec.connectionRef;
  if (kind !== connectionRef.kind || connection !== connectionRef.name) {
    return {
      kind: "Mismatch",
      message: `ApiKey ${name} belongs to the ${kind} ${connection}: a key is never sent over another connection than its own. Set connectionRef to ${kind} ${connection}.`,
    };
  }
  const { current } = apiKey.status ?? {};
  if (current === undefined) return waiting(`ApiKey ${name} does not have a key yet.`);
  if (current.saId !== undefined && current.saId !== account.status?.saId)
    return waiting(
      `The key of ApiKey ${name} belongs to account ${current.saId}, and ServiceAccount ${accountName} has another account.`,
    );
  return { kind: "Key", apiKey, account };
}

function waiting(message: string): Credential {
  return { kind: "Waiting", message };
}
