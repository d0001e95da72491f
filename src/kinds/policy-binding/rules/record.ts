/** `status.bindings` of the ServiceAccount after a run (S11). Pure. */
import { isDeepStrictEqual } from "node:util";
import { isRevocationSubmitted } from "../../../accounts/revocation-proof.ts";
import { toEvent } from "../../../api/events.ts";
import type { ServiceAccount } from "../../../api/service-account.ts";
import type { EventOf } from "../../../reconciler/rules/report.ts";
import { MINUTE, toIso8601 } from "../../../util/time.ts";
import { type Choice, hasSay, isUnread, type UsableSnapshot, watchedSync } from "./choose.ts";
import { MAX_POLICIES } from "./decide.ts";
import { common, listed, type PolicySet, union, without } from "./policy-set.ts";
import { overdue } from "./release.ts";
import { isStale } from "./schedule.ts";
import type { BindingsStatus } from "./snapshot.ts";
import { toStored } from "./unanswered-sync.ts";
import type { UsableAccount } from "./views.ts";

export interface NewRecord {
  readonly account: ServiceAccount;
  readonly bindings: BindingsStatus;
  readonly events: readonly EventOf[];
}

/** The new record; `undefined` if the stored record is up to date, or the account needs none. */
export function recordOf(snapshot: UsableSnapshot, choice: Choice): NewRecord | undefined {
  const { account, availability } = snapshot;
  const { bindings: stored } = account.status ?? {};
  const isOver = stored?.unansweredSync !== undefined || isRevocationSubmitted(stored);
  if (!hasSay(snapshot) && !isOver) return undefined;
  const bindings = statusOf(snapshot, choice);
  if (bindings === undefined) return undefined;
  const events = [
    ...withdrawalEvents(account, availability),
    ...foreignEvents(account, foundForeign(choice)),
  ];
  return { account, bindings, events };
}

/** The record with policies that are still to be unbound when their PolicyBindings are gone. */
export function withUnrevoked(account: ServiceAccount, policyIds: PolicySet): NewRecord {
  const { bindings: stored = {} } = account.status ?? {};
  const unrevoked = union(stored.unrevokedPolicyIds ?? [], policyIds).slice(0, MAX_POLICIES);
  return { account, bindings: { ...stored, unrevokedPolicyIds: unrevoked }, events: [] };
}

/** One event when the policies of a namespace without a grant get a time at which they are unbound. */
function withdrawalEvents(
  account: ServiceAccount,
  { restriction }: UsableAccount,
): readonly EventOf[] {
  const withdrawal = restriction?.withdrawal;
  if (withdrawal === undefined || account.status?.bindings?.ungrantedTime !== undefined) return [];
  const { policyIds, until } = withdrawal;
  const note = `No grant of the connection matches this namespace any more. ${listed(policyIds)} will be unbound at ${toIso8601(until)}, unless a grant matches again.`;
  return [{ object: account, event: toEvent("GrantRemoved", "SyncBindings", note) }];
}

function foreignEvents(account: ServiceAccount, policyIds: PolicySet): readonly EventOf[] {
  if (policyIds.length === 0) return [];
  const note = `${listed(policyIds)} bound outside the operator; kept (foreignPolicies: Keep).`;
  return [{ object: account, event: toEvent("ForeignPoliciesFound", "SyncBindings", note) }];
}

/** Foreign policies that the stored record does not contain. */
function foundForeign({ input, decision, verified }: Choice): PolicySet {
  const { record: known, foreignPolicies } = input.account;
  if (!verified || foreignPolicies === "Remove" || known.ours === undefined) return [];
  return without(decision.foreign, known.foreign);
}

