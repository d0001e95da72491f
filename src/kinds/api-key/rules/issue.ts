/** From the need for a key to the intent to issue it. Pure. */
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { firstFinding, type Waiting } from "../../../reconciler/rules/outcome.ts";
import type { IssuedPair } from "../secret/pair.ts";
import { pairIn } from "../secret/view.ts";
import type { Timing } from "../timing.ts";
import { blocks, pairIsUndeliverable } from "./blocks.ts";
import { needs } from "./needs.ts";
import type { ApiKeySnapshot, KeyNeed } from "./snapshot.ts";

/** Why a key is to be issued now: one is needed, and nothing forbids it. */
export function reasonToIssue(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): KeyNeed | undefined {
  const need = needOf(snapshot, at, timing);
  if (need === undefined) return undefined;
  return firstFinding(blocks, snapshot, at, need) === undefined ? need : undefined;
}

/** Why no key is issued although one is needed. */
export function waitForIssue(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): Waiting | undefined {
  const need = needOf(snapshot, at, timing);
  if (need === undefined) return undefined;
  const { stop } = snapshot.precheck ?? {};
  return firstFinding(blocks, snapshot, at, need) ?? (stop && pairIsUndeliverable(stop));
}

/** An open attempt is the only trace of its key: it must never be overwritten (S6). */
function needOf(snapshot: ApiKeySnapshot, at: ClockReading, timing: Timing): KeyNeed | undefined {
  return snapshot.status.attempt === undefined
    ? firstFinding(needs, snapshot, at, timing)
    : undefined;
}

/**
 * The rejected pair in use, to be tried after a read that has shown its account as active. The console may accept the
 * pair again, for example after the account is enabled, so an earlier rejection is not enough.
 */
export function pairToTryAgain(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): IssuedPair | undefined {
  return reasonToIssue(snapshot, at, timing)?.reason === "KeyRefused"
    ? pairIn(snapshot.target)
    : undefined;
}

/** No attempt is open when a key is issued. */
export function nextRevision({ status, target, pending }: ApiKeySnapshot): number {
  return (
    Math.max(
      status.current?.revision ?? 0,
      pairIn(target)?.revision ?? 0,
      pairIn(pending)?.revision ?? 0,
    ) + 1
  );
}
