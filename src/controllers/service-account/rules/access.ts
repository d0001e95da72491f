/** Reports revoked access of an account. Pure. */
import type { Readiness } from "../../../api/conditions.ts";
import { parseInstant, toIso8601 } from "../../../util/time.ts";
import type { KindCondition } from "../../frame/rules/report.ts";
import { isRevocationProven } from "../../revocation-proof.ts";
import { WATCH_MS } from "../../sync-watch.ts";
import type { AccountSnapshot } from "./snapshot.ts";

type Ready = Extract<Readiness, { state: "Ready" }>;
type Revocation = Extract<KindCondition, { reason: string }>;

const TYPE = "AccessRevoked";

const HOW_TO_RESTORE =
  "Set spec.access: Granted to restore access; a leaked key of the account then works again, so revoke it first.";

/** The readiness of an account. If access is revoked, the account stays Ready, and the reason and message report it. */
export function withAccess(ready: Ready, snapshot: AccountSnapshot): Ready {
  const revocation = revocationOf(snapshot);
  if (revocation === undefined) return ready;
  const { reason, message } = revocation;
  return { ...ready, reason, message };
}

/** `kubectl wait --for=condition=AccessRevoked` ends when no policy is bound. Absent while access is granted. */
export function accessConditions(snapshot: AccountSnapshot): readonly KindCondition[] {
  const isKnown = snapshot.account !== undefined;
  return [(isKnown ? revocationOf(snapshot) : undefined) ?? { type: TYPE }];
}

function revocationOf({
  spec,
  object,
}: Pick<AccountSnapshot, "spec" | "object">): Revocation | undefined {
  if (spec.access !== "Revoked") return undefined;
  const { bindings } = object.status ?? {};
  const { policyCount, emptiedTime, confirmationTime, unansweredSync } = bindings ?? {};
  if (policyCount !== 0 || !isRevocationProven(bindings)) {
    const bound =
      policyCount === undefined || policyCount === 0
        ? ""
        : ` Policies that were bound when last read: ${policyCount}.`;
    return {
      type: TYPE,
      status: "False",
      reason: "RevokingAccess",
      message: `Access is being revoked.${bound} ${HOW_TO_RESTORE}`,
    };
  }
  const revoked =
    confirmationTime === undefined
      ? `Access is revoked: the console accepted an empty list of policies${at(emptiedTime)}.`
      : `Access is revoked, confirmed by a read${at(confirmationTime)}.`;
  const givenUp = parseInstant(unansweredSync?.time);
  const watched =
    givenUp === undefined
      ? ""
      : ` An earlier syncBindings call had no usable response and may still take effect: the bindings are read at short intervals until ${toIso8601(givenUp + WATCH_MS)}.`;
  return {
    type: TYPE,
    status: "True",
    reason: "AccessRevoked",
    message: `${revoked}${watched} ${HOW_TO_RESTORE}`,
  };
}

function at(time: string | undefined): string {
  return time === undefined ? "" : ` at ${time}`;
}
