/** The decision from a snapshot. Pure. */
import { operatorPolicies, recordedPolicies } from "../../../accounts/recorded-policies.ts";
import type { ServiceAccount } from "../../../api/service-account.ts";
import type { LiveBindings } from "../../../console/model.ts";
import { otherSpellings } from "../../../util/spelling.ts";
import { type Instant, toIso8601 } from "../../../util/time.ts";
import {
  type BindingsDecision,
  type DecisionInput,
  decide,
  fromLedger,
  isActive,
} from "./decide.ts";
import { bySubmitted, recordedSpellings, type Spellings } from "./ledger.ts";
import { contains, type PolicySet, sameSet, union } from "./policy-set.ts";
import { contendedUntil } from "./schedule.ts";
import type { BindingsSnapshot } from "./snapshot.ts";
import type { AccountBindingsState } from "./state.ts";
import { stillWatched, type UnansweredSync } from "./unanswered-sync.ts";
import { stillBelieved, withoutUnbound } from "./unbound.ts";
import type { BindingView, UsableAccount } from "./views.ts";

/** A snapshot of a usable account. */
export interface UsableSnapshot extends BindingsSnapshot {
  readonly availability: UsableAccount;
  readonly account: ServiceAccount;
  readonly session: number;
  readonly state: AccountBindingsState;
}

export function isUsable(snapshot: BindingsSnapshot): snapshot is UsableSnapshot {
  const { availability, account, session, state } = snapshot;
  return (
    availability.kind === "Usable" && [account, session, state].every((each) => each !== undefined)
  );
}

export interface Evaluation {
  readonly input: DecisionInput;
  readonly decision: BindingsDecision;
  /** The declared state has not changed: the console was changed outside the operator. */
  readonly isDrift: boolean;
  /** The policies bound before a PUT, as far as they are known. */
  readonly before: PolicySet;
  /** The console's spellings of declared policies. */
  readonly spellings: Spellings;
  /** The console is as declared, or will be as declared after the decision is carried out. */
  readonly verified: boolean;
  /** Drift is not corrected before this time. */
  readonly contendedUntil: Instant | undefined;
}

/**
 * Decides on the console's answer if this run has one, otherwise on the account's ledger. IDs of policies are as they
 * were submitted, whatever the console has made of them.
 */
export function evaluate(snapshot: UsableSnapshot): Evaluation {
  const { availability, bindings, live, state, now } = snapshot;
  const { account } = availability;
  const unanswered = watchedSync({ now }, state)?.policyIds ?? [];
  const { isolating } = state;
  const recorded = { account, bindings, live: fromLedger(account), isolating, unanswered };
  const unbound = stillBelieved(state.unbound, now);
  const spellings = spellingsIn(live, recorded, unbound);
  const input: DecisionInput =
    live === undefined
      ? recorded
      : { ...recorded, live: withoutUnbound(respell(live, spellings), recorded, unbound) };
  const decided = decide(input);
  // An unreadable answer does not prove a change.
  const isDrift =
    input.live.readable &&
    decided.sync !== undefined &&
    decided.reappeared.length === 0 &&
    !mustRead(isContended(snapshot) ? withoutForeign(recorded) : recorded);
  // Revoking access is never delayed.
  const until =
    isDrift && !account.accessRevoked ? contendedUntil(state.corrections, now) : undefined;
  const decision = until === undefined ? decided : contended(decided, input, until);
  const { sync, blocked } = decision;
  return {
    input,
    decision,
    isDrift,
    before: input.live.readable ? input.live.policyIds : expected(input),
    spellings: live?.readable ? bySubmitted(spellings) : recordedSpellings(account.ledger),
    verified: live !== undefined && blocked === undefined && (live.readable || sync !== undefined),
    contendedUntil: until,
  };
}

/** Whether drift is on record as such, and not corrected. */
function isContended({ account }: UsableSnapshot): boolean {
  return account.status?.bindings?.contendedUntil !== undefined;
}

/** Foreign policies that a read has shown are drift, even if they are to be removed. */
function withoutForeign(recorded: DecisionInput): DecisionInput {
  const { ledger } = recorded.account;
  const policies = ledger.policies.filter(({ state }) => state !== "Foreign");
  const account = { ...recorded.account, ledger: { ...ledger, policies } };
  return { ...recorded, account, live: fromLedger(account) };
}

