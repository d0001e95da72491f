/** Views as sentences, for the pure tests. */
import type { Seen } from "../../../src/controllers/policy-binding/decide.ts";
import type { AccountView, BindingView } from "../../../src/controllers/policy-binding/view.ts";

export function account(fields: Partial<AccountView> = {}): AccountView {
  return {
    uid: "sa-uid",
    tpn: "tpn:r1:org-1:prj-1:sa/sa-1",
    orgId: "org-1",
    created: true,
    foreignPolicies: "Keep",
    suspendAccess: false,
    record: { ours: undefined, foreign: [], lastSyncTime: undefined },
    ...fields,
  };
}

export function recorded(ours: readonly string[], foreign: readonly string[] = []) {
  return { record: { ours, foreign, lastSyncTime: "2026-01-01T00:00:00Z" } };
}

export function binding(
  name: string,
  policyIds: readonly string[],
  fields: Partial<BindingView> = {},
): BindingView {
  return {
    uid: `${name}-uid`,
    name,
    generation: 1,
    policyIds,
    applied: policyIds,
    stage: "Live",
    held: true,
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

export function seen(
  who: AccountView,
  bindings: readonly BindingView[],
  live: readonly string[] | "unreadable",
  isolating = false,
): Seen {
  return {
    account: who,
    bindings,
    live: live === "unreadable" ? { readable: false } : { readable: true, policyIds: live },
    isolating,
  };
}
