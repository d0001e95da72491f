/**
 * The protocol of a watch that never ends, as a pure function: no I/O, no clock, no randomness.
 *
 *   Initial ──(all initial objects)──> Synced(version) ──(stream lost)──> Resuming(version) ──> Synced
 *      ^                                  │                                  │
 *      └──────── Backoff(none) <──────────┴────────> Backoff(version) ──────┘
 *
 * Guarantees: the store changes from one complete listing to the next in one step. The version never passes the
 * delivered events. A lost stream is resumed without a new listing, unless the server cannot resume it or events may
 * be missing; now and then a stream is followed by a new listing anyway. Back-off waits are no shorter than the server
 * requires.
 */
import { jittered } from "../../util/jitter.ts";
import { MINUTE, SECOND } from "../../util/time.ts";
import { compareResourceVersions } from "../resource.ts";

/** Why a stream or a listing ended; the label of `iam_operator_watch_restarts_total`. */
export type RestartReason =
  /** The server closed the stream after its time. */
  | "Ended"
  /** The server closed the stream early. */
  | "EndedEarly"
  /** The stream was silent for so long that the connection counts as dead. */
  | "Idle"
  /** The server did not close the stream in time. */
  | "Deadline"
  | "Gone"
  /** The server's versions are older than ours: the server lags, or etcd was restored. */
  | "VersionWentBack"
  | "RateLimited"
  /** The server has not filled its cache of the kind yet: the kind is new, or the server has just started. */
  | "Initializing"
  /** The server did not answer, or not in time. */
  | "Unavailable"
  | "Unauthenticated"
  | "Forbidden"
  | "NotFound"
  /** The server or a proxy does not support the request. */
  | "Unsupported"
  | "Truncated"
  /** A line, an answer or an error within the stream is not readable. */
  | "Malformed"
  /** A bug in the operator. */
  | "Unexpected";

/** How the first complete listing is read. */
type ListingMethod = "stream" | "pages";

interface RetryState {
  readonly via: ListingMethod;
  /** Failures in a row. */
  readonly attempts: number;
  /** When the current or the last stream opened, in monotonic milliseconds. */
  readonly openedAt: number | undefined;
}

export type WatchState = RetryState &
  (
    | { readonly phase: "Empty" }
    /** Objects are being collected; the store still has its previous content. */
    | { readonly phase: "Initial" }
    | { readonly phase: "Synced"; readonly version: string }
    /** Checks that the server's version is not older than `version`. */
    | { readonly phase: "Resuming"; readonly version: string }
    /** Without a version, everything is listed again afterwards. */
    | { readonly phase: "Backoff"; readonly version: string | undefined }
  );

/** The inputs of decisions about timing; the loop provides them. */
interface Moment {
  /** Monotonic milliseconds. */
  readonly at: number;
  /** In [0, 1). */
  readonly fraction: number;
}

export type WatchInput<T> =
  | { readonly kind: "Started" }
  | { readonly kind: "Opened"; readonly at: number }
  | {
      readonly kind: "Changed";
      readonly deleted: boolean;
      readonly object: T;
      readonly version: string;
      /** Length of the line. */
      readonly size: number;
    }
  | { readonly kind: "Bookmark"; readonly version: string; readonly endsInitial: boolean }
  | { readonly kind: "Listed"; readonly objects: readonly T[]; readonly version: string }
  | { readonly kind: "Checked"; readonly version: string }
  | { readonly kind: "Woke" }
  | ({ readonly kind: "Closed" } & Moment)
  | ({
      readonly kind: "Failed";
      readonly reason: RestartReason;
      /** The wait that the server requires. */
      readonly waitAtLeastMs: number;
    } & Moment);

/** A change to the store. The loop applies the changes in order. */
export type StoreEffect<T> =
  /** Keep the object aside until the listing is complete. */
  | {
      readonly kind: "Collect";
      readonly deleted: boolean;
      readonly object: T;
      readonly size: number;
    }
  /** The objects kept aside become the store's content. */
  | { readonly kind: "Swap"; readonly version: string }
  | { readonly kind: "Replace"; readonly objects: readonly T[]; readonly version: string }
  | { readonly kind: "Put"; readonly object: T; readonly size: number }
  | { readonly kind: "Remove"; readonly object: T; readonly size: number }
  | { readonly kind: "Advance"; readonly version: string };

