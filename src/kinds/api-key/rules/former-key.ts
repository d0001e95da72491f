/** What is known about the key in use when another key takes its place. Pure. */
import { toIso8601 } from "../../../util/time.ts";
import { accountInUse } from "./accounts.ts";
import type { ApiKeySnapshot } from "./snapshot.ts";
import type { CurrentKey, SupersededKey } from "./status.ts";
import { type ShownEnd, shownEnd } from "./verification.ts";

/** A rejection alone proves too little: without a list, nothing would show that the key works again. */
export function stateOfFormer(snapshot: ApiKeySnapshot): SupersededKey["state"] {
  const shown = shownEnd(snapshot);
  const isEnded = shown === "Unlisted" || shown === "Inactive";
  return isEnded || accountInUse(snapshot).isGone === true ? "Inactive" : "Live";
}

const REJECTED: Readonly<Record<ShownEnd, string>> = {
  Unlisted: " and no longer lists it",
  Inactive: " and lists it as inactive or expired",
  Rejected: "",
};

/** One sentence about a key in use that the console rejects; `undefined` for another key in use. */
export function describeRejection(snapshot: ApiKeySnapshot): string | undefined {
  const shown = shownEnd(snapshot);
  return shown && `The console rejects key ${snapshot.status.current?.keyId}${REJECTED[shown]}.`;
}

/** One sentence about the key in use. Does not claim that it works: nothing was read of it after the issue. */
export function describeFormer(
  { keyId, expirationTime }: CurrentKey,
  snapshot: ApiKeySnapshot,
): string {
  const account = accountInUse(snapshot);
  const rejection = describeRejection(snapshot);
  if (rejection !== undefined) return rejection;
  if (account.kind === "Waiting" && account.endsKeys === true)
    return `Key ${keyId} does not work: ${account.isGone === true ? "the console no longer has its account" : "its account is not active"}.`;
  return account.kind === "Ready" && (account.canDisableKeys || account.canDeleteKeys)
    ? `Key ${keyId} is revoked after the overlap, if its ServiceAccount still exists.`
    : `Key ${keyId} is not revoked; it expires at ${toIso8601(expirationTime)}.`;
}
