/** What the PolicyBindings of an account say after a run. Pure. */
import type { Readiness } from "../../../api/conditions.ts";
import type { PolicyBinding, PolicyBindingStatus } from "../../../api/policy-binding.ts";
import { MINUTE, toIso8601 } from "../../../util/time.ts";
import type { Outcome } from "../../frame/rules/outcome.ts";
import type { ObjectReport, Report, StatusCache } from "../../frame/rules/report.ts";
import { policyBindingType } from "../../resource-types.ts";
import { untilAsked } from "./asking.ts";
import { type Choice, choose, hasSay, isUsable } from "./choose.ts";
import { isActive, MAX_POLICIES } from "./decide.ts";
import { contains, type PolicySet, sameSet } from "./policy-set.ts";
import { isQuiet } from "./quiet.ts";
import { isStale } from "./schedule.ts";
import type { BindingsProgress, BindingsSnapshot } from "./snapshot.ts";
import type { AccountBindingsState } from "./state.ts";
import { stateAfter } from "./state-after.ts";
import type { BindingView } from "./views.ts";

/** When a revocation that the console refused is tried again: no change of the object is to be expected (L6). */
const REFUSED_REVOCATION_MS = 5 * MINUTE;

/** What a run found out about one PolicyBinding. */
interface Findings {
  readonly readiness: Readiness;
  readonly applied: PolicySet;
  /** Absent where nothing is known about them. */
  readonly foreign?: PolicySet;
  readonly verified?: boolean;
  /** The console was asked, or there was no need to: a request for a new look is fulfilled. */
  readonly handled?: boolean;
}

type FindingsOf = (binding: BindingView, object: PolicyBinding) => Findings;

/** One status for each PolicyBinding that is left; none where nothing new is known. */
export function report(
  cache: StatusCache<PolicyBinding>,
  { snapshot }: BindingsProgress,
  outcome: Outcome,
  current: AccountBindingsState | undefined,
): Report<AccountBindingsState | undefined> {
  const state = stateAfter(snapshot, outcome, current);
  const requeueAfterMs = requeueAfter(snapshot, outcome, state);
  const findingsOf = isQuiet(outcome) ? undefined : finder(snapshot, outcome);
  if (findingsOf === undefined) return { objects: [], state, requeueAfterMs };
  const objects = snapshot.bindings.flatMap((binding): readonly ObjectReport[] => {
    const object = snapshot.objects.get(binding.uid);
    if (object === undefined || (binding.stage !== "Live" && !binding.hasFinalizer)) return [];
    return [toReport(cache, snapshot, binding, object, findingsOf(binding, object))];
  });
  return { objects, state, requeueAfterMs };
}

function finder(snapshot: BindingsSnapshot, outcome: Outcome): FindingsOf | undefined {
  switch (outcome.kind) {
    case "Settled":
      return isUsable(snapshot) ? decided(choose(snapshot)) : undefined;
    case "Failed":
      return undecided(outcome.readiness);
    case "Waiting": {
      const { state, reason, message } = outcome;
      const readiness = { state, reason, message };
      return snapshot.availability.kind === "Missing"
        ? () => ({ readiness, applied: [], foreign: [] })
        : undecided(readiness);
    }
    default:
      return undefined;
  }
}

function decided(choice: Choice): FindingsOf {
  const { decision, verified } = choice;
  return (binding) => ({
    readiness: decidedReadiness(choice, binding),
    applied: decision.shares.get(binding.uid) ?? binding.applied,
    foreign: decision.foreign,
    verified,
    handled: true,
  });
}

/** What has been recorded stays, intents of this run included. */
function undecided(readiness: Readiness): FindingsOf {
  return ({ applied }, { status }) => ({
    readiness,
    applied: status?.appliedPolicyIds ?? applied,
  });
}

function decidedReadiness({ input, decision }: Choice, { uid, policyIds }: BindingView): Readiness {
  const { blocked, postponed } = decision;
  if (blocked !== undefined)
    return { state: blocked.reason === "Contended" ? "Reconciling" : "Stalled", ...blocked };
  if (input.account.suspendAccess)
    return {
      state: "Stalled",
      reason: "AccessSuspended",
      message: "suspendAccess is true on the ServiceAccount: no policy at all is bound to it.",
    };
  if (postponed.has(uid))
    return {
      state: "Reconciling",
      reason: "Syncing",
      message:
        "The console refused a change of the account's policies; its PolicyBindings are tried one by one.",
    };
  return allBound(policyIds);
}

function allBound({ length }: PolicySet): Readiness {
  const message = length === 1 ? "1 policy is bound." : `${length} policies are bound.`;
  return { state: "Ready", reason: "Synced", message };
}

/** What concerns the object itself comes before what concerns its account; a suspended one is in use or not. */
function ownReadiness(
  { suspended, problem, policyIds }: BindingView,
  { readiness, applied }: Findings,
): Readiness {
  if (suspended && contains(applied, policyIds)) return allBound(policyIds);
  if (problem !== undefined) return { state: "Stalled", ...problem };
  return suspended ? { ...readiness, state: "Stalled" } : readiness;
}

function toReport(
  cache: StatusCache<PolicyBinding>,
  { source, now }: BindingsSnapshot,
  binding: BindingView,
  object: PolicyBinding,
  findings: Findings,
): ObjectReport {
  const { applied, foreign, verified = false, handled = false } = findings;
  const {
    observedGeneration,
    conditions: _,
    lastHandledReconcileAt,
    ...status
  } = object.status ?? {};
  const changed =
    !sameSet(status.appliedPolicyIds ?? [], applied) ||
    observedGeneration !== binding.generation ||
    lastHandledReconcileAt !== binding.requestedAt;
  const isSynced = verified && isActive(binding) && (changed || isStale(status.lastSyncTime, now));
  const next: PolicyBindingStatus = {
    ...status,
    appliedPolicyIds: [...applied],
    policyCount: applied.length,
    ...(foreign === undefined ? {} : { foreignPolicyIds: foreign.slice(0, MAX_POLICIES) }),
    ...(isSynced ? { lastSyncTime: toIso8601(now) } : {}),
  };
  return {
    type: policyBindingType,
    cache,
    object,
    status: next,
    readiness: ownReadiness(binding, findings),
    suspended: binding.suspended,
    handledRequest: handled ? binding.requestedAt : undefined,
    // A cache may lack an intent that another process wrote just now: it must not be overwritten (S11).
    write: source === "Server" ? {} : { resourceVersion: object.metadata.resourceVersion },
  };
}

function requeueAfter(
  snapshot: BindingsSnapshot,
  outcome: Outcome,
  state: AccountBindingsState | undefined,
): number | undefined {
  switch (outcome.kind) {
    case "Waiting":
      return outcome.afterMs;
    case "Failed":
      return snapshot.bindings.some(({ stage }) => stage === "Revoking")
        ? REFUSED_REVOCATION_MS
        : undefined;
    default:
      if (!isUsable(snapshot) || state === undefined || !hasSay(snapshot)) return undefined;
      // Postponed objects have their turn at once.
      return choose(snapshot).decision.postponed.size > 0 ? 1 : untilAsked(snapshot, state);
  }
}
