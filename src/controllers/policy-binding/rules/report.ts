/** The statuses of an account's PolicyBindings after a run. Pure. */
import type { Readiness } from "../../../api/conditions.ts";
import type { PolicyBinding, PolicyBindingStatus } from "../../../api/policy-binding.ts";
import { isIamError } from "../../../iam/errors.ts";
import { type Instant, MINUTE, toIso8601 } from "../../../util/time.ts";
import { obstacleOf } from "../../frame/rules/obstacle.ts";
import type { Outcome } from "../../frame/rules/outcome.ts";
import { PLAN_ONLY } from "../../frame/rules/plan-only.ts";
import { type ObjectReport, ownFields, type Report } from "../../frame/rules/report.ts";
import { policyBindingType } from "../../resource-types.ts";
import { untilAsked } from "./asking.ts";
import { type Choice, choose, hasSay, isUsable, watchedSync } from "./choose.ts";
import { isActive } from "./decide.ts";
import { common, contains, listed, type PolicySet, sameSet } from "./policy-set.ts";
import { isQuiet } from "./quiet.ts";
import { isStale } from "./schedule.ts";
import type { BindingsProgress, BindingsSnapshot } from "./snapshot.ts";
import type { AccountBindingsState } from "./state.ts";
import { stateAfter } from "./state-after.ts";
import { describeUnanswered } from "./unanswered-sync.ts";
import type { BindingView } from "./views.ts";

/** The retry interval of a rejected call: the change that helps may happen in the console (L6). */
const REJECTED_MS = 5 * MINUTE;

const RETAIN_REFUSED =
  " The grant of the connection does not allow to retain policies: a deletion unbinds them.";

/** The result of a run: the decision carried out, or why there is none. */
type Conclusion = Choice | Readiness;

