/** listPolicies, syncBindings and listBindings for an account. */

import { plannedSync } from "../../../accounts/planned-sync.ts";
import { readEffect } from "../../../accounts/read-effect.ts";
import { readPolicies } from "../../../accounts/read-policies.ts";
import { toEvent } from "../../../api/events.ts";
import type { IamError } from "../../../console/errors.ts";
import { type Effect, notApplied, syncEffect } from "../../../console/evidence.ts";
import type { LiveBindings } from "../../../console/model.ts";
import { keyOf } from "../../../kube/resource.ts";
import { defineEffect } from "../../../reconciler/effects.ts";
import { publishEvents } from "../../../reconciler/publish.ts";
import { asSubmitted, isSpelledLike, otherSpellings } from "../../../util/spelling.ts";
import { toIso8601 } from "../../../util/time.ts";
import { toError } from "../../../util/to-error.ts";
import type { Sync } from "../rules/changes.ts";
import { type UsableSnapshot, watchedSync } from "../rules/evaluate.ts";
import { expectedSync } from "../rules/expected-sync.ts";
import { bySubmitted } from "../rules/ledger.ts";
import { listed, without } from "../rules/policy-set.ts";
import { isRefusal, type Refusal, withRefusals } from "../rules/refusal.ts";
import { recent } from "../rules/schedule.ts";
import type {
  AccountBindingsKind,
  BindingsReading,
  BindingsRun,
  BindingsStatus,
  Synced,
} from "../rules/snapshot.ts";
import { type AccountBindingsState, NEVER_READ, stateIn } from "../rules/state.ts";
import { addUnanswered, mayTakeEffect, toStored } from "../rules/unanswered-sync.ts";
import { addUnbound } from "../rules/unbound.ts";
import { vanishedBy } from "../rules/vanished.ts";
import { writeBindings } from "./objects.ts";

/** Foreign policies missing from the answer are remembered at once, even if the run fails later. */
export const listBindings = defineEffect<AccountBindingsKind, UsableSnapshot, void, UsableSnapshot>(
  {
    kind: "ListBindings",
    read: async (_, snapshot, run) => {
      const { session, availability, state, now } = snapshot;
      const { account } = availability;
      const console = run.console(session, { isUrgent: account.accessRevoked });
      const live = await console.listBindings(account.tpn, run.signal);
      const vanished = vanishedBy(account, live, state.vanished, now);
      return { answer: { ...snapshot, live }, remember: () => ({ ...state, vanished }) };
    },
  },
);

/**
 * syncBindings, and a read that shows its effect: a call that the read contradicts has failed. If the console rejects a
 * list with new policies, the rejection is an answer and not a failure.
 */
export const syncBindings = defineEffect<
  AccountBindingsKind,
  UsableSnapshot,
  Sync,
  IamError | Synced
>({
  kind: "SyncBindings",
  call: async (sync, snapshot, run) => {
    const { session, availability, account } = snapshot;
    const { policyIds, ours, suspects, reason } = sync;
    const { tpn, orgId, accessRevoked } = availability.account;
    // Until the record is written, it is older than the call: if this run fails, the next run calls listBindings.
    remember(snapshot, run, () => ({ lastReadTime: NEVER_READ }));
    const console = run.console(session, { isUrgent: accessRevoked });
    try {
      await console.syncBindings({ tpn, orgId, policyIds }, run.signal);
    } catch (error) {
      if (mayTakeEffect(error)) await rememberUnanswered(sync, snapshot, run);
      if (!isRefusal(error) || suspects.length === 0) throw error;
      run.log.warn(
        { ...keyOf(snapshot.object), reason: "PolicyRefused", err: error },
        "console refused policies",
      );
      return { answer: error };
    }
    remember(snapshot, run, ({ unbound }) => ({
      unbound: addUnbound(unbound, sync.before, policyIds, run.clock.now()),
    }));
    const read = () => console.listBindings(tpn, run.signal);
    const judge = (live: LiveBindings) => syncEffect(live, policyIds, ours);
    const { effect, seen } = await readEffect(read, judge, run);
    if (effect === "NotShown") return failAsNotApplied(sync, seen, snapshot, run);
    noteSynced(sync, snapshot, effect, run);
    const shown = seen.readable ? seen.policyIds : [];
    const answer: Synced = { effect, spellings: bySubmitted(otherSpellings(shown, ours)) };
    const event = toEvent(reason, "SyncBindings", note(sync, answer));
    return { answer, events: [{ object: account, event }] };
  },
  planned: async (sync, snapshot, run) => {
    const { tpn, orgId } = snapshot.availability.account;
    const console = run.console(snapshot.session);
    const policies = await readPolicies(console, orgId, run.signal);
    const { policyIds, why, refused } = expectedSync(snapshot, sync, policies);
    const call = await plannedSync({ tpn, policyIds }, policies, console, run.signal);
    const line = { ...call, message: [call.message, ...why].join(" ") };
    return { answer: { effect: "Shown", spellings: new Map(), refused }, line };
  },
});

