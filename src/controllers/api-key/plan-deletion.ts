/**
 * How an ApiKey goes. Pure, one effect per step; bounded in time even with the console down.
 *
 * Keys that nothing can end stay alive until they expire: the last event names them.
 */
import { pairIn } from "./delivered.ts";
import type { Moment, Timing } from "./moment.ts";
import type { Account, Observed } from "./observed.ts";
import type { Action, Rest } from "./plan.ts";
import { canRetire, listedKeyIds, recoverAttempt } from "./plan.ts";
import { expiryOf } from "./schedule.ts";

export type DeletionStep =
  | Action
  | Rest
  | { readonly kind: "DeleteTarget" }
  /** Takes the finalizer away and reports which keys are left alive. */
  | { readonly kind: "LetGo" };

const SUSPENDED = {
  reason: "Suspended",
  message: "spec.suspend is true: the deletion goes on when it is set to false.",
};

export function planDeletion(seen: Observed, at: Moment, timing: Timing): DeletionStep {
  if (!seen.self.hasFinalizer) return { kind: "Rest" };
  if (seen.spec.suspend) return { kind: "Rest", waiting: SUSPENDED };
  return (
    listUnlisted(seen) ?? askConsole(seen, at, timing) ?? deleteSecrets(seen) ?? { kind: "LetGo" }
  );
}

/** A pair on its way has a key at the console, which must be named like the others. */
function listUnlisted({ state, held, staging, target }: Observed): DeletionStep | undefined {
  const listed = listedKeyIds(state);
  const pair = [held?.pair, pairIn(staging), pairIn(target)].find(
    (candidate) => candidate !== undefined && !listed.includes(candidate.keyId),
  );
  return pair === undefined ? undefined : { kind: "ListStray", pair };
}

function askConsole(seen: Observed, at: Moment, timing: Timing): DeletionStep | undefined {
  const { self, spec, account, unended } = seen;
  const patience = (self.deletingSince ?? at.now) + timing.deletionPatienceMs;
  const open = recoverAttempt(seen, at, timing);
  if (at.now >= patience) return open && assumeLost(seen, at);
  if (open !== undefined) return open;
  if (account.kind !== "Ready" || spec.secret.deletionPolicy === "Retain") return undefined;
  return endKey(seen, account, at) ?? (unended && { kind: "Rest" });
}

/** Whether a key came of the open attempt is no longer waited for: the worst is put down. */
function assumeLost({ state, spec }: Observed, { now }: Moment): DeletionStep | undefined {
  if (state.attempt === undefined) return undefined;
  const expirationTime = expiryOf(now, state.attempt.expiresInDays ?? spec.expiresInDays);
  return {
    kind: "CloseAttempt",
    orphans: [{ keyId: undefined, attemptId: state.attempt.id, observedTime: now, expirationTime }],
    refund: false,
    because: "the console did not say in time whether a key was issued, so one must be assumed",
  };
}

function endKey(
  { state: { current, superseded }, unended }: Observed,
  account: Account,
  { now }: Moment,
): DeletionStep | undefined {
  const isListed = superseded.some(({ keyId }) => keyId === current?.keyId);
  const keys = [
    ...(current === undefined || isListed ? [] : [{ ...current, state: "Live" as const }]),
    ...superseded,
  ];
  const next = keys.find(
    (key) => canRetire(key, account) && !unended?.has(key.keyId) && now < key.expirationTime,
  );
  if (next === undefined) return undefined;
  return {
    kind: next.state === "Live" && account.canDisableKeys ? "DisableKey" : "DeleteKey",
    keyId: next.keyId,
  };
}

function deleteSecrets({ spec, staging, target }: Observed): DeletionStep | undefined {
  if (staging.kind === "Ours")
    return { kind: "DeleteStaging", because: "the ApiKey is being deleted" };
  return target.kind === "Ours" && spec.secret.deletionPolicy === "Delete"
    ? { kind: "DeleteTarget" }
    : undefined;
}