/** One status for each remaining PolicyBinding; none if the run learned nothing new. */
export function report(
  { snapshot }: BindingsProgress,
  outcome: Outcome,
  current: AccountBindingsState | undefined,
): Report<AccountBindingsState | undefined> {
  const state = stateAfter(snapshot, outcome, current);
  const requeueAfterMs = requeueAfter(snapshot, outcome, state);
  const conclusion = isQuiet(outcome) ? undefined : conclusionOf(snapshot, outcome);
  if (conclusion === undefined) return { objects: [], state, requeueAfterMs };
  const objects = snapshot.bindings.flatMap((binding): readonly ObjectReport[] => {
    const object = snapshot.objects.get(binding.uid);
    if (object === undefined || (binding.stage !== "Live" && !binding.hasFinalizer)) return [];
    return [
      {
        ...toReport(snapshot, binding, object, conclusion),
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
  const { input, decision, before } = choose(snapshot);
  const { accessRevoked, record, withdrawn } = input.account;
  const isRevoking = accessRevoked && !record.revocationProven;
  return isRevoking || withdrawn.length > 0 || !contains(decision.bound, before);
}

function conclusionOf(snapshot: BindingsSnapshot, outcome: Outcome): Conclusion | undefined {
  return obstacleOf(outcome) ?? (isUsable(snapshot) ? choose(snapshot) : undefined);
}

function toReport(
  snapshot: BindingsSnapshot,
  binding: BindingView,
  object: PolicyBinding,
  conclusion: Conclusion,
): ObjectReport {
  const status = statusOf(snapshot, binding, object, conclusion);
  const isHandled = "decision" in conclusion || conclusion.reason === PLAN_ONLY;
  return {
    type: policyBindingType,
    object,
    status,
    readiness: readinessOf(snapshot, binding, status.appliedPolicyIds ?? [], conclusion),
    suspended: binding.suspended && !isRestricted(snapshot),
    // The console answered, or no call was needed, or the operator only plans.
    handledRequest: isHandled ? binding.requestedAt : undefined,
    // A cache may lack an intent that another process has just written; the write must not overwrite it (S11).
    write: snapshot.source === "Server" ? {} : { resourceVersion: object.metadata.resourceVersion },
  };
}

/**
 * A failure that does not come from the console does not start the deadline of a deletion. A deletion that waits for a
 * person has no deadline.
 */
function isCleanupBlocked(
  { metadata }: PolicyBinding,
  { stage }: BindingView,
  outcome: Outcome,
  conclusion: Conclusion,
): boolean | undefined {
  if (metadata.deletionTimestamp === undefined) return undefined;
  if (stage === "Live") return false;
  if ("decision" in conclusion) return conclusion.decision.blocked !== undefined;
  return outcome.kind !== "Failed" || isIamError(outcome.error) ? true : undefined;
}

function isRestricted({ availability }: BindingsSnapshot): boolean {
  return availability.kind === "Usable" && availability.restriction !== undefined;
}

function statusOf(
  { source, account, now }: BindingsSnapshot,
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
    const next = withPolicies(shares.get(binding.uid) ?? binding.applied);
    const isSynced = conclusion.verified && isActive(binding);
    return isSynced && hasNews(status, next, binding, now)
      ? { ...next, lastSyncTime: toIso8601(now) }
      : next;
  }
  const isMissing = source === "Server" && account === undefined;
  // Otherwise the record stays, including the intents of this run.
  return isMissing ? withPolicies([]) : withPolicies(old.appliedPolicyIds ?? binding.applied);
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

/**
 * Problems of the object come before problems of its account. A suspended PolicyBinding is Ready if all its policies
 * are bound, otherwise Stalled.
 */
function readinessOf(
  snapshot: BindingsSnapshot,
  binding: BindingView,
  applied: PolicySet,
  conclusion: Conclusion,
): Readiness {
  const { suspended, held, problem, policyIds, stage } = binding;
  const restricted = restrictedReadiness(snapshot, binding, conclusion);
  if (restricted !== undefined) return restricted;
  const isPlanned = "reason" in conclusion && conclusion.reason === PLAN_ONLY;
  const isHeld = held && "decision" in conclusion;
  const isHeldBack = suspended || isHeld || (isPlanned && stage === "Live");
  if (isHeldBack && contains(applied, policyIds)) return allBound(policyIds);
  if (problem !== undefined) return { state: "Stalled", ...problem };
  const readiness = "decision" in conclusion ? decided(conclusion, binding, snapshot) : conclusion;
  return suspended ? { ...readiness, state: "Stalled" } : readiness;
}

/** For an account with a restriction: why nothing may be bound, and which policies are or will be unbound. */
function restrictedReadiness(
  { availability }: BindingsSnapshot,
  { applied }: BindingView,
  conclusion: Conclusion,
): Readiness | undefined {
  if (availability.kind !== "Usable" || availability.restriction === undefined) return undefined;
  if (!("decision" in conclusion) || availability.account.accessRevoked) return undefined;
  const { state, reason, message, withdrawal } = availability.restriction;
  const due = withdrawal?.isOver === false ? common(applied, withdrawal.policyIds) : [];
  const taken = common(applied, availability.account.withdrawn);
  const more =
    withdrawal !== undefined && due.length > 0
      ? ` Unless a grant matches again, ${listed(due)} will be unbound at ${toIso8601(withdrawal.until)}.`
      : taken.length > 0
        ? ` The connection no longer grants ${listed(taken)}: unbound.`
        : "";
  return { state, reason, message: `${message}${more}` };
}

function decided(
  { input, decision }: Choice,
  { uid, policyIds, retainRefused }: BindingView,
  { now, state }: BindingsSnapshot,
): Readiness {
  const watched = describeUnanswered(state && watchedSync({ now }, state));
  const { blocked, postponed } = decision;
  if (blocked !== undefined)
    return { state: blocked.reason === "Contended" ? "Reconciling" : "Stalled", ...blocked };
  if (input.account.accessRevoked)
    return {
      state: "Stalled",
      reason: "AccessRevoked",
      message: `Access is revoked (spec.access of the ServiceAccount): no policy is bound to it.${watched}`,
    };
  if (postponed.has(uid))
    return {
      state: "Reconciling",
      reason: "Syncing",
      message:
        "The console refused a change of the account's policies; the operator tries its PolicyBindings one by one.",
    };
  const retain = retainRefused ? RETAIN_REFUSED : "";
  return allBound(policyIds, `${watched}${retain}`);
}

function allBound({ length }: PolicySet, more = ""): Readiness {
  const message = length === 1 ? "1 policy is bound." : `${length} policies are bound.`;
  return { state: "Ready", reason: "Synced", message: `${message}${more}` };
}

function requeueAfter(
  snapshot: BindingsSnapshot,
  outcome: Outcome,
  state: AccountBindingsState | undefined,
): number | undefined {
  if (outcome.kind === "Waiting") return outcome.afterMs;
  if (outcome.kind === "Failed") return REJECTED_MS;
  if (!isUsable(snapshot) || state === undefined || !hasSay(snapshot)) return undefined;
  // The next run starts at once and binds the next postponed object.
  return choose(snapshot).decision.postponed.size > 0 ? 1 : untilAsked(snapshot, state);
}
