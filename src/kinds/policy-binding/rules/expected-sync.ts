/** What a call that a plan announces leads to, by the console's list of policies. Pure. */
import type { IamPolicy } from "../../../console/model.ts";
import type { Sync } from "./changes.ts";
import { evaluate, type UsableSnapshot } from "./evaluate.ts";
import type { PolicySet } from "./policy-set.ts";
import { addedInOtherSpelling, faultyPolicies } from "./refusal.ts";
import { withoutRefused } from "./state.ts";

interface ExpectedSync {
  /** The policies that are bound in the end. */
  readonly policyIds: PolicySet;
  /** Why these are not the policies of the call, or may not be. */
  readonly why: readonly string[];
  /** Policies that the console probably refuses, by the uid of the PolicyBinding. */
  readonly refused?: ReadonlyMap<string, PolicySet>;
}

/** If the list shows a fault in a policy, the console probably refuses the call, and the next call leaves it out. */
export function expectedSync(
  snapshot: UsableSnapshot,
  { policyIds, before, suspects }: Sync,
  policies: readonly IamPolicy[] | undefined,
): ExpectedSync {
  if (snapshot.availability.account.accessRevoked) return { policyIds, why: [] };
  const faulty = faultyPolicies(suspects, before, policies);
  if (faulty.length === 0) {
    const respelled = addedInOtherSpelling({ suspects, before }, policies);
    const why = respelled.map((text) => `Policy ${text}. The console may refuse the call.`);
    return { policyIds, why };
  }
  const refused = new Map(faulty.map((each) => [each.binding.uid, each.policyIds]));
  const problem = { reason: "PolicyRefused", message: "", advice: "" };
  const bindings = snapshot.bindings.map((binding) => {
    const policyIds = refused.get(binding.uid);
    return policyIds === undefined ? binding : withoutRefused(binding, { policyIds, problem });
  });
  const { sync = before } = evaluate({ ...snapshot, bindings }).decision;
  const faults = faulty.flatMap((each) => each.faults).join("; ");
  return {
    policyIds: sync,
    refused,
    why: [
      `Policy ${faults}. The console probably refuses the call at first; the PolicyBinding that names such a policy is then not ready (PolicyRefused), and loses no policy until it is corrected.`,
    ],
  };
}