/** The run fails, and the account's record has what the read showed. */
async function failAsNotApplied(
  action: Sync,
  seen: LiveBindings,
  snapshot: UsableSnapshot,
  run: BindingsRun,
): Promise<never> {
  const { account, availability } = snapshot;
  const error = notApplied("syncBindings", differences(action, seen));
  const field = availability.account.accessRevoked ? "revocationNotAppliedTime" : "notAppliedTime";
  const since = account.status?.bindings?.[field];
  await rememberUnanswered(action, snapshot, run, {
    notAppliedTime: undefined,
    revocationNotAppliedTime: undefined,
    [field]: since ?? toIso8601(run.clock.now()),
    ...(seen.readable ? { policyCount: seen.policyIds.length } : {}),
  });
  const note = `${error.message}. The call is repeated.`;
  const event = toEvent("ChangeNotApplied", "SyncBindings", note);
  if (since === undefined) publishEvents([{ object: account, event }], run);
  throw error;
}

function differences({ policyIds, ours }: Sync, seen: LiveBindings): string {
  const shown = seen.readable ? seen.policyIds : [];
  const bound = asSubmitted(shown, ours);
  const missing = without(policyIds, bound);
  const left = without(bound, policyIds);
  const alike = shown.filter((id) => missing.some((other) => isSpelledLike(id, other)));
  const instead = alike.length === 0 ? "" : ` (which may be another spelling of ${listed(alike)})`;
  const parts = [
    missing.length === 0 ? [] : `does not show ${listed(missing)}${instead}`,
    left.length === 0 ? [] : `still shows ${listed(left)}`,
  ];
  return `listBindings ${parts.flat().join(" and ")}`;
}

function noteSynced(
  { policyIds, before, reason, isDrift, reappeared }: Sync,
  snapshot: UsableSnapshot,
  effect: Effect,
  run: BindingsRun,
): void {
  const { now } = snapshot;
  if (isDrift) {
    remember(snapshot, run, ({ corrections }) => ({
      corrections: [...recent(corrections, now), now],
    }));
    run.metrics.driftCorrections.inc();
  }
  if (reappeared.length > 0) run.metrics.reappearedPolicies.inc(reappeared.length);
  const changes = { bound: without(policyIds, before), unbound: without(before, policyIds) };
  run.log.info({ ...keyOf(snapshot.object), reason, effect, ...changes }, "synced policy bindings");
}

/** listPolicies. Only helps to name a rejected policy; without permission to list policies, no policy is named. */
export const attributeRefusal = defineEffect<AccountBindingsKind, UsableSnapshot, Refusal, void>({
  kind: "AttributeRefusal",
  read: async (refusal, snapshot, run) => {
    const { session, availability, now } = snapshot;
    const { orgId } = availability.account;
    const policies = await readPolicies(run.console(session), orgId, run.signal);
    return {
      answer: undefined,
      remember: (state) => withRefusals(memoryOf(snapshot, { state }), refusal, policies, now),
    };
  },
});

/**
 * Remembers the policies that the call may still bind: at once in memory, and in the account's status for the next
 * leader. That is one additional write, only after a call without a usable response. Covers only policies declared by
 * PolicyBindings: no other policy is ever removed because of the call.
 */
async function rememberUnanswered(
  { ours }: Sync,
  snapshot: UsableSnapshot,
  run: BindingsRun,
  shown: BindingsStatus = {},
): Promise<void> {
  const { account } = snapshot;
  const known = watchedSync(snapshot, memoryOf(snapshot, run));
  const unanswered = addUnanswered(known, ours, run.clock.now());
  remember(snapshot, run, () => ({ unanswered }));
  const stored = account.status?.bindings ?? {};
  const unansweredSync = toStored(unanswered, stored.unansweredSync);
  const { revocation: _, ...bindings } = stored;
  try {
    await writeBindings(account, { ...bindings, ...shown, unansweredSync }, run);
  } catch (error) {
    // The process state has it, and the next record contains it.
    run.log.debug({ err: toError(error) }, "could not store an unanswered call");
  }
}

/** At once, because a later run must know of the call even if this run fails. */
function remember(
  snapshot: UsableSnapshot,
  run: BindingsRun,
  change: (state: AccountBindingsState) => Partial<AccountBindingsState>,
): void {
  const state = memoryOf(snapshot, run);
  run.setState({ ...state, ...change(state) });
}

function memoryOf(
  snapshot: UsableSnapshot,
  run: Pick<BindingsReading, "state">,
): AccountBindingsState {
  return stateIn(snapshot, run.state) ?? snapshot.state;
}

function note({ policyIds, before, reason, reappeared }: Sync, { effect }: Synced): string {
  const bound = without(policyIds, before);
  const unbound = without(before, policyIds);
  const why =
    reason === "PoliciesReappeared"
      ? [
          `An earlier syncBindings call without a usable response took effect late and bound ${listed(reappeared)} again.`,
        ]
      : [];
  const [binds, unbinds] =
    effect === "Shown" ? ["Bound", "Unbound"] : ["Asked to bind", "Asked to unbind"];
  const parts = [
    why,
    bound.length === 0 ? [] : `${binds} ${listed(bound)}.`,
    unbound.length === 0 ? [] : `${unbinds} ${listed(unbound)}.`,
    effect === "Shown" ? [] : "The console's answer about the bound policies cannot be read.",
  ].flat();
  return (parts.join(" ") || "Submitted the policies of the account.").slice(0, 1_000);
}