/** The next step of the loop. It ends the open stream, if any. */
export type NextStep =
  /** Without a version, the stream starts with all initial objects. */
  | { readonly kind: "OpenStream"; readonly version: string | undefined }
  | { readonly kind: "ListPages" }
  | { readonly kind: "CheckVersion" }
  | { readonly kind: "Wait"; readonly ms: number };

interface WatchStep<T> {
  readonly state: WatchState;
  readonly effects: readonly StoreEffect<T>[];
  /** Absent: the current step continues. */
  readonly next?: NextStep;
  /** Present if a stream or a listing ended. */
  readonly restart?: RestartReason;
}

export const INITIAL_STATE: WatchState = {
  phase: "Empty",
  via: "stream",
  attempts: 0,
  openedAt: undefined,
};

const FIRST_DELAY = 800;
const LONGEST_DELAY = 30 * SECOND;
/** A stream that stays open this long resets the count of failures. */
const HEALTHY_AFTER = 2 * MINUTE;
/** A shorter stream counts as a failure; otherwise a server that closes streams at once would get requests nonstop. */
const SHORT_STREAM = 5 * SECOND;
/** The server should close no stream earlier: this is the shortest requested `timeoutSeconds`. */
const FULL_STREAM = 5 * MINUTE;
/**
 * The share of regularly ended streams that are followed by a new listing: about one listing per hour. Without it, an
 * event that the server never sent would be missing forever, and nothing else would reveal that.
 */
const RELIST_SHARE = 1 / 8;

export function step<T>(state: WatchState, input: WatchInput<T>): WatchStep<T> {
  switch (input.kind) {
    case "Started":
      return list(state);
    case "Opened":
      return stay({ ...state, openedAt: input.at });
    case "Changed":
      return onChange(state, input);
    case "Bookmark":
      return onBookmark(state, input.version, input.endsInitial);
    case "Listed":
      return onListed(state, input.objects, input.version);
    case "Checked":
      return onChecked(state, input.version);
    case "Woke":
      return onWakeUp(state);
    case "Closed":
      return onClosed(state, input);
    case "Failed":
      return onFailed(state, input.reason, input.waitAtLeastMs, input);
  }
}

/** Milliseconds before attempt number `attempts` (from 0): 0.8 s, doubling up to 30 s, with full jitter. */
export function backOffMs(attempts: number, fraction: number): number {
  const ms = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** Math.min(attempts, 16));
  return Math.round(jittered(ms, { least: 0, most: 1 }, fraction));
}

function onChange<T>(
  state: WatchState,
  { deleted, object, version, size }: Extract<WatchInput<T>, { kind: "Changed" }>,
): WatchStep<T> {
  // Initial objects do not arrive in version order, so the version is set at the bookmark.
  if (state.phase === "Initial") return stay(state, { kind: "Collect", deleted, object, size });
  if (state.phase !== "Synced") return stay(state);
  // A replayed event could restore a deleted object.
  if (compareResourceVersions(version, state.version) <= 0) return stay(state);
  return stay({ ...state, version }, { kind: deleted ? "Remove" : "Put", object, size });
}

function onBookmark<T>(state: WatchState, version: string, endsInitial: boolean): WatchStep<T> {
  if (state.phase === "Initial") {
    if (!endsInitial) return stay(state);
    return stay({ ...state, phase: "Synced", version }, { kind: "Swap", version });
  }
  if (state.phase !== "Synced") return stay(state);
  if (compareResourceVersions(version, state.version) < 0) return relist(state, "VersionWentBack");
  return stay({ ...state, version }, { kind: "Advance", version });
}

function onListed<T>(state: WatchState, objects: readonly T[], version: string): WatchStep<T> {
  return {
    state: { ...state, phase: "Synced", version },
    effects: [{ kind: "Replace", objects, version }],
    next: { kind: "OpenStream", version },
  };
}

/**
 * A watch from a version in the server's future stays silent and looks healthy, and after an etcd restore new events
 * can have versions that we have already seen. Only this check reveals it.
 */
function onChecked<T>(state: WatchState, version: string): WatchStep<T> {
  if (state.phase !== "Resuming") return stay(state);
  if (compareResourceVersions(version, state.version) < 0) return relist(state, "VersionWentBack");
  return open({ ...state, phase: "Synced" }, state.version);
}

function onWakeUp<T>(state: WatchState): WatchStep<T> {
  if (state.phase !== "Backoff") return stay(state);
  return state.version === undefined ? list(state) : resume({ ...state, version: state.version });
}

