/** listPolicies, syncBindings and listBindings for an account. */
import type { IamReader } from "../../../iam/client/reader.ts";
import { type IamError, isIamError } from "../../../iam/errors.ts";
import type { IamPolicy } from "../../../iam/model.ts";
import { keyOf } from "../../../kube/resource.ts";
import { toError } from "../../../util/to-error.ts";
import { plannedSync } from "../../planned-sync.ts";
import { isUsable, type UsableSnapshot, watchedSync } from "../rules/choose.ts";
import { listed, without } from "../rules/policy-set.ts";
import { isRefusal, withRefusals } from "../rules/refusal.ts";
import { recent } from "../rules/schedule.ts";
import type {
  BindingsActionOf,
  BindingsReading,
  BindingsRun,
  BindingsSnapshot,
} from "../rules/snapshot.ts";
import { type AccountBindingsState, NEVER_ASKED, stateIn } from "../rules/state.ts";
import { addUnanswered, mayTakeEffect, toStored } from "../rules/unanswered-sync.ts";
import { addUnbound } from "../rules/unbound.ts";
import { vanishedBy } from "../rules/vanished.ts";
import { writeBindings } from "./objects.ts";
import type { BindingsEffect, BindingsRead } from "./step-types.ts";

/** listBindings. Foreign policies missing from the answer are remembered at once, even if the run fails later. */
export const listBindings: BindingsRead<"ListBindings"> = {
  read: async (_, { snapshot, done }, run) => {
    const { session, availability, state, now } = usable(snapshot);
    const { account } = availability;
    const console = run.console(session, { isUrgent: account.accessRevoked });
    const live = await console.listBindings(account.tpn, run.signal);
    const vanished = vanishedBy(account, live, state.vanished, now);
    return {
      snapshot: { ...snapshot, live },
      done,
      remember: () => ({ ...state, vanished }),
    };
  },
};

/**
 * syncBindings. If the console rejects a list with new policies, the rejection is an answer and not a failure. Every
 * change of the process state is kept at once, because a later run must know of the call even if this run fails.
 */
export const syncBindings: BindingsEffect<"SyncBindings", IamError | undefined> = {
  call: async (action, { snapshot }, run) => {
    const { session, availability } = usable(snapshot);
    const { policyIds, suspects } = action;
    const { tpn, orgId, accessRevoked } = availability.account;
    // Until the record is written, it is older than the call: if this run fails, the next run calls listBindings.
    run.setState({ ...memoryOf(snapshot, run), askedAt: NEVER_ASKED });
    try {
      const console = run.console(session, { isUrgent: accessRevoked });
      await console.syncBindings({ tpn, orgId, policyIds }, run.signal);
    } catch (error) {
      if (mayTakeEffect(error)) await rememberUnanswered(action, snapshot, run);
      if (!isRefusal(error) || suspects.length === 0) throw error;
      run.log.warn(
        { ...keyOf(snapshot.object), reason: "PolicyRefused", err: error },
        "console refused policies",
      );
      return error;
    }
    noteSynced(action, snapshot, run);
    return undefined;
  },
  planned: async ({ policyIds }, { snapshot }, run) => {
    const { session, availability } = usable(snapshot);
    const { tpn, orgId } = availability.account;
    const set = { tpn, orgId, policyIds };
    return { answer: undefined, line: await plannedSync(set, run.console(session), run.signal) };
  },
  after: (action, { snapshot, done }, refusal) => {
    if (refusal !== undefined) return { snapshot, done: { ...done, refusal } };
    const { account } = usable(snapshot);
    const { reason } = action;
    const type = reason === "PoliciesSynced" ? "Normal" : "Warning";
    const event = { type, reason, action: "SyncBindings", note: note(action) } as const;
    return { snapshot, done: { ...done, synced: true }, events: [{ object: account, event }] };
  },
};

