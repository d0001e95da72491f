/** The process state of one account between runs. Losing it costs calls, never a policy. Pure. */
import type { ServiceAccount } from "../../../api/service-account.ts";
import type { Instant } from "../../../util/time.ts";
import { type PolicySet, union, without } from "./policy-set.ts";
import { storedCorrections } from "./schedule.ts";
import { fromStored, type UnansweredSync } from "./unanswered-sync.ts";
import type { UnboundPolicies } from "./unbound.ts";
import type { BindingView, SpecProblem } from "./views.ts";

export interface PolicyRefusal {
  readonly generation: number;
  readonly requestedAt: string | undefined;
  /** The policies are tried again at this time, and after every change of the object. */
  readonly until: Instant;
  readonly policyIds: PolicySet;
  readonly problem: SpecProblem;
}

/** For `lastReadTime`: the next run calls listBindings. */
export const NEVER_READ: Instant = 0;

export interface AccountBindingsState {
  /** A ServiceAccount recreated with the same name starts with a new state. */
  readonly accountUid: string;
  /** When this process first saw the account, or last received an answer about it. */
  readonly lastReadTime: Instant;
  /** Since when answers about the bound policies cannot be read. */
  readonly unreadSince: Instant | undefined;
  readonly corrections: readonly Instant[];
  /** The console rejected a list without naming the invalid policy: new policies are bound one object at a time. */
  readonly isolating: boolean;
  /** By the uid of the PolicyBinding. */
  readonly refusals: ReadonlyMap<string, PolicyRefusal>;
  /** Recorded foreign policies missing from an answer; believed when a later answer lacks them too. */
  readonly vanished: VanishedPolicies | undefined;
  /** The desired state for which nothing is written, and the time before which the console is not called again. */
  readonly pause: { readonly desired: string; readonly until: Instant } | undefined;
  /** The last handled token of the ServiceAccount's reconcile annotation. */
  readonly handledToken: string | undefined;
  /** Whether the last run failed: overdue deletions are then released without another attempt. */
  readonly hasFailed: boolean;
  /** Calls that may still take effect; also stored in the account's status. */
  readonly unanswered: UnansweredSync | undefined;
  /** Policies that the operator has just unbound: a list from a replica that is behind may still contain them. */
  readonly unbound: UnboundPolicies | undefined;
}

export interface VanishedPolicies {
  readonly ids: PolicySet;
  readonly since: Instant;
}

/** The state known for this account (same uid), or the initial state. */
export function stateOf(
  known: AccountBindingsState | undefined,
  { metadata, status }: ServiceAccount,
  now: Instant,
): AccountBindingsState {
  if (known?.accountUid === metadata.uid) return known;
  return {
    accountUid: metadata.uid,
    lastReadTime: now,
    unreadSince: undefined,
    corrections: storedCorrections(status?.bindings?.contendedUntil, now),
    isolating: false,
    refusals: new Map(),
    vanished: undefined,
    pause: undefined,
    handledToken: status?.lastHandledReconcileAt,
    hasFailed: false,
    unanswered: fromStored(status?.bindings?.unansweredSync, now),
    unbound: undefined,
  };
}

/** The current process state, or the state at the start of the run if there is none for this account. */
export function stateIn(
  { state }: { readonly state: AccountBindingsState | undefined },
  current: AccountBindingsState | undefined,
): AccountBindingsState | undefined {
  return state !== undefined && current?.accountUid !== state.accountUid ? state : current;
}

/** Takes out the policies that the console refused earlier, as long as that is believed, and says why. */
export function withRefusal(
  state: AccountBindingsState,
  binding: BindingView,
  now: Instant,
): BindingView {
  const refusal = standingRefusal(state, binding, now);
  return refusal === undefined ? binding : withoutRefused(binding, refusal);
}

export function withoutRefused(
  binding: BindingView,
  refusal: Pick<PolicyRefusal, "policyIds" | "problem">,
): BindingView {
  const policyIds = without(binding.policyIds, refusal.policyIds);
  const refused = union(binding.refused, without(binding.policyIds, policyIds));
  return { ...binding, policyIds, refused, problem: both(binding.problem, refusal.problem) };
}

function both(first: SpecProblem | undefined, second: SpecProblem): SpecProblem {
  if (first === undefined) return second;
  const message = `${first.message} ${second.message}`;
  return { ...first, message, advice: `${first.advice} ${second.advice}` };
}

/** The console's earlier refusal of policies of this object, unless it is to be tried again. */
export function standingRefusal(
  { refusals }: AccountBindingsState,
  { uid, generation, requestedAt }: BindingView,
  now: Instant,
): PolicyRefusal | undefined {
  const refusal = refusals.get(uid);
  const isSame = refusal?.generation === generation && refusal.requestedAt === requestedAt;
  return isSame && now < refusal.until ? refusal : undefined;
}
