/** What the process remembers about one account between runs. Losing it costs calls, never a policy. Pure. */
import type { ServiceAccount } from "../../../api/service-account.ts";
import type { Instant } from "../../../util/time.ts";
import type { PolicySet } from "./policy-set.ts";
import { fromStored, type UnansweredSync } from "./unanswered-sync.ts";
import type { UnboundPolicies } from "./unbound.ts";
import type { BindingView, Problem } from "./views.ts";

export interface PolicyRefusal {
  readonly generation: number;
  readonly requestedAt: string | undefined;
  /** Tried again then, as after every change of the object. */
  readonly until: Instant;
  readonly problem: Problem;
}

export interface AccountBindingsState {
  /** A ServiceAccount that is made again under the same name starts without. */
  readonly accountUid: string;
  /** When this process first saw the account, or last got an answer about it. */
  readonly askedAt: Instant;
  readonly corrections: readonly Instant[];
  /** The console refused a list without naming the culprit: new policies go one object at a time. */
  readonly isolating: boolean;
  /** By the uid of the PolicyBinding. */
  readonly refusals: ReadonlyMap<string, PolicyRefusal>;
  /** Foreign policies that an answer no longer held; believed when a later answer says so again. */
  readonly vanished: VanishedPolicies | undefined;
  /** The desired state for which nothing is written, and until when the console is not asked again. */
  readonly pause: { readonly desired: string; readonly until: Instant } | undefined;
  /** The last token of the ServiceAccount's reconcile annotation that was acted on. */
  readonly handledToken: string | undefined;
  /** Whether the last run failed: what could not be revoked for too long is not tried once more. */
  readonly hasFailed: boolean;
  /** Calls that may still take effect; stored in the account's status as well. */
  readonly unanswered: UnansweredSync | undefined;
  /** What the operator has just unbound: a list that is behind may still show it. */
  readonly unbound: UnboundPolicies | undefined;
}

export interface VanishedPolicies {
  readonly ids: PolicySet;
  readonly since: Instant;
}

/** What is remembered about this very account, or what a first look starts with. */
export function stateOf(
  known: AccountBindingsState | undefined,
  { metadata, status }: ServiceAccount,
  now: Instant,
): AccountBindingsState {
  if (known?.accountUid === metadata.uid) return known;
  return {
    accountUid: metadata.uid,
    askedAt: now,
    corrections: [],
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

/** What is remembered by now, or what the run has started with. */
export function stateIn(
  { state }: { readonly state: AccountBindingsState | undefined },
  current: AccountBindingsState | undefined,
): AccountBindingsState | undefined {
  return state !== undefined && current?.accountUid !== state.accountUid ? state : current;
}

/** The object as judged with what the console said about it before. */
export function withRefusal(
  { refusals }: AccountBindingsState,
  binding: BindingView,
  now: Instant,
): BindingView {
  const refusal = refusals.get(binding.uid);
  if (refusal === undefined || binding.problem !== undefined) return binding;
  const stands =
    refusal.generation === binding.generation &&
    refusal.requestedAt === binding.requestedAt &&
    now < refusal.until;
  return stands ? { ...binding, problem: refusal.problem } : binding;
}