function noteSynced(
  { policyIds, before, reason, isDrift, reappeared }: BindingsActionOf<"SyncBindings">,
  snapshot: BindingsSnapshot,
  run: BindingsRun,
): void {
  const state = memoryOf(snapshot, run);
  const { now } = snapshot;
  run.setState({
    ...state,
    unbound: addUnbound(state.unbound, before, policyIds, run.clock.now()),
    // Counted at once, even if the run fails later: repeated corrections must not go unnoticed.
    ...(isDrift ? { corrections: [...recent(state.corrections, now), now] } : {}),
  });
  if (isDrift) run.metrics.driftCorrections.inc();
  if (reappeared.length > 0) run.metrics.reappearedPolicies.inc(reappeared.length);
  const changes = { bound: without(policyIds, before), unbound: without(before, policyIds) };
  run.log.info({ ...keyOf(snapshot.object), reason, ...changes }, "synced policy bindings");
}

/** listPolicies. Only helps to name a rejected policy; without permission to list policies, no policy is named. */
export const attributeRefusal: BindingsRead<"AttributeRefusal"> = {
  read: async (action, { snapshot, done }, run) => {
    const { session, availability, now } = usable(snapshot);
    const { orgId } = availability.account;
    const policies = await readPolicies(run.console(session), orgId, run.signal);
    return {
      snapshot,
      done: { ...done, refusalAttributed: true },
      remember: (state) => withRefusals(memoryOf(snapshot, { state }), action, policies, now),
    };
  },
};

async function readPolicies(
  console: Pick<IamReader, "listPolicies">,
  orgId: string,
  signal: AbortSignal,
): Promise<readonly IamPolicy[] | undefined> {
  try {
    return await console.listPolicies({ orgId }, signal);
  } catch (error) {
    if (isIamError(error)) return undefined;
    throw error;
  }
}

/**
 * Remembers the policies that the call may still bind: at once in memory, and in the account's status for the next
 * leader. That is one additional write, only after a call without a usable response. Covers only policies declared by
 * PolicyBindings: no other policy is ever removed because of the call.
 */
async function rememberUnanswered(
  { ours }: BindingsActionOf<"SyncBindings">,
  snapshot: BindingsSnapshot,
  run: BindingsRun,
): Promise<void> {
  const { account } = usable(snapshot);
  const state = memoryOf(snapshot, run);
  const unanswered = addUnanswered(watchedSync(snapshot, state), ours, run.clock.now());
  run.setState({ ...state, unanswered });
  const stored = account.status?.bindings ?? {};
  const unansweredSync = toStored(unanswered, stored.unansweredSync);
  const { confirmationTime: _, emptiedTime: __, ...bindings } = stored;
  try {
    await writeBindings(account, { ...bindings, unansweredSync }, run);
  } catch (error) {
    // The process state has it, and the next record contains it.
    run.log.debug({ err: toError(error) }, "could not store an unanswered call");
  }
}

function memoryOf(
  snapshot: BindingsSnapshot,
  run: Pick<BindingsReading, "state">,
): AccountBindingsState {
  return stateIn(snapshot, run.state) ?? usable(snapshot).state;
}

function note({ policyIds, before, reason, reappeared }: BindingsActionOf<"SyncBindings">): string {
  const bound = without(policyIds, before);
  const unbound = without(before, policyIds);
  const why =
    reason === "PoliciesReappeared"
      ? [
          `An earlier syncBindings call without a usable response took effect late and bound ${listed(reappeared)} again.`,
        ]
      : [];
  const parts = [
    why,
    bound.length === 0 ? [] : `Bound ${listed(bound)}.`,
    unbound.length === 0 ? [] : `Unbound ${listed(unbound)}.`,
  ].flat();
  return (parts.join(" ") || "Submitted the policies of the account.").slice(0, 1_000);
}

function usable(snapshot: BindingsSnapshot): UsableSnapshot {
  if (isUsable(snapshot)) return snapshot;
  throw new Error("the console is called for accounts only that can be worked on");
}
