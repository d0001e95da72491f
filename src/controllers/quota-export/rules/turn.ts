/** When an export is listed. Pure; times are of the monotonic clock, in milliseconds. */
import { MINUTE } from "../../../util/time.ts";
import type { ClockReading } from "../../frame/clock-reading.ts";
import { stableFraction } from "../../frame/rules/stable-fraction.ts";
import type { QuotaExportDone, QuotaExportSnapshot, QuotaExportState } from "./snapshot.ts";

const MAX_START_DELAY_MS = MINUTE;
/** A listing is a read: whatever refuses it, it is tried again at the latest after this long, or its interval. */
const MAX_REFUSED_PAUSE_MS = 5 * MINUTE;

/**
 * The turn as it stands before this run. A changed spec, a request of a person and changed rights are due now; after a
 * start, an export that was listed before waits for a moment that depends on its uid, so that a restart does not call
 * for everything at once.
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

/** The turn after a listing, or after the console has refused it. */
export function turnAfter(
  turn: QuotaExportState,
  { startedAt = 0, refusal, quotas }: QuotaExportDone,
  { intervalMs, rights }: QuotaExportSnapshot,
): QuotaExportState {
  const { generation, request, refused } = turn;
  if (quotas !== undefined) return { generation, request, notBefore: startedAt + intervalMs };
  if (refusal?.pauseMs === undefined) return turn;
  const count = refused?.rights === rights ? refused.count + 1 : 1;
  return {
    generation,
    request,
    notBefore: startedAt + pauseMs(refusal.pauseMs, count, intervalMs),
    refused: { rights, count },
  };
}

/** Doubles while refusals follow each other; never longer than five minutes, or the interval itself. */
function pauseMs(firstMs: number, count: number, intervalMs: number): number {
  const longest = Math.max(MAX_REFUSED_PAUSE_MS, intervalMs);
  return Math.min(Math.max(firstMs, intervalMs) * 2 ** (count - 1), longest);
}
