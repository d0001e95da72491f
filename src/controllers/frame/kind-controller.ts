/**
 * The part of a reconciler that is specific to a kind. The frame ({@link createReconciler}) does everything that is the
 * same for all kinds: parsing the spec, suspension, the finalizer, the loop, failures, statuses, events about changed
 * conditions, the time of the next reconcile, and process state that is deleted with its object.
 */
import type { ParsedSpec } from "../../api/parse-spec.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeReader } from "../../kube/client/reader.ts";
import type { ResourceType } from "../../kube/resource.ts";
import type { ClockReading } from "./clock-reading.ts";
import type { Context } from "./context.ts";
import type { StatusWriteContext } from "./publish.ts";
import type { Outcome, Released, Settled, Waiting } from "./rules/outcome.ts";
import type { EventOf, Report, ReportedObject } from "./rules/report.ts";

/** The types of one kind, under one name. */
export interface KindTypes {
  readonly Object: ReportedObject;
  readonly Spec: { readonly suspend: boolean };
  /** Facts: the data read, and the answers of later writes. */
  readonly Snapshot: { readonly object: ReportedObject };
  /** What a run has done, and has learned from doing it: no later run can rely on it. */
  readonly Done: unknown;
  readonly Action: { readonly kind: string };
  /** What the process remembers about an object. */
  readonly State: unknown;
}

/** The progress of a run. */
export interface Progress<K extends KindTypes> {
  readonly snapshot: K["Snapshot"];
  readonly done: K["Done"];
}

/** The progress after an action, and the events about it: the frame publishes them. */
export interface Performed<K extends KindTypes> extends Progress<K> {
  readonly events?: readonly EventOf[];
}

/** What `observe` is given: no member can change an object, the process state, an event or a metric. */
export interface ObserveContext<K extends KindTypes>
  extends Pick<Context, "caches" | "connections" | "clock" | "isPlan"> {
  readonly kube: KubeReader;
  /**
   * Aborts reads and waits when the process stops or the run takes too long. Must not be used for calls whose answer
   * must not be lost.
   */
  readonly signal: AbortSignal;
  /** The object's current process state; `undefined` if there is none yet. */
  readonly state: K["State"] | undefined;
}

/** The context of one run. */
export interface ReconcileContext<K extends KindTypes>
  extends Context,
    ObserveContext<K>,
    StatusWriteContext {
  readonly kube: KubeClient;
  /** Replaces the process state at once, even if the run fails later. */
  setState(state: K["State"] | undefined): void;
  /**
   * Writes the object's status as the kind reports it for this progress and outcome (absent: Settled), in the middle of
   * a run. Returns the progress with the written object. Rejects with Conflict if the object has changed.
   */
  writeStatus(progress: Progress<K>, outcome?: Outcome): Promise<Progress<K>>;
  /**
   * Call it after the finalizer of this version was removed: runs over that version, still in the cache, end at once.
   */
  noteReleased(object: ReportedObject): void;
}

export interface KindController<K extends KindTypes> {
  readonly type: ResourceType<K["Object"]>;

  /**
   * The spec with its defaults. The spec of an object being deleted is read leniently, so that the deletion can finish.
   */
  parse(object: K["Object"]): ParsedSpec<K["Spec"]>;

  /** The initial value of every run. */
  readonly start: K["Done"];

  /**
   * Only reads: caches, live objects, the console. Changes nothing, not even process state. Rejects with a
   * PartialFailure if enough is known to report the failure on the object, otherwise with any other error.
   */
  observe(object: K["Object"], spec: K["Spec"], run: ObserveContext<K>): Promise<K["Snapshot"]>;

  /** Pure. The next effect, or why there is none. */
  next(progress: Progress<K>, at: ClockReading): K["Action"] | Waiting | Settled;

  /**
   * Pure. The same for an object that is being deleted and has the operator's finalizer. The last answer is `Released`.
   * Absent for a kind that needs no cleanup: its objects get no finalizer.
   */
  nextOfDeletion?(
    progress: Progress<K>,
    at: ClockReading,
  ): K["Action"] | Waiting | Settled | Released;

  /** Actions that require a cleanup later: the frame adds the finalizer before the first of them. */
  readonly needsFinalizer: ReadonlySet<K["Action"]["kind"]>;

  /** Actions that are performed even for a suspended object and while the process stops. */
  readonly always: ReadonlySet<K["Action"]["kind"]>;

  /** Performs one action and returns the new progress, with its events. Rejects at the first failure. */
  perform(
    action: K["Action"],
    progress: Progress<K>,
    run: ReconcileContext<K>,
  ): Promise<Performed<K>>;

  /** Pure. Computes status, conditions and events from one value, both after a success and after a failure. */
  report(
    progress: Progress<K>,
    outcome: Outcome,
    at: ClockReading,
    state: K["State"] | undefined,
  ): Report<K["State"]>;

  /** Whether the kind never changes the console: a plan for it then only reads, as every run does. */
  readonly isReader?: boolean;

  /** The kind for a run that only plans. Required if `perform` changes data of the process other than its state. */
  rehearsal?(): KindController<K>;

  /** Whether the process has data of the object that must be written first, even if the operator only plans. */
  mustSave?(object: K["Object"]): boolean;

  /** Whether the operator only plans for the object. Absent: the object's annotation decides. */
  isPlanOnly?(object: K["Object"], run: ObserveContext<K>): Promise<boolean>;

  /** Status fields of another field manager; they are neither compared nor written. */
  readonly foreignFields?: readonly string[];

  /** Deletes the kind's other data about the object. Called when the object was deleted or its spec is invalid. */
  forget?(key: { readonly namespace: string; readonly name: string }): void;
}
