/** What the condition Ready of a PolicyBinding says. Pure. */
import type { Readiness } from "../../../api/conditions.ts";
import { SUSPENDED } from "../../../reconciler/rules/obstacle.ts";
import { ONLY_PLANS, PLAN_ONLY } from "../../../reconciler/rules/plan-only.ts";
import { isBeingDeleted } from "../../../util/object-meta.ts";
import { toIso8601 } from "../../../util/time.ts";
import { declaredBy, describeBound, isAsDeclared } from "./bound-text.ts";
import { type Evaluation, evaluate, isUnread, isUsable, watchedSync } from "./evaluate.ts";
import type { Spellings } from "./ledger.ts";
import { common, listed, type PolicySet, without } from "./policy-set.ts";
import type { BindingsSnapshot } from "./snapshot.ts";
import { describeUnanswered } from "./unanswered-sync.ts";
import type { BindingView, SpecProblem } from "./views.ts";

const RETAIN_REFUSED =
  " The grant of the connection does not allow to retain policies: a deletion unbinds them.";

/** The result of a run: the decision carried out, or why there is none. */
export type Conclusion = Evaluation | Readiness;

/**
 * Problems of the object come before problems of its account. An object whose spec is not carried out for now is Ready
 * if exactly its policies are bound, otherwise Stalled.
 */
export function readinessOf(
  snapshot: BindingsSnapshot,
  binding: BindingView,
  conclusion: Conclusion,
): Readiness {
  if (isAccountGone(snapshot) && !("decision" in conclusion)) return conclusion;
  const restricted = restrictedReadiness(snapshot, binding, conclusion);
  if (restricted !== undefined) return restricted;
  const unread = isUnread(snapshot);
  const bound = boundNow(snapshot, binding, conclusion);
  const ignoredFor = whyIgnored(binding, conclusion);
  if (ignoredFor !== undefined && isAsDeclared(bound, binding))
    return allBound(declaredBy(binding), unread);
  // What is wrong with the spec of a deleted object does not matter any more.
  const object = snapshot.objects.get(binding.uid);
  const isDeleted = object !== undefined && isBeingDeleted(object);
  if (isDeleted && ignoredFor === undefined && !("decision" in conclusion)) return conclusion;
  const problem = isDeleted ? ignoredFor : undefined;
  const why = problem ?? ungranted(binding, conclusion) ?? binding.problem ?? ignoredFor;
  if (why !== undefined) {
    const { reason, message, advice } = why;
    const parts = [message, describeBound(bound, binding, unread), advice];
    return { state: "Stalled", reason, message: parts.filter((part) => part !== "").join(" ") };
  }
  return "decision" in conclusion ? decided(conclusion, binding, snapshot) : conclusion;
}

/** Then nothing is bound, whatever else is wrong. */
function isAccountGone({ availability }: BindingsSnapshot): boolean {
  return availability.kind === "Unavailable" && availability.endsAs === "AccountGone";
}

/** If no grant matches the namespace, that is the problem, and not the policies that the object names. */
function ungranted({ problem }: BindingView, conclusion: Conclusion): SpecProblem | undefined {
  if ("decision" in conclusion || conclusion.reason !== "NotGranted") return undefined;
  return problem?.reason === "PolicyNotGranted" ? { ...conclusion, advice: "" } : undefined;
}

/** Why the spec of the object is not carried out for now, though nothing is wrong with it. */
function whyIgnored(
  { suspended, ignored, stage }: BindingView,
  conclusion: Conclusion,
): SpecProblem | undefined {
  if (suspended) return { ...SUSPENDED, advice: "" };
  if ("decision" in conclusion) {
    const isIgnored = ignored && !conclusion.input.account.accessRevoked;
    return isIgnored ? { reason: PLAN_ONLY, message: `${ONLY_PLANS}.`, advice: "" } : undefined;
  }
  return conclusion.reason === PLAN_ONLY && stage === "Live"
    ? { ...conclusion, advice: "" }
    : undefined;
}

