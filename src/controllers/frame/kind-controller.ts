/**
 * What a kind says about itself. Everything that is the same for all kinds is the frame's ({@link createReconciler}):
 * parsing the spec, suspension, the finalizer, the loop, failures, statuses, events where conditions change, when to
 * reconcile again, and the process state that goes with its object.
 */
import type { ParsedSpec } from "../../api/parse-spec.ts";
import type { ResourceType } from "../../kube/resource.ts";
import type { ClockReading } from "./clock-reading.ts";
import type { Context } from "./context.ts";
import type { Outcome, Released, Settled, Waiting } from "./rules/outcome.ts";
import type { Report, ReportedObject } from "./rules/report.ts";
import type { StatusWriteContext } from "./status-writer.ts";

/** The types of one kind, under one name. */
export interface KindTypes {
  readonly Object: ReportedObject;
  readonly Spec: { readonly suspend: boolean };
  /** Facts: what was read, and what writes have answered since. */
  readonly Snapshot: { readonly object: ReportedObject };
  /** What a run has done, and found out by doing: no later run may rely on it. */
  readonly Done: unknown;
  readonly Action: { readonly kind: string };
  /** What the process remembers about an object. */
  readonly State: unknown;
}

/** Where a run has got to. */
export interface Progress<K extends KindTypes> {
  readonly snapshot: K["Snapshot"];
  readonly done: K["Done"];
}

/** What one run is given. */
export interface ReconcileContext<State> extends Context, StatusWriteContext {
  /** Ends reads and waits when the process stops or the run takes too long. Not for calls whose answer must not be lost. */
  readonly signal: AbortSignal;
  /** The object's process state as it is now; `undefined` where there is none yet. */
  readonly state: State | undefined;
  /** Replaces the process state at once, whatever becomes of the run. */
  setState(state: State | undefined): void;
  /** The finalizer of this version of the object is gone; runs over what the cache still shows of it end at once. */
  noteReleased(object: ReportedObject): void;
}

export interface KindController<K extends KindTypes> {
  readonly type: ResourceType<K["Object"]>;

  /** The spec with its defaults. One of an object that is being deleted is read leniently: the object has to go. */
  parse(object: K["Object"]): ParsedSpec<K["Spec"]>;

  /** What every run starts with. */
  readonly start: K["Done"];

  /**
   * Reads only: caches, live objects, the console. Nothing is changed, not even process state. Rejects with a
   * PartialFailure where enough is known to report the failure on the object, with anything else where it is not.
   */
  observe(
    object: K["Object"],
    spec: K["Spec"],
    run: ReconcileContext<K["State"]>,
  ): Promise<K["Snapshot"]>;

  /** Pure. The next effect, or why there is none. */
  next(progress: Progress<K>, at: ClockReading): K["Action"] | Waiting | Settled;

  /**
   * Pure. The same for an object that is being deleted and has the operator's finalizer; in the end, that it may go.
   * Absent for a kind that leaves nothing to clean up: it gets no finalizer.
   */
  nextOfDeletion?(
    progress: Progress<K>,
    at: ClockReading,
  ): K["Action"] | Waiting | Settled | Released;

  /** Actions that leave something to clean up: before the first of them, the frame adds the finalizer. */
  readonly needsFinalizer: ReadonlySet<K["Action"]["kind"]>;

  /** Actions that are performed for a suspended object as well, and while the process stops. */
  readonly always: ReadonlySet<K["Action"]["kind"]>;

  /** One effect; answers where the run has got to then. Rejects at the first failure. */
  perform(
    action: K["Action"],
    progress: Progress<K>,
    run: ReconcileContext<K["State"]>,
  ): Promise<Progress<K>>;

  /** Pure. Status, conditions and events from one value, for success and for failure alike. */
  report(
    progress: Progress<K>,
    outcome: Outcome,
    at: ClockReading,
    state: K["State"] | undefined,
  ): Report<K["State"]>;

  /** Whether the kind changes nothing in the console by itself: a plan for it is carried out by reading. */
  readonly isReader?: boolean;

  /** The same kind for a run that only plans, where `perform` changes what the process keeps beside the state. */
  rehearsal?(): KindController<K>;

  /** Whether the process has something of the object's that must be written first, whoever wants a plan. */
  mustSave?(object: K["Object"]): boolean;

  /** Whether the object is only planned for; by its annotation where the kind does not say. */
  isPlanOnly?(object: K["Object"], run: ReconcileContext<K["State"]>): Promise<boolean>;

  /** Another field manager's fields of the status, which are neither compared nor written. */
  readonly foreignFields?: readonly string[];

  /** The object is gone or cannot be worked on: what the kind keeps about it elsewhere goes. */
  forget?(key: { readonly namespace: string; readonly name: string }): void;
}
