/** What is decided from a snapshot: the same after every action of a run, since its facts stay. Pure. */
import type { ServiceAccount } from "../../../api/service-account.ts";
import type { IamClient } from "../../../iam/client/client.ts";
import type { LiveBindings } from "../../../iam/model.ts";
import { type Instant, toIso8601 } from "../../../util/time.ts";
import {
  type BindingsDecision,
  type DecisionInput,
  decide,
  fromRecord,
  isActive,
} from "./decide.ts";
import { contains, type PolicySet, sameSet, union } from "./policy-set.ts";
import { contendedUntil } from "./schedule.ts";
import type { BindingsSnapshot } from "./snapshot.ts";
import type { AccountBindingsState } from "./state.ts";
import { stillWatched, type UnansweredSync } from "./unanswered-sync.ts";
import { stillBelieved, withoutUnbound } from "./unbound.ts";
import type { BindingView, UsableAccount } from "./views.ts";

/** A snapshot of an account that can be worked on. */
export interface UsableSnapshot extends BindingsSnapshot {
  readonly availability: UsableAccount;
  readonly account: ServiceAccount;
  readonly client: IamClient;
  readonly state: AccountBindingsState;
}

export function isUsable(snapshot: BindingsSnapshot): snapshot is UsableSnapshot {
  const { availability, account, client, state } = snapshot;
  return availability.kind === "Usable" && [account, client, state].every((each) => each);
}

export interface Choice {
  readonly input: DecisionInput;
  readonly decision: BindingsDecision;
  /** Nothing that is declared has changed: somebody else has changed the console. */
  readonly isDrift: boolean;
  /** What the console holds before a PUT, as far as it is known. */
  readonly before: PolicySet;
  /** The console was found as declared, or is so once the decision is carried out. */
  readonly verified: boolean;
  /** Drift is not corrected before then. */
  readonly contendedUntil: Instant | undefined;
}

/** From the console's answer where there is one, otherwise from the account's record. */
export function choose({ availability, bindings, live, state, now }: UsableSnapshot): Choice {
  const { account } = availability;
  const unanswered = watchedSync({ now }, state)?.policyIds ?? [];
  const { isolating } = state;
  const recorded = { account, bindings, live: fromRecord(account), isolating, unanswered };
  const input: DecisionInput =
    live === undefined
      ? recorded
      : { ...recorded, live: withoutUnbound(live, recorded, stillBelieved(state.unbound, now)) };
  const decided = decide(input);
  // A response that cannot be read shows no change that somebody made.
  const isDrift =
    input.live.readable &&
    decided.sync !== undefined &&
    decided.reappeared.length === 0 &&
    !mustAsk(recorded);
  // Revoking access is never delayed.
  const until =
    isDrift && !account.accessRevoked ? contendedUntil(state.corrections, now) : undefined;
  const decision = until === undefined ? decided : contended(decided, input.live, until);
  const { sync, blocked } = decision;
  return {
    input,
    decision,
    isDrift,
    before: input.live.readable ? input.live.policyIds : expected(input),
    verified: live !== undefined && blocked === undefined && (live.readable || sync !== undefined),
    contendedUntil: until,
  };
}

/** Nothing is done about an account that no PolicyBinding names, access was not revoked from, and no call is watched for. */
export function hasSay(snapshot: UsableSnapshot): boolean {
  const { availability, bindings } = snapshot;
  return (
    bindings.length > 0 ||
    availability.account.accessRevoked ||
    availability.account.withdrawn.length > 0 ||
    availability.restriction?.withdrawal !== undefined ||
    watchedSync(snapshot, snapshot.state) !== undefined
  );
}

/** The call without a usable response that is watched for. */
export function watchedSync(
  { now }: Pick<BindingsSnapshot, "now">,
  { unanswered }: AccountBindingsState,
): UnansweredSync | undefined {
  return stillWatched(unanswered, now);
}

/** Live objects whose policies are bound, or are about to be. */
export function takingPart({ input, decision }: Choice): readonly BindingView[] {
  if (input.account.accessRevoked || decision.blocked !== undefined) return [];
  return input.bindings.filter((each) => isActive(each) && !decision.postponed.has(each.uid));
}

/**
 * Whether the record alone cannot answer for the console: something is to change, or the record does not
 * cover what was intended, or something is to be revoked.
 */
export function mustAsk(recorded: DecisionInput): boolean {
  const { account, bindings } = recorded;
  if (account.withdrawn.length > 0) return true;
  const revoking = bindings.filter(({ stage }) => stage === "Revoking");
  if (account.record.ours === undefined) {
    const hasBound = revoking.some(({ applied }) => applied.length > 0);
    return bindings.some(isActive) || account.accessRevoked || hasBound;
  }
  const decision = decide(recorded);
  if (decision.sync !== undefined || decision.postponed.size > 0) return true;
  if (revoking.some(({ applied }) => !contains(decision.ours, applied))) return true;
  // What was intended before access was revoked may be bound although the record does not say so.
  if (account.accessRevoked) return bindings.some(({ applied }) => applied.length > 0);
  return !sameSet(decision.ours, account.record.ours);
}

function expected({ account, bindings }: DecisionInput): PolicySet {
  const { ours = [], foreign } = account.record;
  return union(ours, foreign, ...bindings.map(({ applied }) => applied));
}

function contended(
  decision: BindingsDecision,
  live: LiveBindings,
  until: Instant,
): BindingsDecision {
  return {
    ...decision,
    sync: undefined,
    bound: live.readable ? live.policyIds : decision.bound,
    blocked: {
      reason: "Contended",
      message: `The policies of this account keep being changed outside the operator: 5 corrections within an hour. The next correction follows at ${toIso8601(until)}.`,
    },
  };
}
