/**
 * F30: an answer that lacks foreign policies which were there is asked for again before it is believed. A partial
 * answer would otherwise unbind, at the next PUT, what it failed to mention. Pure.
 */
import type { LiveBindings } from "../../../iam/model.ts";
import { type Instant, SECOND } from "../../../util/time.ts";
import { type PolicySet, sameSet, without } from "./policy-set.ts";
import type { VanishedPolicies } from "./state.ts";
import type { BoundAccount } from "./views.ts";

/** Two answers this far apart that agree are believed. */
export const CONFIRM_MS = 5 * SECOND;

/** What is remembered about an answer; `undefined` where it lacks nothing. */
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

export function isConfirmed(vanished: VanishedPolicies | undefined, now: Instant): boolean {
  return vanished === undefined || now - vanished.since >= CONFIRM_MS;
}

function missingFrom(
  { foreignPolicies, accessRevoked, record }: BoundAccount,
  live: LiveBindings,
): PolicySet {
  return live.readable && foreignPolicies === "Keep" && !accessRevoked
    ? without(record.foreign, live.policyIds)
    : [];
}
