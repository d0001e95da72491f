/** Decides what becomes of an event: a new one, one more of a series, or nothing. Pure but for its memory. */
import { type Clock, MINUTE } from "../../util/time.ts";
import type { EventNote, EventTarget } from "./event-recorder.ts";

/** An event at the API server, new or repeated. */
export interface EventSeries {
  readonly target: EventTarget;
  readonly event: EventNote;
  /** How often it has happened by now. */
  count: number;
  /** What it was written as, once it was. */
  name: string | undefined;
}

export interface EventLimits {
  /** After so many events of an object that differ in their note alone, further ones are merged into one. */
  readonly similar: number;
  /** A series ends when nothing was added to it for so long. */
  readonly seriesMs: number;
  readonly burst: number;
  readonly refillMs: number;
  /** Objects remembered. */
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

interface RememberedSeries extends EventSeries {
  /** Whether it is the one for all further notes. */
  readonly isMerged: boolean;
  /** Monotonic. */
  until: number;
}

/** The events of one object, of which each has its effect until a time of its own (monotonic). */
interface ObjectEvents {
  series: readonly RememberedSeries[];
  /** When all tokens are back, which also says how many there are. */
  allowanceUntil: number;
}

export class EventCorrelator {
  readonly #clock: Clock;
  readonly #limits: EventLimits;
  /** By object; what was used least recently comes first. */
  readonly #objects = new Map<string, ObjectEvents>();

  constructor(clock: Clock, limits: EventLimits = defaultEventLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** How many objects are remembered. */
  get size(): number {
    return this.#objects.size;
  }

  /** The series to write, or `undefined` where the object has had too many events. It counts all the same. */
  add(target: EventTarget, event: EventNote): EventSeries | undefined {
    const now = this.#clock.monotonic();
    const of = this.#eventsOf(target, now);
    const series = this.#seriesOf(of, target, event);
    series.count += 1;
    series.until = now + this.#limits.seriesMs;
    return this.#isAllowed(of, now) ? series : undefined;
  }

  /** What is left of an object's events; from now on it is the last to be forgotten. */
  #eventsOf(target: EventTarget, now: number): ObjectEvents {
    const id = objectId(target);
    const of = this.#objects.get(id) ?? { series: [], allowanceUntil: now };
    of.series = of.series.filter(({ until }) => until >= now);
    this.#objects.delete(id);
    this.#makeRoom(now);
    this.#objects.set(id, of);
    return of;
  }

  /**
   * Forgets what has no effect any more, and what was used least recently where there is too much. Only the head is looked
   * at: what has its effect for long may keep what has lost it for a while.
   */
  #makeRoom(now: number): void {
    for (const [id, { series, allowanceUntil }] of this.#objects) {
      const isOver = allowanceUntil < now && series.every(({ until }) => until < now);
      if (!isOver && this.#objects.size < this.#limits.remembered) return;
      this.#objects.delete(id);
    }
  }

  /** Events that differ in their note alone share a series when there are too many of them. */
  #seriesOf(of: ObjectEvents, target: EventTarget, event: EventNote): RememberedSeries {
    const alike = of.series.filter((series) => isAlike(series.event, event));
    const own = alike.find(({ isMerged, event: { note } }) => !isMerged && note === event.note);
    const isMerged = own === undefined && alike.length >= this.#limits.similar;
    const known = isMerged ? alike.find((series) => series.isMerged) : own;
    if (known !== undefined) return known;
    const series = {
      target: referenceTo(target),
      event,
      count: 0,
      name: undefined,
      isMerged,
      until: 0,
    };
    of.series = [...of.series, series];
    return series;
  }

  #isAllowed(of: ObjectEvents, now: number): boolean {
    const { burst, refillMs } = this.#limits;
    const until = Math.max(of.allowanceUntil, now);
    const allowed = until - now <= (burst - 1) * refillMs;
    of.allowanceUntil = allowed ? until + refillMs : until;
    return allowed;
  }
}

function isAlike(a: EventNote, b: EventNote): boolean {
  return a.type === b.type && a.reason === b.reason && a.action === b.action;
}

/** No part can have a line break in it. */
function objectId({ kind, metadata: { namespace = "", name, uid } }: EventTarget): string {
  return uid ?? [kind, namespace, name].join("\n");
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