function onClosed<T>(state: WatchState, moment: Moment): WatchStep<T> {
  const lasted = moment.at - (state.openedAt ?? moment.at);
  // An end within the initial objects is always a failure.
  if (lasted < SHORT_STREAM || state.phase !== "Synced") {
    return onFailed(state, "EndedEarly", 0, moment);
  }
  const healthy = afterHealth(state, moment.at);
  if (lasted >= FULL_STREAM) {
    if (moment.fraction < RELIST_SHARE) return { ...list<T>(healthy), restart: "Ended" };
    return {
      ...open<T>({ ...healthy, phase: "Synced", version: state.version }, state.version),
      restart: "Ended",
    };
  }
  return { ...resume<T>({ ...healthy, version: state.version }), restart: "EndedEarly" };
}

function onFailed<T>(
  state: WatchState,
  reason: RestartReason,
  waitAtLeastMs: number,
  moment: Moment,
): WatchStep<T> {
  if (state.phase === "Initial" && state.via === "stream" && needsPages(reason)) {
    return { ...list<T>({ ...state, via: "pages" }), restart: reason };
  }
  // Meanwhile the server answers lists from etcd. Only once: after the next failure, the required wait applies.
  if (state.phase === "Initial" && reason === "Initializing" && state.attempts === 0)
    return {
      ...list<T>({ ...state, attempts: 1 }),
      next: { kind: "ListPages" },
      restart: reason,
    };
  const retryState = afterHealth(state, moment.at);
  const version =
    state.phase === "Synced" || state.phase === "Resuming" ? state.version : undefined;
  // The silence was already a wait, and resuming is cheap.
  if (version !== undefined && state.phase === "Synced" && isCheap(reason)) {
    return { ...resume<T>({ ...retryState, version }), restart: reason };
  }
  const ms = Math.max(waitAtLeastMs, backOffMs(retryState.attempts, moment.fraction));
  return {
    state: {
      phase: "Backoff",
      via: retryState.via,
      openedAt: undefined,
      attempts: retryState.attempts + 1,
      version: LOSES_VERSION.has(reason) ? undefined : version,
    },
    effects: [],
    next: { kind: "Wait", ms },
    restart: reason,
  };
}

/** Servers without streaming lists report it; some proxies drop the bookmark that ends the initial objects. */
function needsPages(reason: RestartReason): boolean {
  return reason === "Unsupported" || reason === "Idle";
}

function isCheap(reason: RestartReason): boolean {
  return reason === "Idle" || reason === "Deadline";
}

/** After these, events may be missing. A truncated line has not changed the version, so its event is sent again. */
const LOSES_VERSION: ReadonlySet<RestartReason> = new Set<RestartReason>([
  "Gone",
  "VersionWentBack",
  "Unsupported",
  "Malformed",
  "Unexpected",
]);

function afterHealth(state: WatchState, at: number): RetryState {
  const { via, openedAt } = state;
  const isHealthy = openedAt !== undefined && at - openedAt >= HEALTHY_AFTER;
  return { via, openedAt: undefined, attempts: isHealthy ? 0 : state.attempts };
}

/** Lists again. The first time without a wait, but it counts as a failure, so the next failure waits. */
function relist<T>(state: WatchState, reason: RestartReason): WatchStep<T> {
  const { via, attempts } = state;
  return {
    state: {
      phase: "Backoff",
      via,
      openedAt: undefined,
      attempts: attempts + 1,
      version: undefined,
    },
    effects: [],
    next: { kind: "Wait", ms: attempts === 0 ? 0 : backOffMs(attempts, 0.5) },
    restart: reason,
  };
}

function list<T>({ via, attempts }: RetryState): WatchStep<T> {
  return {
    state: { phase: "Initial", via, attempts, openedAt: undefined },
    effects: [],
    next: via === "pages" ? { kind: "ListPages" } : { kind: "OpenStream", version: undefined },
  };
}

function resume<T>({ via, attempts, version }: RetryState & { version: string }): WatchStep<T> {
  return {
    state: { phase: "Resuming", via, attempts, version, openedAt: undefined },
    effects: [],
    next: { kind: "CheckVersion" },
  };
}

function open<T>(state: WatchState, version: string): WatchStep<T> {
  return { state, effects: [], next: { kind: "OpenStream", version } };
}

function stay<T>(state: WatchState, ...effects: readonly StoreEffect<T>[]): WatchStep<T> {
  return { state, effects };
}
