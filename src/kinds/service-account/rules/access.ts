/** Reports revoked access of an account. Pure. */

import { isRevocationProven, isRevocationSubmitted } from "../../../accounts/revocation-proof.ts";
import { WATCH_MS } from "../../../accounts/sync-watch.ts";
import type { Readiness } from "../../../api/conditions.ts";
import type { ServiceAccountStatus } from "../../../api/service-account.ts";
import type { KindCondition } from "../../../reconciler/rules/report.ts";
import { parseInstant, toIso8601 } from "../../../util/time.ts";
import { ownershipOf } from "./ownership.ts";
import type { AccountSnapshot } from "./snapshot.ts";

type Ready = Extract<Readiness, { state: "Ready" }>;
type Revocation = Extract<KindCondition, { reason: string }>;

const TYPE = "AccessRevoked";

const HOW_TO_RESTORE =
  "Set spec.access: Granted to restore access; a leaked key of the account then works again, so revoke it first.";

const STATES = { True: "Ready", False: "Reconciling", Unknown: "Unknown" } as const;

/** The readiness of an account that is in order: if its access is to be revoked, whether that is proven. */
export function withAccess(ready: Ready, snapshot: AccountSnapshot): Readiness {
  const revocation = revocationOf(snapshot);
  if (revocation === undefined) return ready;
  const { status, reason, message } = revocation;
  return { state: STATES[status], reason, message };
}

/**
 * `kubectl wait --for=condition=AccessRevoked` ends when no policy is bound, or the console no longer has the account.
 * Absent while access is granted.
 */
export function accessConditions(snapshot: AccountSnapshot): readonly KindCondition[] {
  const isKnown = snapshot.account !== undefined;
  return [(isKnown ? revocationOf(snapshot) : undefined) ?? { type: TYPE }];
}

function revocationOf(snapshot: AccountSnapshot): Revocation | undefined {
  const { account, spec, object } = snapshot;
  if (spec.access !== "Revoked") return undefined;
  if (ownershipOf(snapshot) === "Gone")
    return {
      type: TYPE,
      status: "True",
      reason: "ServiceAccountGone",
      message: `The console no longer has service account ${account?.saId}, so no policy is bound to it.`,
    };
  const { bindings } = object.status ?? {};
  const { policyCount, revocation, revocationNotAppliedTime: since } = bindings ?? {};
  const watched = watchedCall(bindings);
  if (isRevocationProven(bindings))
    return {
      type: TYPE,
      status: "True",
      reason: "AccessRevoked",
      message: `Access is revoked, confirmed by a read${at(revocation?.time)}.${watched} ${HOW_TO_RESTORE}`,
    };
  if (policyCount === 0 && isRevocationSubmitted(bindings))
    return {
      type: TYPE,
      status: "Unknown",
      reason: "SyncUnconfirmed",
      message: `The console accepted an empty list of policies${at(revocation?.time)}. Its answer about the bound policies cannot be read: whether policies are still bound is unknown. Check it in the console.${watched} ${HOW_TO_RESTORE}`,
    };
  const bound =
    policyCount === undefined || policyCount === 0
      ? ""
      : ` Policies that were bound when last read: ${policyCount}.`;
  const [reason, state] =
    since === undefined
      ? ["RevokingAccess", "Access is being revoked."]
      : [
          "ChangeNotApplied",
          `The console answers syncBindings with success, but reads since ${since} show that policies are still bound. The call is repeated.`,
        ];
  return {
    type: TYPE,
    status: "False",
    reason,
    message: `${state}${bound}${watched} ${HOW_TO_RESTORE}`,
  };
}

/** The text about a call that can still take effect; empty if there is no such call. */
function watchedCall(bindings: ServiceAccountStatus["bindings"]): string {
  const givenUp = parseInstant(bindings?.unansweredSync?.time);
  return givenUp === undefined
    ? ""
    : ` An earlier syncBindings call had no usable response and may still take effect: the bindings are read at short intervals until ${toIso8601(givenUp + WATCH_MS)}.`;
}

function at(time: string | undefined): string {
  return time === undefined ? "" : ` at ${time}`;
}
