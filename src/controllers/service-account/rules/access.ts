/** What is said of an account whose access is revoked. Pure. */
import type { Readiness } from "../../../api/conditions.ts";
import { parseInstant, toIso8601 } from "../../../util/time.ts";
import { WATCH_MS } from "../../sync-watch.ts";
import type { AccountSnapshot } from "./snapshot.ts";

type Ready = Extract<Readiness, { state: "Ready" }>;

const HOW_BACK =
  "Set spec.suspendAccess to false to restore access; a leaked key of the account then works again, so revoke it first.";

/** The readiness of the account, and while `suspendAccess` is true, what is bound to it still. */
export function withAccess(
  ready: Ready,
  { spec, object }: Pick<AccountSnapshot, "spec" | "object">,
): Ready {
  if (!spec.suspendAccess) return ready;
  const { policyCount, lastSyncTime, confirmationTime, unansweredSync } =
    object.status?.bindings ?? {};
  if (policyCount !== 0) {
    const bound =
      policyCount === undefined ? "" : ` ${policyCount} policies were bound when last read.`;
    return {
      ...ready,
      reason: "RevokingAccess",
      message: `Access is being revoked.${bound} ${HOW_BACK}`,
    };
  }
  const revoked =
    confirmationTime === undefined
      ? `Access is revoked: the console accepted an empty list of policies${at(lastSyncTime)}.`
      : `Access is revoked, confirmed by a read${at(confirmationTime)}.`;
  const givenUp = parseInstant(unansweredSync?.time);
  const watched =
    givenUp === undefined
      ? ""
      : ` An earlier syncBindings call had no usable response and may still take effect: the bindings are read at short intervals until ${toIso8601(givenUp + WATCH_MS)}.`;
  return { ...ready, reason: "AccessRevoked", message: `${revoked}${watched} ${HOW_BACK}` };
}

function at(time: string | undefined): string {
  return time === undefined ? "" : ` at ${time}`;
}
