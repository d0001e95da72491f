import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { ownEntry } from "./own-entry.ts";

/** A moment, in milliseconds since the Unix epoch (UTC). */
export type Instant = number;

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** A number of days, for a message. */
export function inDays(count: number): string {
  return `${count} ${count === 1 ? "day" : "days"}`;
}

/** The clocks that a process can see. */
export interface SeenClocks {
  /** The process's own. */
  readonly wall: Instant;
  /** Absent until the API server has responded. */
  readonly apiServer?: Instant | undefined;
  /** Of the console that an object belongs to. */
  readonly console?: Instant | undefined;
}

/** The only source of time in the program. Tests and the simulation provide their own. */
export interface Clock {
  /** Wall-clock time. May jump. */
  now(): Instant;
  /** The clocks that `now` is derived from; absent if it is the process's own alone. */
  seen?(): SeenClocks;
  /** Milliseconds that never go backwards; for durations and leases. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason if the signal is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `callback` once after `ms`; the returned function cancels it. */
  setTimer(ms: number, callback: () => void): () => void;
  /**
   * Call this between pieces of work: thousands of pieces that never wait block the event loop like a single piece. If
   * the event loop has been blocked for too long, returns a promise that resolves on its next turn.
   */
  yieldToEventLoop?(): Promise<void> | undefined;
}

/** The longest delay that Node's timers support; longer timers would fire at once. */
const MAX_TIMER = 2 ** 31 - 1;

/** A delay that Node's timers accept without a warning: overdue timers are due now. */
function timerDelay(ms: number): number {
  return Math.min(Math.max(ms, 0), MAX_TIMER);
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) => delay(timerDelay(ms), undefined, signal === undefined ? {} : { signal }),
  setTimer: (ms, callback) => {
    const timer = setTimeout(callback, timerDelay(ms));
    return () => clearTimeout(timer);
  },
  yieldToEventLoop() {
    const now = performance.now();
    if (turn !== undefined) return now - askedAt > LONGEST_WAIT_MS ? turn : undefined;
    askedAt = now;
    turn = nextTurn().then(() => {
      turn = undefined;
    });
    return undefined;
  },
};

/** How long sockets, timers and probes can be delayed. */
const LONGEST_WAIT_MS = 10;
/** The next turn of the event loop; `undefined` if it has come since the last call. */
let turn: Promise<void> | undefined;
let askedAt = 0;

const UNIT: Readonly<Record<string, number>> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR };

/** Go-style durations without fractions or signs, such as `720h` or `1h30m`. */
export const DURATION_PATTERN = /^([0-9]{1,9}(ms|s|m|h))+$/;

/** Milliseconds of a duration that matches {@link DURATION_PATTERN}; `undefined` if the text does not. */
export function parseDuration(text: string): number | undefined {
  if (!DURATION_PATTERN.test(text)) return undefined;
  return [...text.matchAll(/([0-9]+)(ms|s|m|h)/g)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * (ownEntry(UNIT, unit ?? "") ?? 0),
    0,
  );
}

/** The range of RFC 3339. */
const FIRST_INSTANT = Date.parse("0000-01-01T00:00:00Z");
const LAST_INSTANT = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * ISO 8601 in UTC with whole seconds, in Kubernetes' format: `2026-01-01T00:00:00Z`. Outside the years 0 to 9999, the
 * nearest valid moment.
 */
export function toIso8601(instant: Instant): string {
  const known = written.get(instant);
  if (known !== undefined) return known;
  const writable = Math.min(Math.max(instant, FIRST_INSTANT), LAST_INSTANT);
  const text = `${new Date(writable).toISOString().slice(0, 19)}Z`;
  if (written.size >= MOST_WRITTEN) written.clear();
  written.set(instant, text);
  return text;
}

/** Recent texts, because each run writes the times of its status again. */
const written = new Map<Instant, string>();
const MOST_WRITTEN = 1_024;

/** Kubernetes MicroTime: `2026-01-01T00:00:00.000000Z`. */
export function toMicroTime(instant: Instant): string {
  return `${new Date(instant).toISOString().slice(0, 23)}000Z`;
}

/** The moment of an RFC 3339 text; `undefined` if the text is not a time with a four-digit year. */
export function parseInstant(text: string | undefined): Instant | undefined {
  if (text === undefined) return undefined;
  const instant = Date.parse(text);
  return instant >= FIRST_INSTANT && instant <= LAST_INSTANT ? instant : undefined;
}
