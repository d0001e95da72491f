/** What a PolicyBinding has bound, beside what its spec asks for. Pure. */
import { listed, type PolicySet, sameSet, union, without } from "./policy-set.ts";
import type { BindingView } from "./views.ts";

/** The policies that the spec names, whether they may be bound or not. */
export function declaredBy({ policyIds, refused }: BindingView): PolicySet {
  return union(policyIds, refused);
}

export function isAsDeclared(bound: PolicySet, binding: BindingView): boolean {
  return sameSet(bound, declaredBy(binding));
}

const UNREAD =
  "The console's answer about the bound policies cannot be read: which are bound is unknown.";

/** Sentences for the message of a condition: what is bound, and which of it differs from the spec. */
export function describeBound(bound: PolicySet, binding: BindingView, unread: boolean): string {
  if (unread) return UNREAD;
  const declared = declaredBy(binding);
  const missing = without(binding.policyIds, bound);
  // What an invalid spec names is not known.
  const left = declared.length === 0 ? [] : without(bound, declared);
  return [
    bound.length === 0 ? "Nothing is bound for this object." : `Bound: ${listed(bound)}.`,
    missing.length === 0 ? [] : `Not bound for this object yet: ${listed(missing)}.`,
    left.length === 0 ? [] : `Still bound, and not in spec.policyIds: ${listed(left)}.`,
  ]
    .flat()
    .join(" ");
}
