/**
 * F30: if an answer lacks recorded foreign policies, the operator reads the bindings again before it believes the
 * answer. Otherwise the next PUT would unbind the policies missing from a partial answer. Pure.
 */
import { recordedPolicies } from "../../../accounts/recorded-policies.ts";
import type { LiveBindings } from "../../../console/model.ts";
import { type Instant, SECOND } from "../../../util/time.ts";
import type { UsableSnapshot } from "./evaluate.ts";
import { type PolicySet, sameSet, without } from "./policy-set.ts";
import type { VanishedPolicies } from "./state.ts";
import type { BoundAccount } from "./views.ts";

/** Two equal answers with at least this interval between them are believed. */
export const CONFIRM_MS = 5 * SECOND;

/** The foreign policies missing from an answer; `undefined` if none is missing. */
export function vanishedBy(
  account: BoundAccount,
  live: LiveBindings,
  earlier: VanishedPolicies | undefined,
  now: Instant,
): VanishedPolicies | undefined {
  const ids = missingFrom(account, live);
  if (ids.length === 0) return undefined;
  return earlier !== undefined && sameSet(earlier.ids, ids) ? earlier : { ids, since: now };
}

/** Whether the answer of this run, if there is one, is believed. */
export function isConfirmed({ availability, live, state, now }: UsableSnapshot): boolean {
  const vanished = live && vanishedBy(availability.account, live, state.vanished, now);
  return vanished === undefined || now - vanished.since >= CONFIRM_MS;
}

function missingFrom(
  { foreignPolicies, accessRevoked, ledger }: BoundAccount,
  live: LiveBindings,
): PolicySet {
  return live.readable && foreignPolicies === "Keep" && !accessRevoked
    ? without(recordedPolicies(ledger, "Foreign", "Abandoned"), live.policyIds)
    : [];
}