/** Without an answer of this run: as the account's record has it. */
function boundNow(
  snapshot: BindingsSnapshot,
  { uid, applied }: BindingView,
  conclusion: Conclusion,
): PolicySet {
  if ("decision" in conclusion) {
    const share = conclusion.decision.shares.get(uid) ?? applied;
    return without(share, snapshot.synced?.refused?.get(uid) ?? []);
  }
  return isUsable(snapshot) ? common(applied, evaluate(snapshot).before) : applied;
}

/** For an account with a restriction: why nothing may be bound, and which policies are or will be unbound. */
function restrictedReadiness(
  snapshot: BindingsSnapshot,
  { applied }: BindingView,
  conclusion: Conclusion,
): Readiness | undefined {
  const { availability } = snapshot;
  if (availability.kind !== "Usable" || availability.restriction === undefined) return undefined;
  if (!("decision" in conclusion) || availability.account.accessRevoked) return undefined;
  const { state, reason, message, withdrawal } = availability.restriction;
  const due = withdrawal?.isOver === false ? common(applied, withdrawal.policyIds) : [];
  const taken = common(applied, availability.account.withdrawn);
  const more =
    withdrawal !== undefined && due.length > 0
      ? ` Unless a grant matches again, ${listed(due)} will be unbound at ${toIso8601(withdrawal.until)}.`
      : taken.length > 0
        ? ` The connection no longer grants ${listed(taken)}: ${isUnread(snapshot) ? "the console accepted to unbind them, and its answer about the bound policies cannot be read" : "unbound"}.`
        : "";
  return { state, reason, message: `${message}${more}` };
}

function decided(
  { input, decision, spellings }: Evaluation,
  { uid, policyIds, retainRefused }: BindingView,
  snapshot: BindingsSnapshot,
): Readiness {
  const { now, state, synced } = snapshot;
  const unread = isUnread(snapshot);
  const watched = describeUnanswered(state && watchedSync({ now }, state));
  const { blocked, postponed } = decision;
  if (blocked !== undefined)
    return { state: blocked.reason === "Contended" ? "Reconciling" : "Stalled", ...blocked };
  if (input.account.accessRevoked)
    return {
      state: "Stalled",
      reason: "AccessRevoked",
      message: `Access is revoked (spec.access of the ServiceAccount): ${unread ? UNREAD_REVOCATION : "no policy is bound to it"}.${watched}`,
    };
  if (postponed.has(uid))
    return {
      state: "Reconciling",
      reason: "Syncing",
      message:
        "The console refused a change of the account's policies; the operator tries its PolicyBindings one by one.",
    };
  const retain = retainRefused ? RETAIN_REFUSED : "";
  const spelling = describeSpelling(policyIds, synced?.spellings ?? spellings);
  return allBound(policyIds, unread, `${spelling}${watched}${retain}`);
}

/** A console that spells IDs in another way compares them in its own way too: users look for them there. */
function describeSpelling(policyIds: PolicySet, spellings: Spellings): string {
  const own = policyIds.flatMap((id) => spellings.get(id) ?? []);
  return own.length === 0 ? "" : ` The console stores another spelling: ${listed(own)}.`;
}

const UNREAD_REVOCATION =
  "the console accepted an empty list, but its answer about the bound policies cannot be read, so whether policies are bound is unknown";

function allBound({ length }: PolicySet, unread: boolean, more = ""): Readiness {
  if (unread) {
    const message = `The console accepted ${length === 1 ? "1 policy" : `${length} policies`}, but its answer about the bound policies cannot be read: whether they are bound is unknown.`;
    return { state: "Unknown", reason: "SyncUnconfirmed", message: `${message}${more}` };
  }
  const message = length === 1 ? "1 policy is bound." : `${length} policies are bound.`;
  return { state: "Ready", reason: "Synced", message: `${message}${more}` };
}
