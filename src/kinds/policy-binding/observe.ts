/** Reads an account and its PolicyBindings from the caches or from the API server. */

import { boundToOtherConsole } from "../../accounts/other-console.ts";
import { recordedPolicies } from "../../accounts/recorded-policies.ts";
import { MAX_MESSAGE } from "../../api/conditions.ts";
import type { Rights } from "../../api/connection.ts";
import { requestAnnotations } from "../../api/meta.ts";
import type { Plan } from "../../api/plan.ts";
import { isPlanOnly } from "../../api/plan-only.ts";
import type { PolicyBinding, PolicyBindingStatus } from "../../api/policy-binding.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { isPartial, keyOf, keyText, type ObjectKey } from "../../kube/resource.ts";
import { accessToRevoke, type Connections, type Context } from "../../reconciler/context.ts";
import type { Waiting } from "../../reconciler/rules/outcome.ts";
import { reconciling } from "../../reconciler/rules/waiting.ts";
import { indexes } from "../../resources/indexes.ts";
import { policyBindingType, serviceAccountType } from "../../resources/resource-types.ts";
import { readTime } from "../../util/agreed-time.ts";
import type { Instant } from "../../util/time.ts";
import type { AccountRef } from "./account-store.ts";
import { withReported } from "./rules/reported-refusal.ts";
import { toAvailability } from "./rules/restriction.ts";
import { withoutTimesToCome } from "./rules/set-back.ts";
import type { BindingsReading, BindingsSnapshot } from "./rules/snapshot.ts";
import { type AccountBindingsState, stateOf, withRefusal } from "./rules/state.ts";
import { leftByEarlierProcess } from "./rules/unanswered-sync.ts";
import {
  type AccountView,
  type BindingView,
  toAccountView,
  toBindingView,
  type UnavailableAccount,
} from "./rules/views.ts";

/** Characters of JSON. */
const MOST_OF_PLAN = 8_192;
/** In place of a large plan: differs from every plan, so that the next status replaces it. */
const NO_PLAN: Plan = { calls: [{ call: "", object: "", message: "" }] };

type SnapshotBase = Pick<BindingsSnapshot, "object" | "source" | "now" | "live" | "state">;

/** A ServiceAccount, if it exists, and every PolicyBinding that names it. */
interface AccountObjects {
  readonly account: ServiceAccount | undefined;
  readonly bindings: readonly PolicyBinding[];
}

/** Reads the caches, or the API server if an object is too large for the cache. Actions call the console. */
export function observe(
  object: AccountRef,
  _spec: unknown,
  run: BindingsReading,
): Promise<BindingsSnapshot> {
  const objects = readCaches(run, keyOf(object));
  const source = objects === undefined ? "Behind" : "Caches";
  const { account, bindings } = objects ?? { account: undefined, bindings: [] };
  const now = run.clock.now();
  const known = run.state && withoutTimesToCome(run.state, now);
  const state = account && stateOf(known, account, now);
  const base = { object, source, now, live: undefined, state } as const;
  return isPartial(account) || bindings.some(isPartial)
    ? readLive(base, run)
    : toSnapshot(base, { account, bindings }, run);
}

/**
 * Reads the same objects from the API server. A PUT and the removal of a finalizer are decided on this answer (S10,
 * S20): a cache may be behind without knowing it; this answer is complete or an error.
 */
export async function readLive(
  snapshot: SnapshotBase,
  run: BindingsReading,
): Promise<BindingsSnapshot> {
  const { kube, signal } = run;
  const key = keyOf(snapshot.object);
  const bindings = await kube.collect(policyBindingType, withoutExtras, {
    namespace: key.namespace,
    fieldSelector: `spec.serviceAccountRef.name=${key.name}`,
    signal,
  });
  const account = await kube.get(serviceAccountType, key, { signal });
  const named = bindings.filter((binding) => names(binding, key));
  return toSnapshot({ ...snapshot, source: "Server" }, { account, bindings: named }, run);
}

/**
 * An account can have many PolicyBindings, which are in memory together, and tenants decide how large they are. Keeps
 * the metadata that a run reads, and conditions that the operator can have written.
 */
function withoutExtras(binding: PolicyBinding): PolicyBinding {
  const stored: PolicyBinding["metadata"] & { readonly managedFields?: unknown } = binding.metadata;
  const { labels, ownerReferences, managedFields, annotations: notes, ...metadata } = stored;
  const kept = Object.entries(notes ?? {}).filter(([name]) => requestAnnotations.includes(name));
  const annotations = Object.fromEntries(kept);
  const whole = { ...binding, metadata: { ...metadata, annotations } };
  return whole.status === undefined ? whole : { ...whole, status: smaller(whole.status) };
}

function smaller({ plan, conditions, ...status }: PolicyBindingStatus): PolicyBindingStatus {
  return {
    ...status,
    ...(plan && { plan: JSON.stringify(plan).length > MOST_OF_PLAN ? NO_PLAN : plan }),
    ...(conditions && {
      conditions: conditions.filter(({ message }) => message.length <= MAX_MESSAGE),
    }),
  };
}

