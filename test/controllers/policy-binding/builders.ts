/** Views as sentences, for the pure tests. */
import type { DecisionInput } from "../../../src/controllers/policy-binding/rules/decide.ts";
import type {
  BindingView,
  BoundAccount,
} from "../../../src/controllers/policy-binding/rules/views.ts";

export function account(fields: Partial<BoundAccount> = {}): BoundAccount {
  return {
    uid: "sa-uid",
    tpn: "tpn:r1:org-1:prj-1:sa/sa-1",
    orgId: "org-1",
    created: true,
    foreignPolicies: "Keep",
    suspendAccess: false,
    record: { ours: undefined, foreign: [] },
    ...fields,
  };
}

export function recorded(ours: readonly string[], foreign: readonly string[] = []) {
  return { record: { ours, foreign } };
}

export function binding(
  name: string,
  policyIds: readonly string[],
  fields: Partial<BindingView> = {},
): BindingView {
  return {
    uid: `${name}-uid`,
    generation: 1,
    policyIds,
    applied: policyIds,
    stage: "Live",
    hasFinalizer: true,
    deletedAt: undefined,
    suspended: false,
    problem: undefined,
    requestedAt: undefined,
    handledAt: undefined,
    ...fields,
  };
}

export const revoking: Partial<BindingView> = {
  stage: "Revoking",
  deletedAt: "2026-01-01T00:00:00Z",
};
export const releasing: Partial<BindingView> = { ...revoking, stage: "Releasing" };
export const refused: Partial<BindingView> = {
  problem: { reason: "PolicyNotGranted", message: "no" },
};

export function input(
  who: BoundAccount,
  bindings: readonly BindingView[],
  live: readonly string[] | "unreadable",
  isolating = false,
): DecisionInput {
  return {
    account: who,
    bindings,
    live: live === "unreadable" ? { readable: false } : { readable: true, policyIds: live },
    isolating,
  };
}
