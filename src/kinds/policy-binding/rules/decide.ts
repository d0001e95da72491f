/** Which policies the console should have for one account, and whether a PUT is needed. Pure. */
import { recordedPolicies } from "../../../accounts/recorded-policies.ts";
import type { LiveBindings } from "../../../console/model.ts";
import { common, contains, type PolicySet, sameSet, union, without } from "./policy-set.ts";
import type { BindingView, BoundAccount, Problem } from "./views.ts";

export interface DecisionInput {
  readonly account: BoundAccount;
  /** Every PolicyBinding of the account, including PolicyBindings being deleted. */
  readonly bindings: readonly BindingView[];
  readonly live: LiveBindings;
  /** The console rejected a list without naming the invalid policy: new policies are bound one object at a time. */
  readonly isolating: boolean;
  /** Policies that a call without a usable response may still bind. */
  readonly unanswered: PolicySet;
}

export interface BindingsDecision {
  /** The whole set to submit; `undefined` if the console is as declared or must not be changed. */
  readonly sync: PolicySet | undefined;
  /** The bound policies after this decision is carried out. */
  readonly bound: PolicySet;
  /** The policies in `bound` that PolicyBindings account for. */
  readonly ours: PolicySet;
  /** Policies bound again by a call without a usable response after they were withdrawn; they are unbound. */
  readonly reappeared: PolicySet;
  /** The bound policies of each live PolicyBinding, by uid. */
  readonly shares: ReadonlyMap<string, PolicySet>;
  /** Uids of live PolicyBindings whose policies are not bound yet because another PolicyBinding is tried first. */
  readonly postponed: ReadonlySet<string>;
  /** Why the console is not changed even though it may not be as declared. */
  readonly blocked: Problem | undefined;
}

/** The maximum number of policies in a status; every bound policy must be in the ledger. */
export const MAX_POLICIES = 1_000;

export function decide(input: DecisionInput): BindingsDecision {
  const { account, bindings } = input;
  const known = knownLive(input);
  if (known === undefined) return leaveAlone(input, [], bindingsUnreadable);

  const candidates = newPolicies(bindings, known).map(({ uid }) => uid);
  const turn = input.isolating ? new Set(candidates.slice(0, 1)) : new Set(candidates);
  const postponed = new Set(candidates.filter((uid) => !turn.has(uid)));
  const shares = new Map(
    bindings
      .filter(({ stage }) => stage === "Live")
      .map((binding) => [binding.uid, share(binding, account, known, postponed)] as const),
  );
  const wanted = union(...shares.values());
  const reappeared = reappearedOf(input, known, wanted);
  const { withdrawn } = account;
  const foreign = without(known, wanted, attributed(bindings, wanted), reappeared, withdrawn);
  const target = account.accessRevoked
    ? []
    : account.foreignPolicies === "Remove" && bindings.length > 0
      ? wanted
      : union(common(known, [...wanted, ...foreign]), wanted);
  if (target.length > MAX_POLICIES) return leaveAlone(input, known, tooManyPolicies);
  const isTakenAway = reappeared.length > 0 || common(known, withdrawn).length > 0;
  if (!mayBeEmptied(input) && !isTakenAway && target.length === 0 && known.length > 0) {
    return {
      ...settled(shares, known),
      sync: undefined,
      reappeared,
      postponed,
      blocked: undefined,
    };
  }
  return {
    ...settled(account.accessRevoked ? emptied(shares) : shares, target),
    sync: isDifferent(input, known, target) ? target : undefined,
    reappeared,
    postponed,
    blocked: undefined,
  };
}

/** Bound policies that an unanswered call may have bound and that are neither recorded nor declared. */
function reappearedOf(
  { account, unanswered }: DecisionInput,
  known: PolicySet,
  wanted: PolicySet,
): PolicySet {
  const declared = account.accessRevoked ? [] : wanted;
  return without(common(known, unanswered), recordedPolicies(account.ledger), declared);
}

/** The ledger in the form of a console answer, for a run without a call. */
export function fromLedger({ ledger }: BoundAccount): LiveBindings {
  return { readable: true, policyIds: recordedPolicies(ledger) };
}

/**
 * The bound policies, as far as this run can rely on them; `undefined` if they are unknown. The ledger replaces an
 * unreadable answer if this cannot unbind a foreign policy that must stay: for an account created by the operator, or
 * if foreign policies are removed anyway.
 */
function knownLive({ account, bindings, live }: DecisionInput): PolicySet | undefined {
  if (live.readable) return [...new Set(live.policyIds)];
  const { created, foreignPolicies, accessRevoked, ledger } = account;
  if (!created && foreignPolicies === "Keep" && !accessRevoked) return undefined;
  return union(recordedPolicies(ledger), intendedOf(bindings));
}

