/** Decides what becomes of an event: a new one, one more of a series, or nothing. Pure but for its memory. */
import { type Clock, MINUTE } from "../../util/time.ts";
import type { EventNote, EventTarget } from "./event-recorder.ts";

/** An event at the API server, new or repeated. */
export interface EventSeries {
  readonly id: string;
  readonly target: EventTarget;
  readonly event: EventNote;
  readonly count: number;
  /** Where it was written to, once it was. */
  readonly name: string | undefined;
}

export interface EventLimits {
  /** After so many events of an object that differ in their note alone, further ones are merged into one. */
  readonly similar: number;
  /** A series ends when nothing was added to it for so long. */
  readonly seriesMs: number;
  readonly burst: number;
  readonly refillMs: number;
  /** Objects and series remembered. */
  readonly remembered: number;
}

/** client-go's figures. */
export const defaultEventLimits: EventLimits = {
  similar: 10,
  seriesMs: 10 * MINUTE,
  burst: 25,
  refillMs: 5 * MINUTE,
  remembered: 4_096,
};

interface Remembering extends EventSeries {
  readonly lastAt: number;
}

interface Similar {
  readonly notes: Set<string>;
  lastAt: number;
}

interface Allowance {
  tokens: number;
  countedAt: number;
}

export class EventCorrelator {
  readonly #clock: Clock;
  readonly #limits: EventLimits;
  readonly #series: Remembered<Remembering>;
  readonly #similar: Remembered<Similar>;
  readonly #allowances: Remembered<Allowance>;

  constructor(clock: Clock, limits: EventLimits = defaultEventLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#series = new Remembered(limits.remembered);
    this.#similar = new Remembered(limits.remembered);
    this.#allowances = new Remembered(limits.remembered);
  }

  /** The series to write, or `undefined` where the object has had too many events. It counts all the same. */
  add(target: EventTarget, event: EventNote): EventSeries | undefined {
    const now = this.#clock.monotonic();
    const id = this.#idOf(target, event, now);
    const old = this.#series.get(id);
    const goesOn = old !== undefined && now - old.lastAt <= this.#limits.seriesMs;
    const series: Remembering = goesOn
      ? { ...old, count: old.count + 1, lastAt: now }
      : { id, target: referenceTo(target), event, count: 1, name: undefined, lastAt: now };
    this.#series.set(id, series);
    return this.#isAllowed(objectId(target), now) ? series : undefined;
  }

  /** The series as it is by now. */
  latest(series: EventSeries): EventSeries {
    return this.#series.get(series.id) ?? series;
  }

  /** Notes where a series was written to; `undefined` where what was written is gone. */
  written({ id }: EventSeries, name: string | undefined): void {
    const series = this.#series.get(id);
    if (series !== undefined) this.#series.set(id, { ...series, name });
  }

  /** Events that differ in their note alone share a series when there are too many of them. */
  #idOf(target: EventTarget, event: EventNote, now: number): string {
    const kind = idOf(objectId(target), event.type, event.reason, event.action);
    const old = this.#similar.get(kind);
    const similar =
      old !== undefined && now - old.lastAt <= this.#limits.seriesMs
        ? old
        : { notes: new Set<string>(), lastAt: now };
    similar.lastAt = now;
    this.#similar.set(kind, similar);
    if (similar.notes.size < this.#limits.similar) similar.notes.add(event.note);
    return similar.notes.has(event.note) ? idOf(kind, event.note) : kind;
  }

  #isAllowed(object: string, now: number): boolean {
    const { burst, refillMs } = this.#limits;
    const old = this.#allowances.get(object) ?? { tokens: burst, countedAt: now };
    const tokens = Math.min(burst, old.tokens + (now - old.countedAt) / refillMs);
    const allowed = tokens >= 1;
    this.#allowances.set(object, { tokens: allowed ? tokens - 1 : tokens, countedAt: now });
    return allowed;
  }
}

function objectId({ kind, metadata: { namespace = "", name, uid = "" } }: EventTarget): string {
  return idOf(kind, namespace, name, uid);
}

/** No part but the last can have a line break in it: they are names and words. */
function idOf(...parts: readonly string[]): string {
  return parts.join("\n");
}

/** The object itself is not kept: a series outlives it by far, and it may be large. */
function referenceTo({ apiVersion, kind, metadata }: EventTarget): EventTarget {
  const { namespace, name, uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
  };
}

/** Forgets what was used least recently. */
class Remembered<T> {
  readonly #entries = new Map<string, T>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(id: string): T | undefined {
    return this.#entries.get(id);
  }

  set(id: string, value: T): void {
    this.#entries.delete(id);
    this.#entries.set(id, value);
    if (this.#entries.size <= this.#limit) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }
}
