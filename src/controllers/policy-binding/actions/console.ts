/** Calls 7, 8 and 9 about one account. */
import type { IamClient } from "../../../iam/client.ts";
import { isIamError } from "../../../iam/errors.ts";
import type { IamPolicy } from "../../../iam/model.ts";
import type { EventNote } from "../../../kube/event-recorder.ts";
import { keyOf } from "../../../kube/resource.ts";
import { recordEvent } from "../../frame/write-report.ts";
import { isUsable, type UsableSnapshot } from "../rules/choose.ts";
import { listed, without } from "../rules/policy-set.ts";
import { attributeRefusal, isRefusal } from "../rules/refusal.ts";
import { recent } from "../rules/schedule.ts";
import type {
  AttributeRefusal,
  BindingsProgress,
  BindingsRun,
  BindingsSnapshot,
  SyncBindings,
} from "../rules/snapshot.ts";
import { stateOf } from "../rules/state.ts";
import { vanishedBy } from "../rules/vanished.ts";

/** Call 9. What the answer lacks is remembered at once, whatever becomes of the run. */
export async function listBindings(
  { snapshot, done }: BindingsProgress,
  run: BindingsRun,
): Promise<BindingsProgress> {
  const { client, availability, state, now } = usable(snapshot);
  const live = await client.listBindings(availability.account.tpn, run.signal);
  run.setState({ ...state, vanished: vanishedBy(availability.account, live, state.vanished, now) });
  return { snapshot: { ...snapshot, live }, done };
}

/** Call 8, with its event. A list that the console judges and does not take is a finding where it has new policies. */
export async function syncBindings(
  action: SyncBindings,
  progress: BindingsProgress,
  run: BindingsRun,
): Promise<BindingsProgress> {
  const snapshot = usable(progress.snapshot);
  const { tpn, orgId, policyIds, before, reason, isDrift, hasNewPolicies } = action;
  const key = keyOf(snapshot.object);
  try {
    await snapshot.client.syncBindings({ tpn, orgId, policyIds }, run.signal);
  } catch (error) {
    if (!isRefusal(error) || !hasNewPolicies) throw error;
    run.log.warn({ ...key, reason: "PolicyRefused", err: error }, "console refused policies");
    return { ...progress, done: { ...progress.done, refusal: error } };
  }
  if (isDrift) rememberCorrection(snapshot, run);
  recordEvent(run, snapshot.account, syncEvent(action));
  const bound = without(policyIds, before);
  const unbound = without(before, policyIds);
  run.log.info({ ...key, reason, bound, unbound }, "synced policy bindings");
  return { ...progress, done: { ...progress.done, synced: true } };
}

/** Call 7, which only helps to name a culprit: where the login may not list policies, nobody is named. */
export async function attribute(
  action: AttributeRefusal,
  { snapshot, done }: BindingsProgress,
  run: BindingsRun,
): Promise<BindingsProgress> {
  const { client, account, now } = usable(snapshot);
  const policies = await readPolicies(client, action.orgId, run.signal);
  run.setState(attributeRefusal(stateOf(run.state, account, now), action, policies, now));
  return { snapshot, done: { ...done, refusalAttributed: true } };
}

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

/** At once, whatever becomes of the run: a fight over the policies must not go unnoticed. */
function rememberCorrection({ account, now }: UsableSnapshot, run: BindingsRun): void {
  const state = stateOf(run.state, account, now);
  run.setState({ ...state, corrections: [...recent(state.corrections, now), now] });
  run.metrics.driftCorrections.inc();
}

function syncEvent({ reason, policyIds, before }: SyncBindings): EventNote {
  const bound = without(policyIds, before);
  const unbound = without(before, policyIds);
  const parts = [
    bound.length === 0 ? "" : `Bound ${listed(bound)}.`,
    unbound.length === 0 ? "" : `Unbound ${listed(unbound)}.`,
  ].filter((part) => part !== "");
  return {
    type: reason === "PoliciesSynced" ? "Normal" : "Warning",
    reason,
    action: "SyncBindings",
    note: (parts.join(" ") || "Submitted the policies of the account.").slice(0, 1_000),
  };
}

function usable(snapshot: BindingsSnapshot): UsableSnapshot {
  if (isUsable(snapshot)) return snapshot;
  throw new Error("the console is called for accounts only that can be worked on");
}