/** Policies that an earlier call may have bound, even if it was not recorded. */
function intendedOf(bindings: readonly BindingView[]): PolicySet {
  return union(...bindings.map(({ applied }) => applied));
}

function isDifferent(
  { account, bindings, live, unanswered }: DecisionInput,
  known: PolicySet,
  target: PolicySet,
): boolean {
  if (live.readable) return !sameSet(known, target);
  // Without a readable answer, only another call ensures that these policies are unbound.
  if (!contains(target, unanswered)) return true;
  const { ledger, accessRevoked, revocationSubmitted } = account;
  if (accessRevoked && !revocationSubmitted) return true;
  if (!ledger.isComplete) return target.length > 0;
  // A policy that was still to be unbound may be unbound: that is not certain before a PolicyBinding declares it again.
  const declared = union(...bindings.filter(isActive).map(({ policyIds }) => policyIds));
  if (common(declared, recordedPolicies(ledger, "Unrevoked")).length > 0) return true;
  // An intent missing from the ledger may or may not have reached the console.
  return !sameSet(recordedPolicies(ledger), target) || !contains(target, intendedOf(bindings));
}

/** Active objects with policies that are not bound yet, oldest first. */
export function newPolicies(
  bindings: readonly BindingView[],
  known: PolicySet,
): readonly BindingView[] {
  return bindings.filter((each) => isActive(each) && !contains(known, each.policyIds));
}

/** Whether the object's spec counts. If not, its bound policies stay and no new policies are bound. */
export function isActive({ stage, suspended, ignored, problem, policyIds }: BindingView): boolean {
  const bindsAny = problem === undefined || policyIds.length > 0;
  return stage === "Live" && !suspended && !ignored && bindsAny;
}

function share(
  binding: BindingView,
  { withdrawn }: BoundAccount,
  known: PolicySet,
  postponed: ReadonlySet<string>,
): PolicySet {
  const kept = common(without(binding.applied, withdrawn), known);
  if (!isActive(binding)) return kept;
  if (postponed.has(binding.uid)) return common(union(binding.policyIds, binding.applied), known);
  // A policy that is refused may be a mistyped one in place of one that is bound.
  return binding.problem === undefined ? binding.policyIds : union(binding.policyIds, kept);
}

/**
 * Policies bound by existing PolicyBindings and not retained: they are unbound unless a PolicyBinding declares them.
 */
function attributed(bindings: readonly BindingView[], wanted: PolicySet): PolicySet {
  const applied = (stages: readonly string[]) =>
    union(...bindings.filter(({ stage }) => stages.includes(stage)).map((one) => one.applied));
  const released = without(applied(["Releasing"]), wanted);
  return without(applied(["Live", "Revoking"]), released);
}

/** S11: whether a user requested an empty list. It is not enough that nothing is declared. */
function mayBeEmptied({ account, bindings }: DecisionInput): boolean {
  return (
    account.accessRevoked ||
    bindings.some(({ stage, applied }) => stage === "Revoking" && applied.length > 0)
  );
}

function settled(
  shares: ReadonlyMap<string, PolicySet>,
  bound: PolicySet,
): Pick<BindingsDecision, "shares" | "bound" | "ours"> {
  return { shares, bound, ours: common(bound, [...shares.values()].flat()) };
}

function emptied(shares: ReadonlyMap<string, PolicySet>): ReadonlyMap<string, PolicySet> {
  return new Map([...shares.keys()].map((uid) => [uid, []]));
}

function leaveAlone(
  { account, bindings }: DecisionInput,
  known: PolicySet,
  blocked: Problem,
): BindingsDecision {
  const shares = new Map(
    bindings.filter(({ stage }) => stage === "Live").map(({ uid, applied }) => [uid, applied]),
  );
  return {
    sync: undefined,
    bound: known.length > 0 ? known : recordedPolicies(account.ledger),
    ours: recordedPolicies(account.ledger, "Declared"),
    reappeared: [],
    shares,
    postponed: new Set(),
    blocked,
  };
}

const bindingsUnreadable: Problem = {
  reason: "BindingsUnreadable",
  message:
    "The console's answer about the policies bound to this imported account cannot be read, so a change could unbind policies bound outside the operator. Nothing is written. Set foreignPolicies: Remove on the ServiceAccount if its PolicyBindings declare all its policies.",
};

const tooManyPolicies: Problem = {
  reason: "TooManyPolicies",
  message: `More than ${MAX_POLICIES} policies would be bound to the account; nothing is written.`,
};
