/** From what was seen to what is done: readonly actions, in the order in which they are safe. Pure. */
import { type Decision, decide, isActive, type Seen } from "./decide.ts";
import type { PolicySet } from "./policy-set.ts";
import { contains, sameSet, union } from "./policy-set.ts";
import type { AccountView, BindingView } from "./view.ts";

export type Cause = "WishChanged" | "DriftFound" | "AccessSuspended";

export type Action =
  /** Before anything is bound, so that a deletion cannot overtake the revocation. */
  | { readonly kind: "AddFinalizer"; readonly uid: string; readonly because: Cause }
  /** Before the PUT, so that a crash leaves no policy that nobody accounts for (S11). */
  | {
      readonly kind: "RecordIntent";
      readonly uid: string;
      readonly policyIds: PolicySet;
      readonly because: Cause;
    }
  | {
      readonly kind: "SyncBindings";
      readonly tpn: string;
      readonly orgId: string;
      readonly policyIds: PolicySet;
      readonly because: Cause;
    }
  /** Only after the PUT that revoked what the object had bound. */
  | { readonly kind: "RemoveFinalizer"; readonly uid: string; readonly because: Stage };

type Stage = "Revoked" | "Released";

/** Actions in two groups: the outcome is recorded between them. */
export interface Plan {
  readonly before: readonly Action[];
  readonly after: readonly Action[];
}

export const NOTHING: Plan = { before: [], after: [] };

/** Whether carrying out the plan changes anything anywhere. */
export function isIdle({ before, after }: Plan): boolean {
  return before.length === 0 && after.length === 0;
}

/** At most one SyncBindings. */
export function plan(seen: Seen, decision: Decision, because: Cause): Plan {
  if (decision.hold !== undefined)
    return { before: [], after: letGo(seen.bindings, ["Releasing"]) };
  const { account, bindings } = seen;
  const { tpn, orgId } = account;
  return {
    before: [
      ...preparations(account, bindings, decision, because),
      ...(decision.sync === undefined
        ? []
        : [
            {
              kind: "SyncBindings",
              tpn,
              orgId,
              policyIds: decision.sync,
              because: account.suspendAccess ? "AccessSuspended" : because,
            } as const,
          ]),
    ],
    after: letGo(bindings, ["Revoking", "Releasing"]),
  };
}

/** Takes our finalizer off the objects in these stages. */
export function letGo(
  bindings: readonly BindingView[],
  stages: readonly BindingView["stage"][],
): readonly Action[] {
  return bindings
    .filter(({ held, stage }) => held && stages.includes(stage))
    .map(({ uid, stage }) => ({
      kind: "RemoveFinalizer",
      uid,
      because: stage === "Revoking" ? "Revoked" : "Released",
    }));
}

/** Finalizer and intent of every object whose wish is about to be bound or is found bound. */
function preparations(
  account: AccountView,
  bindings: readonly BindingView[],
  { postponed }: Decision,
  because: Cause,
): readonly Action[] {
  if (account.suspendAccess) return [];
  const taking = bindings.filter((one) => isActive(one) && !postponed.has(one.uid));
  return [
    ...taking
      .filter(({ held }) => !held)
      .map(({ uid }) => ({ kind: "AddFinalizer", uid, because }) as const),
    ...taking
      .filter(({ applied, policyIds }) => !contains(applied, policyIds))
      .map(
        ({ uid, applied, policyIds }) =>
          ({
            kind: "RecordIntent",
            uid,
            policyIds: union(applied, policyIds),
            because,
          }) as const,
      ),
  ];
}

/**
 * Whether the record alone cannot answer for the console: something is to change, or the record does not
 * cover what was intended, or something is to be revoked.
 */
export function mustAsk(seen: Seen): boolean {
  const { account, bindings } = seen;
  const active = bindings.filter(isActive);
  if (account.record.ours === undefined) {
    const revoking = bindings.some((one) => one.stage === "Revoking" && one.applied.length > 0);
    return active.length > 0 || account.suspendAccess || revoking;
  }
  const decision = decide(seen);
  if (decision.sync !== undefined || decision.postponed.size > 0) return true;
  if (!account.suspendAccess && !sameSet(decision.ours, account.record.ours)) return true;
  return bindings.some(
    ({ stage, applied }) => stage === "Revoking" && !contains(decision.ours, applied),
  );
}
