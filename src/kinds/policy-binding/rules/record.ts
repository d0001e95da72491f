/** `status.bindings` of the ServiceAccount after a run (S11). Pure. */
import { isDeepStrictEqual } from "node:util";
import { operatorPolicies, recordedPolicies } from "../../../accounts/recorded-policies.ts";
import { isRevocationSubmitted } from "../../../accounts/revocation-proof.ts";
import { toEvent } from "../../../api/events.ts";
import type { ServiceAccount } from "../../../api/service-account.ts";
import type { EventOf } from "../../../reconciler/rules/report.ts";
import { MINUTE, toIso8601 } from "../../../util/time.ts";
import {
  type Evaluation,
  isUnread,
  managesBindings,
  type UsableSnapshot,
  watchedSync,
} from "./evaluate.ts";
import { nextPolicies } from "./ledger.ts";
import { listed, type PolicySet, union, without } from "./policy-set.ts";
import { unrevokedPolicies } from "./release.ts";
import { isStale } from "./schedule.ts";
import type { BindingsStatus } from "./snapshot.ts";
import { toStored } from "./unanswered-sync.ts";
import type { UsableAccount } from "./views.ts";

/** The maximum number of policies in a record: as many as can be bound, and as many that are still to be unbound. */
const MAX_RECORDED = 2_000;

export interface NewRecord {
  readonly account: ServiceAccount;
  readonly bindings: BindingsStatus;
  readonly events: readonly EventOf[];
}

/** The new record; `undefined` if the stored record is up to date, or the account needs none. */
export function recordOf(snapshot: UsableSnapshot, evaluation: Evaluation): NewRecord | undefined {
  const { account, availability } = snapshot;
  const { bindings: stored } = account.status ?? {};
  const isOver = stored?.unansweredSync !== undefined || isRevocationSubmitted(stored);
  if (!managesBindings(snapshot) && !isOver) return undefined;
  const bindings = statusOf(snapshot, evaluation);
  if (bindings === undefined) return undefined;
  const events = [
    ...withdrawalEvents(account, availability),
    ...foreignEvents(account, foundForeign(evaluation, bindings)),
  ];
  return { account, bindings, events };
}

/** The record with policies that are still to be unbound when their PolicyBindings are gone. */
export function recordUnrevoked(account: ServiceAccount, policyIds: PolicySet): NewRecord {
  const { bindings: stored } = account.status ?? {};
  const others = (stored?.policies ?? []).filter(({ policyId }) => !policyIds.includes(policyId));
  const unrevoked = policyIds.map((policyId) => ({ policyId, state: "Unrevoked" }) as const);
  const policies = [...unrevoked, ...others].slice(0, MAX_RECORDED);
  return { account, bindings: { ...stored, policies }, events: [] };
}

/**
 * The record without the count, for an account that the console no longer has. Its policies stay on record: a console
 * that lags may show the account again. `undefined` if the record is up to date; a count of zero proves a revocation.
 */
export function recordGone(account: ServiceAccount): NewRecord | undefined {
  const { policyCount, ...bindings } = account.status?.bindings ?? {};
  return policyCount === undefined || policyCount === 0
    ? undefined
    : { account, bindings, events: [] };
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
function foundForeign({ input, verified }: Evaluation, next: BindingsStatus): PolicySet {
  const { ledger, foreignPolicies } = input.account;
  if (!verified || foreignPolicies === "Remove" || !ledger.isComplete) return [];
  return without(recordedPolicies(next, "Foreign"), recordedPolicies(ledger, "Foreign"));
}

function statusOf(snapshot: UsableSnapshot, evaluation: Evaluation): BindingsStatus | undefined {
  const { account, availability, now, state } = snapshot;
  const { decision, verified } = evaluation;
  const stored: BindingsStatus = account.status?.bindings ?? {};
  const { withdrawal } = availability.restriction ?? {};
  const isPending =
    withdrawal !== undefined && (!withdrawal.isOver || decision.blocked !== undefined);
  const watched = watchedSync(snapshot, state);
  const next = present({
    ...boundPolicies(snapshot, evaluation),
    lastSyncTime: stored.lastSyncTime,
    notAppliedTime: verified ? undefined : stored.notAppliedTime,
    revocationNotAppliedTime:
      verified || !availability.account.accessRevoked ? undefined : stored.revocationNotAppliedTime,
    contendedUntil:
      evaluation.contendedUntil === undefined ? undefined : toIso8601(evaluation.contendedUntil),
    ungrantedTime: isPending ? toIso8601(withdrawal.since) : undefined,
    unansweredSync: watched && toStored(watched, stored.unansweredSync),
    revocation: availability.account.accessRevoked ? revocationOf(snapshot, evaluation) : undefined,
  });
  const changed = !isDeepStrictEqual(next, stored);
  const isNews = changed || snapshot.synced !== undefined;
  if (verified && (isNews || isStale(stored.lastSyncTime, now)))
    return { ...next, lastSyncTime: toIso8601(now) };
  return changed ? next : undefined;
}

/** Which policies are bound; as stored, unless this run knows better. */
function boundPolicies(snapshot: UsableSnapshot, evaluation: Evaluation): BindingsStatus {
  const { account, availability, bindings, synced } = snapshot;
  const { decision, verified, contendedUntil } = evaluation;
  const { bound, ours } = decision;
  const { ledger } = availability.account;
  const isContended = contendedUntil !== undefined;
  if (!isContended && (decision.blocked !== undefined || !(verified || ledger.isComplete))) {
    const { policies, policyCount, unreadable } = account.status?.bindings ?? {};
    return { policies, policyCount, unreadable };
  }
  const policies = nextPolicies(
    ledger,
    // The record still answers for a policy that another client has unbound.
    { bound: isContended ? union(bound, operatorPolicies(ledger)) : bound, ours },
    unrevokedPolicies(availability.account, bindings),
    synced?.spellings ?? evaluation.spellings,
  );
  return {
    policies: policies.map((each) =>
      bound.includes(each.policyId) ? each : { ...each, missing: true },
    ),
    policyCount: bound.length,
    unreadable: isUnread(snapshot) || undefined,
  };
}

/** The evidence that revoked access is revoked: of this run if it has any. */
function revocationOf(
  snapshot: UsableSnapshot,
  { input, decision }: Evaluation,
): BindingsStatus["revocation"] {
  const { account, live, now, state, synced } = snapshot;
  const time = toIso8601(now);
  if (decision.sync !== undefined)
    return { evidence: synced?.effect === "Shown" ? "Read" : "AcceptedCall", time };
  const before = account.status?.bindings?.revocation;
  if (live === undefined || !input.live.readable) return before;
  const isDue =
    before?.evidence !== "Read" ||
    (watchedSync(snapshot, state) !== undefined && isStale(before.time, now, MINUTE));
  return isDue ? { evidence: "Read", time } : before;
}

function present(status: BindingsStatus): BindingsStatus {
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined));
}
