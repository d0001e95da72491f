/** Decides whether an event starts a new series, extends a series, or is dropped. Pure except for its memory. */
import { type Clock, MINUTE } from "../../util/time.ts";
import type { EventNote, EventTarget } from "./event-recorder.ts";

/** An event in the API, new or repeated. */
export interface EventSeries {
  readonly target: EventTarget;
  readonly event: EventNote;
  /** How often the event has happened so far. */
  count: number;
  /** Name of the written Event object; `undefined` until it is written. */
  name: string | undefined;
}

export interface EventLimits {
  /** After this many events of an object that differ only in their note, further events are merged into one series. */
  readonly similar: number;
  /** A series ends when no event was added to it for this long. */
  readonly seriesMs: number;
  readonly burst: number;
  readonly refillMs: number;
  /** Maximum number of remembered objects. */
  readonly remembered: number;
}

/** The values of client-go. */
export const defaultEventLimits: EventLimits = {
  similar: 10,
  seriesMs: 10 * MINUTE,
  burst: 25,
  refillMs: 5 * MINUTE,
  remembered: 4_096,
};

interface RememberedSeries extends EventSeries {
  /** Whether this is the series for all further notes. */
  readonly isMerged: boolean;
  /** Monotonic. */
  until: number;
}

/** The events of one object. Each series and the allowance have an end time (monotonic). */
interface ObjectEvents {
  series: readonly RememberedSeries[];
  /** When all tokens are available again; the number of available tokens follows from it. */
  allowanceUntil: number;
}

export class EventCorrelator {
  readonly #clock: Clock;
  readonly #limits: EventLimits;
  /** By object; the least recently used object comes first. */
  readonly #objects = new Map<string, ObjectEvents>();

  constructor(clock: Clock, limits: EventLimits = defaultEventLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Number of remembered objects. */
  get size(): number {
    return this.#objects.size;
  }

  /** The series to write; `undefined` if the object has had too many events. The event counts in both cases. */
  add(target: EventTarget, event: EventNote): EventSeries | undefined {
    const now = this.#clock.monotonic();
    const of = this.#eventsOf(target, now);
    const series = this.#seriesOf(of, target, event);
    series.count += 1;
    series.until = now + this.#limits.seriesMs;
    return this.#isAllowed(of, now) ? series : undefined;
  }

  /** The current events of an object, which becomes the most recently used object. */
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
   * Drops objects without any effect, and the least recently used objects if there are too many. Stops at the first
   * object to keep, so an object that stays long can delay dropping the objects behind it.
   */
  #makeRoom(now: number): void {
    for (const [id, { series, allowanceUntil }] of this.#objects) {
      const isOver = allowanceUntil < now && series.every(({ until }) => until < now);
      if (!isOver && this.#objects.size < this.#limits.remembered) return;
      this.#objects.delete(id);
    }
  }

  /** If there are too many events that differ only in their note, they share a series. */
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

/** No part of the ID can contain a line break. */
function objectId({ kind, metadata: { namespace = "", name, uid } }: EventTarget): string {
  return uid ?? [kind, namespace, name].join("\n");
}

/** A reference instead of the object: the object may be large, and the series is kept for long. */
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
