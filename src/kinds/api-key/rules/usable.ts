/** Whether consumers can use the key that the Secret holds. Pure. */
import type { Readiness } from "../../../api/conditions.ts";
import type { Instant } from "../../../util/time.ts";
import { accountInUse } from "./accounts.ts";
import { isDelivered } from "./rendering.ts";
import type { ApiKeySnapshot } from "./snapshot.ts";

/**
 * Whether the Secret holds the current pair, the console has accepted it and has not rejected it or its account since,
 * and it has not expired.
 */
export function isUsable(snapshot: ApiKeySnapshot, now: Instant): boolean {
  const { current } = snapshot.status;
  return (
    endedAccount(snapshot) === undefined &&
    current?.verificationTime !== undefined &&
    now < current.expirationTime &&
    isDelivered(snapshot) &&
    snapshot.rejection?.keyId !== current.keyId
  );
}

/** Why the key does not work although the pair is in order. */
export function endedAccount(snapshot: ApiKeySnapshot): Readiness | undefined {
  const account = accountInUse(snapshot);
  if (account.kind === "Ready" || account.endsKeys !== true) return undefined;
  const { state, reason, message } = account;
  return { state, reason, message };
}
