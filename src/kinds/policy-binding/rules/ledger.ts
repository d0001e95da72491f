/** Who answers for each policy of an account, according to `status.bindings` of the ServiceAccount (S11). Pure. */
import { operatorPolicies } from "../../../accounts/recorded-policies.ts";
import type { PolicyState, ServiceAccountStatus } from "../../../api/service-account.ts";
import { type PolicySet, union } from "./policy-set.ts";

type Recorded = NonNullable<ServiceAccountStatus["bindings"]>;

/** One policy has one state. */
export type LedgerPolicy = NonNullable<Recorded["policies"]>[number];

export interface Ledger {
  /** Whether the ledger has every bound policy: a sync has finished, and its record is not lost. */
  readonly isComplete: boolean;
  readonly policies: LedgerPolicy[];
}

/** IDs as they were submitted, and the console's spellings if they differ. */
export type Spellings = ReadonlyMap<string, string>;

export function readLedger(bindings: Recorded | undefined): Ledger {
  return {
    isComplete: bindings?.lastSyncTime !== undefined,
    policies: bindings?.policies ?? [],
  };
}

export function recordedSpellings({ policies }: Ledger): Spellings {
  return new Map(
    policies.flatMap(({ policyId, consoleSpelling }) =>
      consoleSpelling === undefined ? [] : [[policyId, consoleSpelling]],
    ),
  );
}

/** The other way round: by the submitted ID. */
export function bySubmitted(spellings: ReadonlyMap<string, string>): Spellings {
  return new Map([...spellings].map(([stored, id]) => [id, stored]));
}

/**
 * The next policies of the ledger: PolicyBindings declare `ours`, and `unrevoked` are still to be unbound. While it stays
 * bound, a policy that the operator has bound never becomes foreign.
 */
export function nextPolicies(
  ledger: Ledger,
  { bound, ours }: { readonly bound: PolicySet; readonly ours: PolicySet },
  unrevoked: PolicySet,
  spellings: Spellings,
): LedgerPolicy[] {
  const known = operatorPolicies(ledger);
  const stateOf = (policyId: string): PolicyState => {
    if (ours.includes(policyId)) return "Declared";
    if (unrevoked.includes(policyId)) return "Unrevoked";
    return known.includes(policyId) ? "Abandoned" : "Foreign";
  };
  return union(ours, bound).map((policyId) => {
    const consoleSpelling = spellings.get(policyId);
    return { policyId, state: stateOf(policyId), ...(consoleSpelling && { consoleSpelling }) };
  });
}
