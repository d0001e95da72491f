import type { PolicyState, ServiceAccountStatus } from "../api/service-account.ts";

type Recorded = Pick<NonNullable<ServiceAccountStatus["bindings"]>, "policies">;

/** The policies that an account's status shows as bound; with states, only the policies in one of the states. */
export function recordedPolicies(
  recorded: Readonly<Recorded> | undefined,
  ...states: readonly PolicyState[]
): readonly string[] {
  return (recorded?.policies ?? [])
    .filter(({ state }) => states.length === 0 || states.includes(state))
    .map(({ policyId }) => policyId);
}

/** The policies that the operator has bound. */
export function operatorPolicies(recorded: Readonly<Recorded> | undefined): readonly string[] {
  return recordedPolicies(recorded, "Declared", "Abandoned", "Unrevoked");
}
