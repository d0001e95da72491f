/** listPolicies, syncBindings and listBindings for an account. */
import type { IamClient } from "../../../iam/client/client.ts";
import { isIamError } from "../../../iam/errors.ts";
import type { IamPolicy } from "../../../iam/model.ts";
import { keyOf } from "../../../kube/resource.ts";
import { toError } from "../../../util/to-error.ts";
import { isUsable, type UsableSnapshot, watchedSync } from "../rules/choose.ts";
import { listed, without } from "../rules/policy-set.ts";
import { attributeRefusal, isRefusal } from "../rules/refusal.ts";
import { recent } from "../rules/schedule.ts";
import type {
  BindingsActionOf,
  BindingsRun,
  BindingsSnapshot,
  PerformBindings,
} from "../rules/snapshot.ts";
import { type AccountBindingsState, stateIn } from "../rules/state.ts";
import { addUnanswered, mayTakeEffect, toStored } from "../rules/unanswered-sync.ts";
import { addUnbound } from "../rules/unbound.ts";
import { vanishedBy } from "../rules/vanished.ts";
import { writeBindings } from "./objects.ts";

/** listBindings. Foreign policies missing from the answer are remembered at once, even if the run fails later. */
export const listBindings: PerformBindings<"ListBindings"> = async (_, { snapshot, done }, run) => {
  const { client, availability, state, now } = usable(snapshot);
  const { accessRevoked } = availability.account;
  const live = await (accessRevoked ? client.urgent : client).listBindings(
    availability.account.tpn,
    run.signal,
  );
  run.setState({ ...state, vanished: vanishedBy(availability.account, live, state.vanished, now) });
  return { snapshot: { ...snapshot, live }, done };
};

const NEVER = 0;

/** syncBindings. If the console rejects a list with new policies, the rejection is a finding and not a failure. */
export const syncBindings: PerformBindings<"SyncBindings"> = async (
  action,
  { snapshot, done },
  run,
) => {
  const { client, account, availability, now } = usable(snapshot);
  const { policyIds, before, reason, isDrift, reappeared, suspects } = action;
  const { tpn, orgId } = availability.account;
  const { object } = snapshot;
  // Until the record is written, it is older than the call: if this run fails, the next run calls listBindings.
  run.setState({ ...memoryOf(snapshot, run), askedAt: NEVER });
  try {
    const caller = availability.account.accessRevoked ? client.urgent : client;
    await caller.syncBindings({ tpn, orgId, policyIds }, run.signal);
  } catch (error) {
    if (mayTakeEffect(error)) await rememberUnanswered(action, snapshot, run);
    if (!isRefusal(error) || suspects.length === 0) throw error;
    run.log.warn(
      { ...keyOf(object), reason: "PolicyRefused", err: error },
      "console refused policies",
    );
    return { snapshot, done: { ...done, refusal: error } };
  }
  const state = memoryOf(snapshot, run);
  run.setState({
    ...state,
    unbound: addUnbound(state.unbound, before, policyIds, run.clock.now()),
    // Counted at once, even if the run fails later: repeated corrections must not go unnoticed.
    ...(isDrift ? { corrections: [...recent(state.corrections, now), now] } : {}),
  });
  if (isDrift) run.metrics.driftCorrections.inc();
  if (reappeared.length > 0) run.metrics.reappearedPolicies.inc(reappeared.length);
  const bound = without(policyIds, before);
  const unbound = without(before, policyIds);
  const type = reason === "PoliciesSynced" ? "Normal" : "Warning";
  run.log.info({ ...keyOf(object), reason, bound, unbound }, "synced policy bindings");
  const event = {
    type,
    reason,
    action: "SyncBindings",
    note: note(action, bound, unbound),
  } as const;
  return {
    snapshot,
    done: { ...done, synced: true },
    events: [{ object: account, event }],
  };
};

/** listPolicies. Only helps to name a rejected policy; without permission to list policies, no policy is named. */
export const attribute: PerformBindings<"AttributeRefusal"> = async (
  action,
  { snapshot, done },
  run,
) => {
  const { client, availability, now } = usable(snapshot);
  const policies = await readPolicies(client, availability.account.orgId, run.signal);
  run.setState(attributeRefusal(memoryOf(snapshot, run), action, policies, now));
  return { snapshot, done: { ...done, refusalAttributed: true } };
};

async function readPolicies(
  client: IamClient,
  orgId: string,
  signal: AbortSignal,
): Promise<readonly IamPolicy[] | undefined> {
  try {
    return await client.listPolicies({ orgId }, signal);
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

function memoryOf(snapshot: BindingsSnapshot, run: BindingsRun): AccountBindingsState {
  return stateIn(snapshot, run.state) ?? usable(snapshot).state;
}

function note(
  { reason, reappeared }: BindingsActionOf<"SyncBindings">,
  bound: readonly string[],
  unbound: readonly string[],
): string {
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
