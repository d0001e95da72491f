/** When the next listing of an export is due. Pure; times are milliseconds of the monotonic clock. */

import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { stableFraction } from "../../../reconciler/rules/stable-fraction.ts";
import { MINUTE } from "../../../util/time.ts";
import type { QuotaExportSnapshot, QuotaExportState } from "./snapshot.ts";

const MAX_START_DELAY_MS = MINUTE;
/** A listing only reads: after any rejection, it is tried again after at most this long or its interval, if longer. */
const MAX_REFUSED_PAUSE_MS = 5 * MINUTE;

/**
 * The turn before this run. The listing is due now after a change of the spec, after a request by a person, and if the
 * rights of a rejected export have changed. After a start, an export with an earlier listing waits for a time derived
 * from its uid, so that a restart does not list all exports at once.
 */
export function turnOf(
  { object, intervalMs, request, rights, state }: QuotaExportSnapshot,
  { monotonic }: ClockReading,
): QuotaExportState {
  const { generation, uid } = object.metadata;
  const turn = { generation, request };
  if (state === undefined) {
    const { lastSuccessTime, observedGeneration, lastHandledReconcileAt } = object.status ?? {};
    const isKnown = lastSuccessTime !== undefined && observedGeneration === generation;
    const delayMs =
      isKnown && request === lastHandledReconcileAt
        ? stableFraction(uid) * Math.min(intervalMs, MAX_START_DELAY_MS)
        : 0;
    return { ...turn, notBefore: monotonic + delayMs };
  }
  const isSame = state.generation === generation && state.request === request;
  const isRefused = state.refused === undefined || state.refused.rights === rights;
  return isSame && isRefused ? state : { ...turn, notBefore: monotonic };
}

/** The turn after this run: after its listing, or after a rejection of it. */
export function nextTurn(snapshot: QuotaExportSnapshot, at: ClockReading): QuotaExportState {
  const turn = turnOf(snapshot, at);
  const { listing, intervalMs, rights } = snapshot;
  if (listing === undefined) return turn;
  const { startedAt, quotas, refusal } = listing;
  const { generation, request, refused } = turn;
  if (quotas !== undefined) return { generation, request, notBefore: startedAt + intervalMs };
  if (refusal.pauseMs === undefined) return turn;
  const count = refused?.rights === rights ? refused.count + 1 : 1;
  return {
    generation,
    request,
    notBefore: startedAt + pauseMs(refusal.pauseMs, count, intervalMs),
    refused: { rights, count },
  };
}

/** Doubles with each consecutive rejection; at most five minutes or the interval, whichever is longer. */
function pauseMs(firstMs: number, count: number, intervalMs: number): number {
  const longest = Math.max(MAX_REFUSED_PAUSE_MS, intervalMs);
  return Math.min(Math.max(firstMs, intervalMs) * 2 ** (count - 1), longest);
}