/** Only IDs that the operator has submitted, or was about to: a declared ID that was not may name another policy. */
function spellingsIn(
  live: LiveBindings | undefined,
  { account, bindings, unanswered }: DecisionInput,
  unbound: PolicySet,
): ReadonlyMap<string, string> {
  if (!live?.readable) return new Map();
  const applied = bindings.map((binding) => binding.applied);
  const submitted = union(operatorPolicies(account.ledger), unanswered, unbound, ...applied);
  const declared = union(...bindings.filter(isActive).map(({ policyIds }) => policyIds));
  return otherSpellings(live.policyIds, submitted, declared);
}

function respell(live: LiveBindings, spellings: ReadonlyMap<string, string>): LiveBindings {
  if (!live.readable) return live;
  return { ...live, policyIds: live.policyIds.map((id) => spellings.get(id) ?? id) };
}

/**
 * Whether the console's last answer about the bound policies could not be read: what the console accepted is known, and
 * whether it is bound is not.
 */
export function isUnread({ live, account, synced }: BindingsSnapshot): boolean {
  if (synced !== undefined) return synced.effect === "Unknown";
  return live === undefined ? account?.status?.bindings?.unreadable === true : !live.readable;
}

/**
 * Whether the operator manages the account's policies: a PolicyBinding names the account, its access is revoked,
 * policies are or will be withdrawn, the operator watches for an unanswered call, or the account may have policies that
 * its status must show: it was imported, or has had a PolicyBinding. Otherwise the operator does nothing.
 */
export function managesBindings(snapshot: UsableSnapshot): boolean {
  const { availability, bindings } = snapshot;
  return (
    bindings.length > 0 ||
    !availability.account.created ||
    availability.account.ledger.isComplete ||
    availability.account.accessRevoked ||
    availability.account.withdrawn.length > 0 ||
    availability.restriction?.withdrawal !== undefined ||
    watchedSync(snapshot, snapshot.state) !== undefined
  );
}

/** The call without a usable response, as long as the operator watches for its effect. */
export function watchedSync(
  { now }: Pick<BindingsSnapshot, "now">,
  { unanswered }: AccountBindingsState,
): UnansweredSync | undefined {
  return stillWatched(unanswered, now);
}

/** Active objects whose policies are bound or are about to be bound. */
export function activeBindings({ input, decision }: Evaluation): readonly BindingView[] {
  if (input.account.accessRevoked || decision.blocked !== undefined) return [];
  return input.bindings.filter((each) => isActive(each) && !decision.postponed.has(each.uid));
}

/**
 * Whether the ledger alone is not enough and the console must be read: something must change, an intent is missing from
 * the ledger, or something must be revoked.
 */
export function mustRead(recorded: DecisionInput): boolean {
  const { account, bindings } = recorded;
  if (account.withdrawn.length > 0) return true;
  if (account.accessRevoked && !account.revocationSubmitted) return true;
  const revoking = bindings.filter(({ stage }) => stage === "Revoking");
  const decision = decide(recorded);
  if (decision.sync !== undefined) return true;
  if (revoking.some(({ applied }) => !contains(decision.ours, applied))) return true;
  // A policy intended before access was revoked may be bound even if it is not in the ledger.
  if (account.accessRevoked) return bindings.some(({ applied }) => applied.length > 0);
  return !sameSet(decision.ours, recordedPolicies(account.ledger, "Declared"));
}

function expected({ account, bindings }: DecisionInput): PolicySet {
  return union(recordedPolicies(account.ledger), ...bindings.map(({ applied }) => applied));
}

function contended(
  decision: BindingsDecision,
  { live, account: { describedCluster } }: DecisionInput,
  until: Instant,
): BindingsDecision {
  const named =
    describedCluster === undefined
      ? ""
      : ` The account's description names cluster ${describedCluster}, whose operator may change them.`;
  return {
    ...decision,
    sync: undefined,
    bound: live.readable ? live.policyIds : decision.bound,
    blocked: {
      reason: "Contended",
      message: `The policies of this account keep being changed outside the operator: 5 corrections within an hour.${named} The next correction follows at ${toIso8601(until)}.`,
    },
  };
}
