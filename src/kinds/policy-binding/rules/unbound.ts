/**
 * A list may come from a replica that is behind. A policy that the operator has just unbound would look like a foreign
 * policy in that list, and the next PUT would bind it again. Pure.
 */
import { recordedPolicies } from "../../../accounts/recorded-policies.ts";
import type { LiveBindings } from "../../../console/model.ts";
import { type Instant, MINUTE } from "../../../util/time.ts";
import type { DecisionInput } from "./decide.ts";
import { type PolicySet, union, without } from "./policy-set.ts";

/** How long the operator trusts its own call more than a list. */
const BELIEVED_MS = 3 * MINUTE;

export interface UnboundPolicies {
  readonly policyIds: PolicySet;
  /** When the operator last unbound any of these policies. */
  readonly time: Instant;
}

/** The state after a call that replaced `before` with `submitted`. */
export function addUnbound(
  known: UnboundPolicies | undefined,
  before: PolicySet,
  submitted: PolicySet,
  now: Instant,
): UnboundPolicies {
  return { policyIds: without(union(stillBelieved(known, now), before), submitted), time: now };
}

export function stillBelieved(known: UnboundPolicies | undefined, now: Instant): PolicySet {
  return known !== undefined && now < known.time + BELIEVED_MS ? known.policyIds : [];
}

/**
 * The list without policies that the operator has just unbound. Policies that must be unbound, are declared or are
 * recorded as bound stay in the list.
 */
export function withoutUnbound(
  live: LiveBindings,
  { account, bindings, unanswered }: DecisionInput,
  unbound: PolicySet,
): LiveBindings {
  const isTaken = account.accessRevoked || account.foreignPolicies === "Remove";
  if (!live.readable || isTaken) return live;
  const declared = bindings.flatMap(({ policyIds, applied }) => [...policyIds, ...applied]);
  const { ledger, withdrawn } = account;
  const hidden = without(unbound, recordedPolicies(ledger), withdrawn, unanswered, declared);
  return { ...live, policyIds: without(live.policyIds, hidden) };
}
