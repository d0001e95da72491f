/** Sets of policy IDs as lists without duplicates, in the order of their first occurrence. */
import { truncateList } from "../../../util/truncate-list.ts";

export type PolicySet = readonly string[];

export function union(...sets: readonly PolicySet[]): PolicySet {
  return [...new Set(sets.flat())];
}

export function without(set: PolicySet, ...others: readonly PolicySet[]): PolicySet {
  const left = new Set(others.flat());
  return set.filter((id) => !left.has(id));
}

export function common(set: PolicySet, other: PolicySet): PolicySet {
  const kept = new Set(other);
  return set.filter((id) => kept.has(id));
}

export function contains(set: PolicySet, subset: PolicySet): boolean {
  return without(subset, set).length === 0;
}

export function sameSet(a: PolicySet, b: PolicySet): boolean {
  return contains(a, b) && contains(b, a);
}

/** Text for messages with at most ten IDs. */
export function listed(set: PolicySet): string {
  return truncateList(set, 10);
}
