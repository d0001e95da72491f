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

interface Expiring {
  /** From then on it is as if it had never been. */
  readonly until: number;
}

interface Remembering extends EventSeries, Expiring {}

interface Similar extends Expiring {
  readonly notes: Set<string>;
}

export class EventCorrelator {
  readonly #clock: Clock;
  readonly #limits: EventLimits;
  readonly #series: Remembered<Remembering>;
  readonly #similar: Remembered<Similar>;
  /** Each until all of its tokens are back, which also says how many there are. */
  readonly #allowances: Remembered<Expiring>;

  constructor(clock: Clock, limits: EventLimits = defaultEventLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#series = new Remembered(clock, limits.remembered);
    this.#similar = new Remembered(clock, limits.remembered);
    this.#allowances = new Remembered(clock, limits.remembered);
  }

  /** How much is remembered. */
  get size(): number {
    return this.#series.size + this.#similar.size + this.#allowances.size;
  }

  /** The series to write, or `undefined` where the object has had too many events. It counts all the same. */
  add(target: EventTarget, event: EventNote): EventSeries | undefined {
    const until = this.#clock.monotonic() + this.#limits.seriesMs;
    const id = this.#idOf(target, event, until);
    const old = this.#series.get(id);
    const series: Remembering =
      old === undefined
        ? { id, target: referenceTo(target), event, count: 1, name: undefined, until }
        : { ...old, count: old.count + 1, until };
    this.#series.set(id, series);
    return this.#isAllowed(objectId(target)) ? series : undefined;
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
  #idOf(target: EventTarget, event: EventNote, until: number): string {
    const kind = idOf(objectId(target), event.type, event.reason, event.action);
    const notes = this.#similar.get(kind)?.notes ?? new Set<string>();
    this.#similar.set(kind, { notes, until });
    if (notes.size < this.#limits.similar) notes.add(event.note);
    return notes.has(event.note) ? idOf(kind, event.note) : kind;
  }

  #isAllowed(object: string): boolean {
    const { burst, refillMs } = this.#limits;
    const now = this.#clock.monotonic();
    const until = this.#allowances.get(object)?.until ?? now;
    const allowed = until - now <= (burst - 1) * refillMs;
    this.#allowances.set(object, { until: allowed ? until + refillMs : until });
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

/**
 * Forgets what has expired, and beyond the limit what was used least recently. Only the head is looked at: what expires
 * late may keep what expired behind it for a while.
 */
class Remembered<T extends Expiring> {
  readonly #entries = new Map<string, T>();
  readonly #clock: Clock;
  readonly #limit: number;

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(id: string): T | undefined {
    const entry = this.#entries.get(id);
    return entry === undefined || this.#hasExpired(entry) ? undefined : entry;
  }

  set(id: string, value: T): void {
    this.#entries.delete(id);
    this.#entries.set(id, value);
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= this.#limit && !this.#hasExpired(entry)) return;
      this.#entries.delete(oldest);
    }
  }

  #hasExpired({ until }: T): boolean {
    return until < this.#clock.monotonic();
  }
}
