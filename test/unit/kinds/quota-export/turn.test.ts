/** When an export is listed next. */
import { describe, expect, test } from "vitest";
import type {
  Listing,
  QuotaExportSnapshot,
  QuotaExportState,
} from "../../../../src/kinds/quota-export/rules/snapshot.ts";
import { nextTurn, turnOf } from "../../../../src/kinds/quota-export/rules/turn.ts";
import { stableFraction } from "../../../../src/reconciler/rules/stable-fraction.ts";
import { MINUTE, SECOND } from "../../../../src/util/time.ts";

/** By the monotonic clock. */
const NOW = 1_000_000;
const at = { now: 0, monotonic: NOW, fraction: 0.5 };
const before: QuotaExportState = { generation: 1, request: "r1", notBefore: NOW + 40 * SECOND };
const known = { lastSuccessTime: "x", observedGeneration: 1, lastHandledReconcileAt: "r1" };

/** An export of generation 1 whose last request was r1. */
function snapshotOf(changes: Partial<QuotaExportSnapshot>, status: object = known) {
  const object = { metadata: { uid: "uid", generation: 1 }, status };
  const seen = { object, intervalMs: 10 * MINUTE, rights: "some", request: "r1" };
  return { ...seen, ...changes } as unknown as QuotaExportSnapshot;
}

describe("the next listing is due", () => {
  const delayMs = stableFraction("uid") * MINUTE;
  const refused = { ...before, refused: { rights: "some", count: 1 } };

  test.each<[string, Partial<QuotaExportSnapshot>, object, number]>([
    ["within a minute after a start", {}, known, delayMs],
    ["within its interval after a start", { intervalMs: SECOND }, known, delayMs / 60],
    ["at once after a start without a listing", {}, { ...known, lastSuccessTime: undefined }, 0],
    ["at once after a start with another spec", {}, { ...known, observedGeneration: 0 }, 0],
    ["at once after a start with an open request", { request: "r2" }, known, 0],
    ["as before", { state: before }, known, 40 * SECOND],
    ["at once after a change of the spec", { state: { ...before, generation: 0 } }, known, 0],
    ["at once after a request", { state: { ...before, request: undefined } }, known, 0],
    ["as before while the rights are the same", { state: refused }, known, 40 * SECOND],
    ["at once if the rights have changed", { state: refused, rights: "more" }, known, 0],
  ])("%s", (_, changes, status, ms) => {
    expect(turnOf(snapshotOf(changes, status), at).notBefore - NOW).toBe(ms);
  });
});

describe("after a listing that began a second ago, the next one is due", () => {
  const startedAt = NOW - SECOND;
  const listed: Listing = { startedAt, quotas: [], omitted: 0 };
  const rejected = (pauseMs?: number): Listing => ({
    startedAt,
    refusal: { state: "Stalled", reason: "Denied", message: "no", ...(pauseMs && { pauseMs }) },
  });
  const times = (count: number, rights = "some") => ({ ...before, refused: { rights, count } });

  test.each<[string, QuotaExportState, Listing | undefined, number, number]>([
    ["an interval after its beginning", before, listed, MINUTE, MINUTE],
    ["as before, if it was not tried", before, undefined, MINUTE, 41 * SECOND],
    ["as before, if it was rejected without a pause", before, rejected(), MINUTE, 41 * SECOND],
    ["after its interval, if it was rejected", before, rejected(SECOND), MINUTE, MINUTE],
    ["after the pause, if that is longer", before, rejected(MINUTE), SECOND, MINUTE],
    ["after twice as long, the next time", times(1), rejected(SECOND), MINUTE, 2 * MINUTE],
    ["at first, if the rights are others", times(1, "x"), rejected(SECOND), MINUTE, MINUTE],
    ["after five minutes at most", times(9), rejected(SECOND), MINUTE, 5 * MINUTE],
    ["after an interval that is longer", times(9), rejected(SECOND), 9 * MINUTE, 9 * MINUTE],
  ])("%s", (_, state, listing, intervalMs, ms) => {
    const snapshot = snapshotOf({ intervalMs, state, ...(listing && { listing }) });
    const next = nextTurn(snapshot, { ...at, monotonic: startedAt });
    expect(next.notBefore - startedAt).toBe(ms);
  });
});
