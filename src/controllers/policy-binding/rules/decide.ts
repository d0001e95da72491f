/** What the console should hold for one account, and whether a PUT is needed to get there. Pure. */
import type { LiveBindings } from "../../../iam/model.ts";
import { common, contains, type PolicySet, sameSet, union, without } from "./policy-set.ts";
import type { BindingView, BoundAccount, Problem } from "./views.ts";

export interface DecisionInput {
  readonly account: BoundAccount;
  /** Every PolicyBinding of the account, those being deleted included. */
  readonly bindings: readonly BindingView[];
  readonly live: LiveBindings;
  /** The console refused a union without naming the culprit: new policies go one object at a time. */
  readonly isolating: boolean;
  /** Policies that a call without a usable response may still bind. */
  readonly unanswered: PolicySet;
}

export interface BindingsDecision {
  /** The whole set to submit; `undefined` where the console is as it should be, or must be left alone. */
  readonly sync: PolicySet | undefined;
  /** What is bound once this decision is carried out. */
  readonly bound: PolicySet;
  /** Of these, what PolicyBindings account for. */
  readonly ours: PolicySet;
  readonly foreign: PolicySet;
  /** Bound again by a call without a usable response, after they were withdrawn: they go. */
  readonly reappeared: PolicySet;
  /** What each live PolicyBinding has bound, by uid. */
  readonly shares: ReadonlyMap<string, PolicySet>;
  /** Live objects whose policies are not bound yet because others are tried first, by uid. */
  readonly postponed: ReadonlySet<string>;
  /** Why the console is left alone although it may not be as declared. */
  readonly blocked: Problem | undefined;
}

/** As many as a status can name; nothing bound may be missing from the record. */
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

/** What the account's record does not know of, nothing declares, and an earlier call would bind. */
function reappearedOf(
  { account, unanswered }: DecisionInput,
  known: PolicySet,
  wanted: PolicySet,
): PolicySet {
  const { ours = [], foreign } = account.record;
  const declared = account.accessRevoked ? [] : wanted;
  return without(common(known, unanswered), ours, foreign, declared);
}

/** The record as if the console had just answered it: what a run without a call believes. */
export function fromRecord({ record }: BoundAccount): LiveBindings {
  return { readable: true, policyIds: union(record.ours ?? [], record.foreign) };
}

/**
 * What is bound, as far as this run may rely on it. An unreadable answer is replaced by the record where
 * nothing of somebody else's can be harmed: an account that we created, or one whose foreign policies are
 * to go anyway.
 */
function knownLive({ account, bindings, live }: DecisionInput): PolicySet | undefined {
  if (live.readable) return [...new Set(live.policyIds)];
  const { created, foreignPolicies, accessRevoked, record } = account;
  if (!created && foreignPolicies === "Keep" && !accessRevoked) return undefined;
  return union(record.ours ?? [], record.foreign, ...bindings.map(({ applied }) => applied));
}

function isDifferent(
  { account, bindings, live, unanswered }: DecisionInput,
  known: PolicySet,
  target: PolicySet,
): boolean {
  if (live.readable) return !sameSet(known, target);
  // Without a readable answer, only another call makes sure of it.
  if (!contains(target, unanswered)) return true;
  const { record, accessRevoked } = account;
  if (record.ours === undefined) return target.length > 0 || accessRevoked;
  // An intent that the record does not cover may or may not have reached the console.
  const intended = union(...bindings.map(({ applied }) => applied));
  return !sameSet(union(record.ours, record.foreign), target) || !contains(target, intended);
}

/** Live objects, oldest first, that bring policies which are not bound yet. */
export function newPolicies(
  bindings: readonly BindingView[],
  known: PolicySet,
): readonly BindingView[] {
  return bindings.filter((each) => isActive(each) && !contains(known, each.policyIds));
}

/** Whether an object's spec counts; otherwise what it bound before merely stays. */
export function isActive({ stage, suspended, held, problem }: BindingView): boolean {
  return stage === "Live" && !suspended && !held && problem === undefined;
}

function share(
  binding: BindingView,
  { withdrawn }: BoundAccount,
  known: PolicySet,
  postponed: ReadonlySet<string>,
): PolicySet {
  if (!isActive(binding)) return common(without(binding.applied, withdrawn), known);
  if (!postponed.has(binding.uid)) return binding.policyIds;
  return common(union(binding.policyIds, binding.applied), known);
}

/** What existing PolicyBindings have bound and do not leave behind: the only policies that may go. */
function attributed(bindings: readonly BindingView[], wanted: PolicySet): PolicySet {
  const applied = (stages: readonly string[]) =>
    union(...bindings.filter(({ stage }) => stages.includes(stage)).map((one) => one.applied));
  const released = without(applied(["Releasing"]), wanted);
  return without(applied(["Live", "Revoking"]), released);
}

/** S11: an empty list needs a request of a user, not merely nothing to bind. */
function mayBeEmptied({ account, bindings }: DecisionInput): boolean {
  return (
    account.accessRevoked ||
    bindings.some(({ stage, applied }) => stage === "Revoking" && applied.length > 0)
  );
}

function settled(
  shares: ReadonlyMap<string, PolicySet>,
  bound: PolicySet,
): Pick<BindingsDecision, "shares" | "bound" | "ours" | "foreign"> {
  const ours = common(bound, [...shares.values()].flat());
  return { shares, bound, ours, foreign: without(bound, ours) };
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
    bound: known.length > 0 ? known : union(account.record.ours ?? [], account.record.foreign),
    ours: account.record.ours ?? [],
    foreign: account.record.foreign,
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
