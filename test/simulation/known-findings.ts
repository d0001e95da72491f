/**
 * Violations that the campaigns find and that are not solved yet, each with what is known of it. The list is to become
 * empty: what is in it is not promised.
 */
import type { Failure } from "./tally.ts";

interface KnownFinding {
  readonly invariant: string;
  readonly scenario: string;
  readonly what: string;
}

export const knownFindings: readonly KnownFinding[] = [
  {
    invariant: "S2 no gap",
    scenario: "key deleted in the console",
    what: "a second factor is demanded about when the key is deleted: the pause after refused logins delays the new key",
  },
  {
    invariant: "S4 issues",
    scenario: "account disabled in the console",
    what: "the console's list of keys is always empty: a key that is rejected because its account was disabled is replaced if a fault delays what tells the two apart",
  },
  {
    invariant: "same end",
    scenario: "policies, by its way",
    what: "after an unanswered syncBindings call, a lagging list and a lost status, a policy of the operator may be reported as foreign",
  },
];

export function isKnown({ order, violations }: Failure): boolean {
  return violations.every(({ invariant }) =>
    knownFindings.some((each) => each.invariant === invariant && each.scenario === order.scenario),
  );
}
