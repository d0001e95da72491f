/** When the operator reads an account's bindings from the console (listBindings). Pure. */
import { annotations } from "../../../api/meta.ts";
import type { ServiceAccount } from "../../../api/service-account.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import { requestToken } from "../../../reconciler/rules/request.ts";
import { type Instant, SECOND } from "../../../util/time.ts";
import {
  evaluate,
  managesBindings,
  mustRead,
  type UsableSnapshot,
  watchedSync,
} from "./evaluate.ts";
import { endOfWait, lateRevocations } from "./release.ts";
import { nextDriftCheck } from "./schedule.ts";
import type { AccountBindingsState } from "./state.ts";
import { nextRead, watchedUntil } from "./unanswered-sync.ts";
import { withoutReport } from "./without-report.ts";

const UNREAD_PAUSE_MS = 30 * SECOND;

/**
 * Whether something must change, a person has requested a run, a check is due, the last run failed, or the record may not
 * show what is bound; not if this run has read them.
 */
export function isReadDue(snapshot: UsableSnapshot): boolean {
  if (snapshot.live !== undefined || !managesBindings(snapshot)) return false;
  const isDue = dueAt(snapshot, snapshot.state) <= snapshot.now;
  return (
    isDue ||
    isUnknown(snapshot) ||
    snapshot.state.hasFailed ||
    isRequested(snapshot) ||
    snapshot.account.status?.bindings?.contendedUntil !== undefined ||
    mustRead(evaluate(snapshot).input)
  );
}

/** Whether nothing has been read yet of what is bound to an imported account. */
function isUnknown({ availability: { account }, state }: UsableSnapshot): boolean {
  return !account.created && !account.ledger.isComplete && state.unreadSince === undefined;
}

/** The end of a run within a pause. Before a deletion is given up, the operator tries once more. */
export function pauseOf(snapshot: UsableSnapshot): Waiting | undefined {
  const isOver = !isPaused(snapshot) || lateRevocations(snapshot).length > 0;
  if (snapshot.live !== undefined || isOver) return undefined;
  const { afterMs = Number.POSITIVE_INFINITY } = endOfWait(snapshot);
  return withoutReport(Math.min(msUntilRead(snapshot, snapshot.state), afterMs));
}

/** Whether the pause applies: it is not over, the desired state is unchanged, and no person has requested a run. */
function isPaused(snapshot: UsableSnapshot): boolean {
  const { pause } = snapshot.state;
  if (pause === undefined || isRequested(snapshot)) return false;
  return snapshot.now < pause.until && pause.desired === desiredState(snapshot);
}

/** Milliseconds until the bindings are read again even if nothing changes. */
export function msUntilRead(snapshot: UsableSnapshot, state: AccountBindingsState): number {
  const pausedUntil = isPaused({ ...snapshot, state }) ? (state.pause?.until ?? 0) : 0;
  const at = Math.max(dueAt(snapshot, state), pausedUntil);
  const watched = watchedSync(snapshot, state);
  // The condition's text about the call must end when the watch for it ends.
  const { withdrawal } = snapshot.availability.restriction ?? {};
  const ends = [
    watched && watchedUntil(watched),
    withdrawal?.isOver === false ? snapshot.now + withdrawal.endsInMs : undefined,
  ];
  const wakeAt = Math.min(at, ...ends.filter((end) => end !== undefined));
  return Math.max(SECOND, wakeAt - snapshot.now);
}

export function dueAt(snapshot: UsableSnapshot, state: AccountBindingsState): Instant {
  const { availability, now } = snapshot;
  const { lastReadTime, corrections, unreadSince } = state;
  const scheduled = nextDriftCheck(availability.account.uid, lastReadTime, corrections, now);
  const regular =
    unreadSince === undefined
      ? scheduled
      : Math.min(scheduled, nextAfterUnread(lastReadTime, unreadSince));
  const watched = watchedSync(snapshot, state);
  if (watched === undefined) return regular;
  return Math.min(
    regular,
    nextRead(watched, evaluate(snapshot).decision.bound, lastReadTime) ?? regular,
  );
}

/** An unreadable answer may come from a gateway, so the next one is not far: the pause doubles with each answer. */
function nextAfterUnread(lastReadTime: Instant, unreadSince: Instant): Instant {
  return lastReadTime + Math.max(UNREAD_PAUSE_MS, lastReadTime - unreadSince);
}

/** A text that changes when the desired state of the account or of one of its PolicyBindings changes. */
export function desiredState({ account, bindings }: UsableSnapshot): string {
  return JSON.stringify([
    account?.metadata.generation,
    bindings.map(({ uid, generation, stage, problem }) => [uid, generation, stage, problem]),
  ]);
}

export function tokenOf(account: ServiceAccount | undefined): string | undefined {
  return account && requestToken(account.metadata, annotations.reconcileRequestedAt);
}

function isRequested({ account, bindings, state }: UsableSnapshot): boolean {
  const token = tokenOf(account);
  return (
    (token !== undefined && token !== state.handledToken) ||
    bindings.some(
      ({ requestedAt, handledAt }) => requestedAt !== undefined && requestedAt !== handledAt,
    )
  );
}