/** `undefined` while a cache has not been listed or has not seen the operator's own last writes. */
function readCaches(
  { caches }: Pick<Context, "caches">,
  key: ObjectKey,
): AccountObjects | undefined {
  const serviceAccounts = caches.of(serviceAccountType);
  const policyBindings = caches.of(policyBindingType);
  if (!serviceAccounts.synced || !policyBindings.synced) return undefined;
  const bindings = policyBindings.byIndex(indexes.serviceAccount, keyText(key));
  const current =
    serviceAccounts.isCurrent(key) &&
    bindings.every((binding) => policyBindings.isCurrent(keyOf(binding)));
  return current ? { account: serviceAccounts.get(key), bindings } : undefined;
}

async function toSnapshot(
  base: SnapshotBase,
  { account, bindings }: AccountObjects,
  run: BindingsReading,
): Promise<BindingsSnapshot> {
  const { state } = base;
  const { namespace, name } = keyOf(base.object);
  const view = toAccountView(account, name);
  const access = await accessTo(account, view, namespace, run.connections);
  // By the console's clock too, which is known from here on.
  const at = readTime(run.clock);
  const { now } = at;
  const isPlanned = (binding: PolicyBinding) =>
    !run.isPlan && [account, binding].some((each) => each && isPlanOnly(each));
  const { spec, status } = account ?? {};
  const isSuspended = spec?.suspend === true && status?.ownership !== "Gone";
  const recorded = recordedPolicies(status?.bindings, "Declared", "Unrevoked");
  const views = inOrder(bindings).map((binding) => {
    const seen = toBindingView(binding, { recorded, ...access });
    const known = state === undefined ? seen : withRefusal(state, seen, now);
    const judged = run.isPlan && run.state === undefined ? withReported(known, binding) : known;
    if (isPlanned(binding)) return { ...judged, ignored: true, stage: "Live" } as const;
    return isSuspended ? ignoredBySuspension(judged) : judged;
  });
  const withLeft = state && isNew(state, run) ? withLeftBehind(state, account, views, now) : state;
  return {
    ...base,
    now,
    state: withLeft,
    account,
    availability: toAvailability(view, access, {
      account,
      bindings: views,
      state: withLeft,
      ...at,
    }),
    session: access.session,
    bindings: views,
    objects: new Map(bindings.map((binding) => [binding.metadata.uid, binding])),
  };
}

/**
 * For a PolicyBinding of a suspended account, the operator binds and unbinds nothing. A deleted PolicyBinding with
 * nothing to unbind is still released.
 */
function ignoredBySuspension(view: BindingView): BindingView {
  const isWaiting = view.stage === "Revoking" && view.applied.length > 0;
  return { ...view, ignored: true, stage: isWaiting ? "Live" : view.stage };
}

/** Whether this process has no state of this account yet. */
function isNew({ accountUid }: AccountBindingsState, run: BindingsReading): boolean {
  return run.state?.accountUid !== accountUid;
}

function withLeftBehind(
  state: AccountBindingsState,
  account: ServiceAccount | undefined,
  views: readonly BindingView[],
  now: Instant,
): AccountBindingsState {
  const left = leftByEarlierProcess(views, recordedPolicies(account?.status?.bindings), now);
  return { ...state, unanswered: state.unanswered ?? left };
}

interface Access {
  readonly session: number | undefined;
  readonly grant: Rights | undefined;
  readonly mayRetain: boolean;
  /** How long the operator waits before it unbinds all policies in a namespace without a grant. */
  readonly ungranted?: { readonly gracePeriodMs: number | undefined };
  /** Why the operator cannot call the console for the account. */
  readonly obstacle?: UnavailableAccount;
  /** Why the operator must not bind anything. */
  readonly refusal?: UnavailableAccount;
}

async function accessTo(
  account: ServiceAccount | undefined,
  { connectionRef }: AccountView,
  namespace: string,
  connections: Connections,
): Promise<Access> {
  if (account === undefined || connectionRef === undefined)
    return { session: undefined, grant: undefined, mayRetain: false };
  const lookup = await connections.resolve(connectionRef, namespace);
  const found = accessToRevoke(lookup);
  const rights = lookup.ok ? lookup.access.grant : lookup.grant;
  const mayRetain = rights?.retainPolicies ?? connectionRef.kind === "Connection";
  const elsewhere = found && boundToOtherConsole(account, found.spec);
  const refusal = lookup.ok ? undefined : unavailable(lookup.waiting);
  const obstacle =
    elsewhere === undefined
      ? refusal
      : unavailable(reconciling("WaitingForServiceAccount", elsewhere));
  if (found === undefined || elsewhere !== undefined)
    return { session: undefined, grant: undefined, mayRetain, ...(obstacle && { obstacle }) };
  return {
    session: found.session,
    grant: rights,
    mayRetain,
    ...(refusal && { refusal }),
    ...(lookup.ok || lookup.ungranted === undefined ? {} : { ungranted: lookup.ungranted }),
  };
}

function unavailable({ state, reason, message }: Waiting): UnavailableAccount {
  return { kind: "Unavailable", state, reason, message };
}

function names(binding: PolicyBinding, key: ObjectKey): boolean {
  const spec = binding.spec as Partial<PolicyBinding["spec"]> | undefined;
  return binding.metadata.namespace === key.namespace && spec?.serviceAccountRef?.name === key.name;
}

function inOrder(bindings: readonly PolicyBinding[]): readonly PolicyBinding[] {
  const order = ({ metadata }: PolicyBinding) => `${metadata.creationTimestamp}/${metadata.uid}`;
  return bindings.toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
}