/** Policies that this run added to `unrevokedPolicyIds` stay there until the next run. */
function statusOf(snapshot: UsableSnapshot, choice: Choice): BindingsStatus | undefined {
  const { account, availability, now, state, synced, unrevoked: added = [] } = snapshot;
  const { decision, verified } = choice;
  const stored: BindingsStatus = account.status?.bindings ?? {};
  const {
    unansweredSync,
    abandonedPolicyIds,
    unrevokedPolicyIds,
    ungrantedTime: _,
    ...most
  } = stored;
  const { respelledPolicyIds: _____, ...rest } = most;
  const { confirmationTime: __, emptiedTime: ___, unreadable: ____, ...known } = rest;
  const { notAppliedTime: ______, ...settled } = known;
  const { ours, foreign, bound, blocked } = decision;
  const old = blocked === undefined && verified ? settled : known;
  const isKnown = blocked === undefined && (verified || old.policyIds !== undefined);
  const watched = watchedSync(snapshot, state);
  const { withdrawal } = availability.restriction ?? {};
  const isPending = withdrawal !== undefined && (!withdrawal.isOver || blocked !== undefined);
  const left = isKnown
    ? common(foreign, union(old.policyIds ?? [], abandonedPolicyIds ?? []))
    : (abandonedPolicyIds ?? []);
  const unrevoked = isKnown
    ? common(bound, overdue(availability.account, snapshot.bindings))
    : (unrevokedPolicyIds ?? []);
  const next: BindingsStatus = {
    ...old,
    ...(isKnown
      ? {
          policyIds: [...ours],
          foreignPolicyIds: foreign.slice(0, MAX_POLICIES),
          policyCount: bound.length,
        }
      : {}),
    ...(watched === undefined ? {} : { unansweredSync: toStored(watched, unansweredSync) }),
    ...policyList("respelledPolicyIds", synced?.respelled ?? choice.respelled),
    ...policyList("abandonedPolicyIds", left),
    ...policyList("unrevokedPolicyIds", union(unrevoked, added)),
    ...((isKnown ? isUnread(snapshot) : stored.unreadable) ? { unreadable: true } : {}),
    ...(isPending ? { ungrantedTime: toIso8601(withdrawal.since) } : {}),
    ...(availability.account.accessRevoked ? revocationProof(snapshot, choice) : {}),
  };
  const changed = !isDeepStrictEqual(next, stored);
  if (verified && (changed || isStale(old.lastSyncTime, now)))
    return { ...next, lastSyncTime: toIso8601(now) };
  return changed ? next : undefined;
}

/** A field of the record; absent if the list is empty. */
function policyList(
  field: "abandonedPolicyIds" | "respelledPolicyIds" | "unrevokedPolicyIds",
  policyIds: PolicySet,
): Pick<BindingsStatus, typeof field> {
  return policyIds.length === 0 ? {} : { [field]: policyIds.slice(0, MAX_POLICIES) };
}

/** A record from before access was revoked proves nothing: policies can be bound outside the operator. */
function revocationProof(
  snapshot: UsableSnapshot,
  choice: Choice,
): Pick<BindingsStatus, "emptiedTime" | "confirmationTime"> {
  const isEmptied = choice.decision.sync !== undefined;
  const emptiedTime = isEmptied
    ? toIso8601(snapshot.now)
    : snapshot.account.status?.bindings?.emptiedTime;
  const confirmationTime = confirmationOf(snapshot, choice);
  return {
    ...(emptiedTime === undefined ? {} : { emptiedTime }),
    ...(confirmationTime === undefined ? {} : { confirmationTime }),
  };
}

/**
 * When a read confirmed that revoked access is revoked: the time of the first such read, updated once a minute while
 * the operator watches for an unanswered call.
 */
function confirmationOf(snapshot: UsableSnapshot, { input, decision }: Choice): string | undefined {
  const { account, live, now, state, synced } = snapshot;
  if (decision.sync !== undefined) return synced?.effect === "Shown" ? toIso8601(now) : undefined;
  const before = account.status?.bindings?.confirmationTime;
  if (live === undefined || !input.live.readable) return before;
  const watched = watchedSync(snapshot, state);
  const isDue = before === undefined || (watched !== undefined && isStale(before, now, MINUTE));
  return isDue ? toIso8601(now) : before;
}
