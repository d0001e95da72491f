/** The statuses of an account's PolicyBindings after a run. Pure. */
import type { Readiness } from "../../../api/conditions.ts";
import type { PolicyBinding, PolicyBindingStatus } from "../../../api/policy-binding.ts";
import { blocksCleanup } from "../../../reconciler/rules/cleanup.ts";
import { obstacleOf } from "../../../reconciler/rules/obstacle.ts";
import { leavesRequestOpen, type Outcome } from "../../../reconciler/rules/outcome.ts";
import { PLAN_ONLY } from "../../../reconciler/rules/plan-only.ts";
import {
  type ObjectReport,
  ownFields,
  type Report,
  readinessOf as reportedReadiness,
} from "../../../reconciler/rules/report.ts";
import { policyBindingType } from "../../../resources/resource-types.ts";
import { isBeingDeleted } from "../../../util/object-meta.ts";
import { asSubmitted } from "../../../util/spelling.ts";
import { type Instant, MINUTE, toIso8601 } from "../../../util/time.ts";
import { isActive } from "./decide.ts";
import { evaluate, isUsable, managesBindings } from "./evaluate.ts";
import { contains, type PolicySet, sameSet } from "./policy-set.ts";
import { msUntilRead } from "./read-schedule.ts";
import { type Conclusion, readinessOf } from "./readiness.ts";
import { isStale } from "./schedule.ts";
import type { BindingsSnapshot } from "./snapshot.ts";
import type { AccountBindingsState } from "./state.ts";
import { stateAfter } from "./state-after.ts";
import type { BindingView } from "./views.ts";
import { isWithoutReport } from "./without-report.ts";

/** The retry interval of a rejected call: the change that helps may happen in the console (L6). */
const REJECTED_MS = 5 * MINUTE;

/** One status for each remaining PolicyBinding; none if the run learned nothing new. */
export function report(
  snapshot: BindingsSnapshot,
  outcome: Outcome,
  current: AccountBindingsState | undefined,
): Report<AccountBindingsState | undefined> {
  const state = stateAfter(snapshot, outcome, current);
  const requeueAfterMs = requeueAfter(snapshot, outcome, state);
  const conclusion = isWithoutReport(outcome) ? undefined : conclusionOf(snapshot, outcome);
  if (conclusion === undefined) return { objects: [], state, requeueAfterMs };
  const objects = snapshot.bindings.flatMap((binding): readonly ObjectReport[] => {
    const object = snapshot.objects.get(binding.uid);
    if (object === undefined || (binding.stage !== "Live" && !binding.hasFinalizer)) return [];
    return [
      {
        ...toReport(snapshot, binding, object, conclusion, outcome),
        isCleanupBlocked: isCleanupBlocked(object, binding, outcome, conclusion),
      },
    ];
  });
  return { objects, state, requeueAfterMs, isUrgent: hasToUnbind(snapshot) };
}

/** Whether policies have to be unbound, as far as the run knows. */
function hasToUnbind(snapshot: BindingsSnapshot): boolean {
  if (snapshot.bindings.some(({ stage }) => stage === "Revoking")) return true;
  if (!isUsable(snapshot)) return false;
  const { input, decision, before } = evaluate(snapshot);
  const { accessRevoked, revocationSubmitted, withdrawn } = input.account;
  const isRevoking = accessRevoked && !revocationSubmitted;
  return isRevoking || withdrawn.length > 0 || !contains(decision.bound, before);
}

function conclusionOf(snapshot: BindingsSnapshot, outcome: Outcome): Conclusion | undefined {
  return obstacleOf(outcome) ?? (isUsable(snapshot) ? evaluate(snapshot) : undefined);
}

function toReport(
  snapshot: BindingsSnapshot,
  binding: BindingView,
  object: PolicyBinding,
  conclusion: Conclusion,
  outcome: Outcome,
): ObjectReport {
  const status = statusOf(snapshot, binding, object, conclusion);
  const readiness = readinessOf(snapshot, binding, conclusion);
  const suspended = binding.suspended && !isRestricted(snapshot);
  const reported = reportedReadiness({ readiness, suspended });
  const isAnswered = isHandled(snapshot, conclusion, outcome, reported);
  return {
    type: policyBindingType,
    object,
    status,
    readiness,
    suspended,
    handledRequest: isAnswered ? binding.requestedAt : undefined,
    // A cache may lack an intent that another process has just written; the write must not overwrite it (S11).
    write: snapshot.source === "Server" ? {} : { resourceVersion: object.metadata.resourceVersion },
  };
}

