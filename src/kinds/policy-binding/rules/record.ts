/** `status.bindings` of the ServiceAccount after a run (S11). Pure. */
import { isDeepStrictEqual } from "node:util";
import { MINUTE, toIso8601 } from "../../../util/time.ts";
import { type Choice, isUnread, type UsableSnapshot, watchedSync } from "./choose.ts";
import { MAX_POLICIES } from "./decide.ts";
import { common, type PolicySet, union } from "./policy-set.ts";
import { overdue } from "./release.ts";
import { isStale } from "./schedule.ts";
import type { BindingsDone, BindingsStatus } from "./snapshot.ts";
import { toStored } from "./unanswered-sync.ts";

/**
 * The new record; `undefined` if the stored record is up to date. Policies that this run added to `unrevokedPolicyIds`
 * stay there until the next run.
 */
export function recordOf(
  snapshot: UsableSnapshot,
  choice: Choice,
  done: BindingsDone,
): BindingsStatus | undefined {
  const { account, availability, now, state } = snapshot;
  const { unrevoked: added = [] } = done;
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
    ...policyList("respelledPolicyIds", done.respelled ?? choice.respelled),
    ...policyList("abandonedPolicyIds", left),
    ...policyList("unrevokedPolicyIds", union(unrevoked, added)),
    ...((isKnown ? isUnread(snapshot, done) : stored.unreadable) ? { unreadable: true } : {}),
    ...(isPending ? { ungrantedTime: toIso8601(withdrawal.since) } : {}),
    ...(availability.account.accessRevoked ? revocationProof(snapshot, choice, done) : {}),
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
  done: BindingsDone,
): Pick<BindingsStatus, "emptiedTime" | "confirmationTime"> {
  const isEmptied = choice.decision.sync !== undefined;
  const emptiedTime = isEmptied
    ? toIso8601(snapshot.now)
    : snapshot.account.status?.bindings?.emptiedTime;
  const confirmationTime = confirmationOf(snapshot, choice, done);
  return {
    ...(emptiedTime === undefined ? {} : { emptiedTime }),
    ...(confirmationTime === undefined ? {} : { confirmationTime }),
  };
}

/**
 * When a read confirmed that revoked access is revoked: the time of the first such read, updated once a minute while
 * the operator watches for an unanswered call.
 */
function confirmationOf(
  snapshot: UsableSnapshot,
  { input, decision }: Choice,
  { synced }: BindingsDone,
): string | undefined {
  const { account, live, now, state } = snapshot;
  if (decision.sync !== undefined) return synced === "Shown" ? toIso8601(now) : undefined;
  const before = account.status?.bindings?.confirmationTime;
  if (live === undefined || !input.live.readable) return before;
  const watched = watchedSync(snapshot, state);
  const isDue = before === undefined || (watched !== undefined && isStale(before, now, MINUTE));
  return isDue ? toIso8601(now) : before;
}
