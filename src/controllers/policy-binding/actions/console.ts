/** Calls 7, 8 and 9 about one account. */
import type { IamClient } from "../../../iam/client/client.ts";
import { isIamError } from "../../../iam/errors.ts";
import type { IamPolicy } from "../../../iam/model.ts";
import { keyOf } from "../../../kube/resource.ts";
import { recordEvent } from "../../frame/write-report.ts";
import { isUsable, type UsableSnapshot } from "../rules/choose.ts";
import { listed, without } from "../rules/policy-set.ts";
import { attributeRefusal, isRefusal } from "../rules/refusal.ts";
import { recent } from "../rules/schedule.ts";
import type { BindingsSnapshot, PerformBindings } from "../rules/snapshot.ts";
import { stateOf } from "../rules/state.ts";
import { vanishedBy } from "../rules/vanished.ts";

/** Call 9. What the answer lacks is remembered at once, whatever becomes of the run. */
export const listBindings: PerformBindings<"ListBindings"> = async (_, { snapshot, done }, run) => {
  const { client, availability, state, now } = usable(snapshot);
  const { suspendAccess } = availability.account;
  const live = await (suspendAccess ? client.urgent : client).listBindings(
    availability.account.tpn,
    run.signal,
  );
  run.setState({ ...state, vanished: vanishedBy(availability.account, live, state.vanished, now) });
  return { snapshot: { ...snapshot, live }, done };
};

const NEVER = 0;

/** Call 8. That the console judges the list and does not take it is a finding where it has new policies. */
export const syncBindings: PerformBindings<"SyncBindings"> = async (
  action,
  { snapshot, done },
  run,
) => {
  const { client, account, availability, now } = usable(snapshot);
  const { policyIds, before, reason, isDrift, suspects } = action;
  const { tpn, orgId } = availability.account;
  const { object } = snapshot;
  // The record is older than the call until it is written: whatever becomes of the run, the next one asks.
  run.setState({ ...stateOf(run.state, account, now), askedAt: NEVER });
  try {
    const caller = availability.account.suspendAccess ? client.urgent : client;
    await caller.syncBindings({ tpn, orgId, policyIds }, run.signal);
  } catch (error) {
    if (!isRefusal(error) || suspects.length === 0) throw error;
    run.log.warn(
      { ...keyOf(object), reason: "PolicyRefused", err: error },
      "console refused policies",
    );
    return { snapshot, done: { ...done, refusal: error } };
  }
  if (isDrift) {
    // At once, whatever becomes of the run: a fight over the policies must not go unnoticed.
    const state = stateOf(run.state, account, now);
    run.setState({ ...state, corrections: [...recent(state.corrections, now), now] });
    run.metrics.driftCorrections.inc();
  }
  const bound = without(policyIds, before);
  const unbound = without(before, policyIds);
  const type = reason === "PoliciesSynced" ? "Normal" : "Warning";
  recordEvent(run, account, { type, reason, action: "SyncBindings", note: note(bound, unbound) });
  run.log.info({ ...keyOf(object), reason, bound, unbound }, "synced policy bindings");
  return { snapshot, done: { ...done, synced: true } };
};

/** Call 7. It only helps to name a culprit: where the login may not list policies, nobody is named. */
export const attribute: PerformBindings<"AttributeRefusal"> = async (
  action,
  { snapshot, done },
  run,
) => {
  const { client, account, availability, now } = usable(snapshot);
  const policies = await readPolicies(client, availability.account.orgId, run.signal);
  run.setState(attributeRefusal(stateOf(run.state, account, now), action, policies, now));
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

function note(bound: readonly string[], unbound: readonly string[]): string {
  const parts = [
    bound.length === 0 ? [] : `Bound ${listed(bound)}.`,
    unbound.length === 0 ? [] : `Unbound ${listed(unbound)}.`,
  ].flat();
  return (parts.join(" ") || "Submitted the policies of the account.").slice(0, 1_000);
}

function usable(snapshot: BindingsSnapshot): UsableSnapshot {
  if (isUsable(snapshot)) return snapshot;
  throw new Error("the console is called for accounts only that can be worked on");
}
