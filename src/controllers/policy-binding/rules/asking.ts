/** When the console is asked about an account, by listBindings. Pure. */
import { annotations } from "../../../api/meta.ts";
import type { ServiceAccount } from "../../../api/service-account.ts";
import { type Instant, SECOND } from "../../../util/time.ts";
import { requestToken } from "../../frame/request-token.ts";
import { choose, hasSay, mustAsk, type UsableSnapshot, watchedSync } from "./choose.ts";
import type { DecisionInput } from "./decide.ts";
import { nextDriftCheck } from "./schedule.ts";
import type { AccountBindingsState } from "./state.ts";
import { nextRead, watchedUntil } from "./unanswered-sync.ts";

/** Something is to change, a person has asked for it, or it is time for a look. */
export function isToBeAsked(snapshot: UsableSnapshot, input: DecisionInput): boolean {
  if (!hasSay(snapshot)) return false;
  const isDue = dueAt(snapshot, snapshot.state) <= snapshot.now;
  return isDue || isRequested(snapshot) || mustAsk(input);
}

/** Nothing was to be written for what is desired still, and nobody has asked for another look. */
export function isPaused(snapshot: UsableSnapshot): boolean {
  const { pause } = snapshot.state;
  if (pause === undefined || isRequested(snapshot)) return false;
  return snapshot.now < pause.until && pause.desired === desiredState(snapshot);
}

/** Milliseconds until the console is asked again although nothing has changed. */
export function untilAsked(snapshot: UsableSnapshot, state: AccountBindingsState): number {
  const pausedUntil = isPaused({ ...snapshot, state }) ? (state.pause?.until ?? 0) : 0;
  const at = Math.max(dueAt(snapshot, state), pausedUntil);
  const watched = watchedSync(snapshot, state);
  // What is said about the call ends with the watch for it.
  const { withdrawal } = snapshot.availability.restriction ?? {};
  const ends = [
    watched && watchedUntil(watched),
    withdrawal?.isOver === false ? withdrawal.until : undefined,
  ];
  const wakeAt = Math.min(at, ...ends.filter((end) => end !== undefined));
  return Math.max(SECOND, wakeAt - snapshot.now);
}

export function dueAt(snapshot: UsableSnapshot, state: AccountBindingsState): Instant {
  const { availability, now } = snapshot;
  const { askedAt, corrections } = state;
  const regular = nextDriftCheck(availability.account.uid, askedAt, corrections, now);
  const watched = watchedSync(snapshot, state);
  if (watched === undefined) return regular;
  return Math.min(regular, nextRead(watched, choose(snapshot).decision.bound, askedAt) ?? regular);
}

/** Everything a person has asked for, as text. */
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