/**
 * The console answered, or no call was needed, or the operator only plans, or nothing can be done for the account, or
 * the object reports a failure that only a person ends.
 */
function isHandled(
  { availability }: BindingsSnapshot,
  conclusion: Conclusion,
  outcome: Outcome,
  reported: Readiness,
): boolean {
  if ("decision" in conclusion || conclusion.reason === PLAN_ONLY) return true;
  if (outcome.kind === "Failed")
    return !leavesRequestOpen(outcome) && reported.reason === outcome.readiness.reason;
  return availability.kind === "Unavailable";
}

/**
 * A failure that does not come from the console does not start the deadline of a deletion. A deletion that waits for a
 * person has no deadline.
 */
function isCleanupBlocked(
  binding: PolicyBinding,
  { stage }: BindingView,
  outcome: Outcome,
  conclusion: Conclusion,
): boolean | undefined {
  if (!isBeingDeleted(binding)) return undefined;
  if (stage === "Live") return false;
  if ("decision" in conclusion) return conclusion.decision.blocked !== undefined;
  return outcome.kind !== "Failed" || blocksCleanup(outcome.error) ? true : undefined;
}

function isRestricted({ availability }: BindingsSnapshot): boolean {
  return availability.kind === "Usable" && availability.restriction !== undefined;
}

function statusOf(
  { source, account, availability, now, live, synced }: BindingsSnapshot,
  binding: BindingView,
  { status = {} }: PolicyBinding,
  conclusion: Conclusion,
): PolicyBindingStatus {
  const old = ownFields(status);
  const withPolicies = (applied: PolicySet) => ({
    ...old,
    appliedPolicyIds: [...applied],
    policyCount: applied.length,
  });
  if ("decision" in conclusion) {
    const { shares } = conclusion.decision;
    const share = shares.get(binding.uid) ?? binding.applied;
    const next = withPolicies(share);
    if (conclusion.contendedUntil !== undefined)
      return { ...next, policyCount: countBound(share, conclusion.decision.bound) };
    const isSynced = conclusion.verified && isActive(binding);
    const isCorrected = synced !== undefined && !contains(conclusion.before, share);
    return isSynced && (isCorrected || hasNews(status, next, binding, now))
      ? { ...next, lastSyncTime: toIso8601(now) }
      : next;
  }
  const isMissing = source === "Server" && account === undefined;
  if (isMissing) return withPolicies([]);
  // Otherwise the record stays, including the intents of this run; only policies that a read has shown are counted.
  const recorded = old.appliedPolicyIds ?? binding.applied;
  const isGone = availability.kind === "Unavailable" && availability.endsAs === "AccountGone";
  const before = isGone ? undefined : old.policyCount;
  const shown = live?.readable ? countBound(recorded, live.policyIds) : before;
  return { ...withPolicies(recorded), policyCount: shown };
}

function countBound(policyIds: PolicySet, live: PolicySet): number {
  const bound = new Set(asSubmitted(live, policyIds));
  return policyIds.filter((id) => bound.has(id)).length;
}

function hasNews(
  old: PolicyBindingStatus,
  { appliedPolicyIds = [] }: PolicyBindingStatus,
  { generation, requestedAt }: BindingView,
  now: Instant,
): boolean {
  return (
    !sameSet(old.appliedPolicyIds ?? [], appliedPolicyIds) ||
    old.observedGeneration !== generation ||
    old.lastHandledReconcileAt !== requestedAt ||
    isStale(old.lastSyncTime, now)
  );
}

function requeueAfter(
  snapshot: BindingsSnapshot,
  outcome: Outcome,
  state: AccountBindingsState | undefined,
): number | undefined {
  if (outcome.kind === "Waiting") return outcome.afterMs;
  if (outcome.kind === "Failed") return REJECTED_MS;
  if (!isUsable(snapshot) || state === undefined || !managesBindings(snapshot)) return undefined;
  // The next run starts at once and binds the next postponed object.
  return evaluate(snapshot).decision.postponed.size > 0 ? 1 : msUntilRead(snapshot, state);
}
