/** Views as sentences, for the pure tests. */
import { FINALIZER } from "../../../../src/api/meta.ts";
import type { PolicyBinding } from "../../../../src/api/policy-binding.ts";
import type { PolicyState, ServiceAccount } from "../../../../src/api/service-account.ts";
import { toRef } from "../../../../src/kinds/policy-binding/account-store.ts";
import type { DecisionInput } from "../../../../src/kinds/policy-binding/rules/decide.ts";
import {
  isUsable,
  type UsableSnapshot,
} from "../../../../src/kinds/policy-binding/rules/evaluate.ts";
import type { LedgerPolicy } from "../../../../src/kinds/policy-binding/rules/ledger.ts";
import type { BindingsSnapshot } from "../../../../src/kinds/policy-binding/rules/snapshot.ts";
import { stateOf } from "../../../../src/kinds/policy-binding/rules/state.ts";
import type {
  BindingView,
  BoundAccount,
} from "../../../../src/kinds/policy-binding/rules/views.ts";
import { toIso8601 } from "../../../../src/util/time.ts";

export function account(fields: Partial<BoundAccount> = {}): BoundAccount {
  return {
    uid: "sa-uid",
    tpn: "tpn:r1:org-1:prj-1:sa/sa-1",
    orgId: "org-1",
    created: true,
    foreignPolicies: "Keep",
    accessRevoked: false,
    describedCluster: undefined,
    ledger: { isComplete: false, policies: [] },
    revocationSubmitted: false,
    withdrawn: [],
    ...fields,
  };
}

export function inState(state: PolicyState, ids: readonly string[]): LedgerPolicy[] {
  return ids.map((policyId) => ({ policyId, state }));
}

export function recorded(declared: readonly string[], foreign: readonly string[] = []) {
  const policies = [...inState("Declared", declared), ...inState("Foreign", foreign)];
  return { ledger: { isComplete: true, policies }, revocationSubmitted: true };
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
    refused: [],
    applied: policyIds,
    stage: "Live",
    hasFinalizer: true,
    blockedSince: undefined,
    suspended: false,
    ignored: false,
    retainRefused: false,
    problem: undefined,
    requestedAt: undefined,
    handledAt: undefined,
    ...fields,
  };
}

export const revoking: Partial<BindingView> = {
  stage: "Revoking",
};
export const releasing: Partial<BindingView> = { ...revoking, stage: "Releasing" };

/** A PolicyBinding with policies that may not be bound. */
export function refusing(refused: readonly string[]): Partial<BindingView> {
  if (refused.length === 0) return {};
  const message = `No ${refused.join(" ")}.`;
  return { refused, problem: { reason: "PolicyNotGranted", message, advice: "Ask." } };
}

export const listOf = (ids: string) => ids.split(" ").filter((id) => id !== "");
const words = {
  suspended: { suspended: true },
  new: { hasFinalizer: false },
  revoking,
  releasing,
};

/**
 * `p1 p2! suspended, on record: p1`: what the spec names, with a mark where it may not be bound, what the object is
 * like, and what it has bound if not the same.
 */
export function bindingOf(text: string, index = 0): BindingView {
  const [said = "", applied] = text.split(", on record: ");
  const named = listOf(said).filter((word) => !Object.hasOwn(words, word));
  const ids = named.filter((id) => !id.endsWith("!"));
  const refused = named.filter((id) => id.endsWith("!")).map((id) => id.slice(0, -1));
  const fields = listOf(said).map((word) => words[word as keyof typeof words]);
  const had = listOf(said).includes("new") ? [] : [...ids, ...refused];
  const onRecord = applied === undefined ? had : listOf(applied);
  return binding(
    `${index}`,
    ids,
    Object.assign({ applied: onRecord, ...refusing(refused) }, ...fields),
  );
}

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
    unanswered: [],
  };
}

export const NOW = Date.UTC(2026, 0, 1);

/** A snapshot of a usable account whose stored PolicyBindings say what the views do. */
export function snapshot(
  who: BoundAccount,
  bindings: readonly BindingView[],
  fields: Partial<BindingsSnapshot> = {},
): BindingsSnapshot {
  const { isComplete, policies } = who.ledger;
  const lastSyncTime = toIso8601(NOW);
  const record = { policies, policyCount: policies.length, lastSyncTime };
  const serviceAccount = {
    metadata: { namespace: "team-a", name: "ci-bot", uid: who.uid, resourceVersion: "1" },
    status: isComplete ? { bindings: record } : {},
  } as unknown as ServiceAccount;
  return {
    object: toRef({ namespace: "team-a", name: "ci-bot" }),
    source: "Caches",
    now: NOW,
    account: serviceAccount,
    availability: {
      kind: "Usable",
      account: who,
    },
    session: 0,
    bindings,
    objects: new Map(bindings.map((each) => [each.uid, stored(each)])),
    live: undefined,
    state: stateOf(undefined, serviceAccount, NOW),
    ...fields,
  };
}

/** The same, with PolicyBindings as `bindingOf` reads them. */
export function usable(
  fields: Partial<BoundAccount>,
  texts: readonly string[],
  more: Partial<BindingsSnapshot> = {},
): UsableSnapshot {
  const given = snapshot(account(fields), texts.map(bindingOf), more);
  if (!isUsable(given)) throw new Error("the account is usable");
  return given;
}

/** What the console answers in this run. */
export const live = (ids: string) =>
  ({ live: { readable: true, policyIds: listOf(ids) } }) as const;
export const unreadable = { live: { readable: false } } as const;

export function stored({ uid, applied, hasFinalizer, stage }: BindingView): PolicyBinding {
  return {
    metadata: {
      name: uid,
      uid,
      resourceVersion: "7",
      finalizers: hasFinalizer ? [FINALIZER] : [],
      ...(stage === "Live" ? {} : { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    },
    status: { appliedPolicyIds: [...applied] },
  } as unknown as PolicyBinding;
}
