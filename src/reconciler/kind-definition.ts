/**
 * The part of a reconciler that is specific to a kind. The reconciler ({@link createReconciler}) does everything that is
 * the same for all kinds: parsing the spec, suspension, the finalizer, the loop, failures, statuses, events about changed
 * conditions, the time of the next reconcile, and process state that is deleted with its object.
 */
import type { ParsedSpec } from "../api/parse-spec.ts";
import type { ResourceType } from "../kube/resource.ts";
import type { ClockReading, ReadNow } from "./clock-reading.ts";
import type { Data } from "./data.ts";
import type { Effects, Ended } from "./effects.ts";
import type { Outcome } from "./rules/outcome.ts";
import type { KindCondition, Report } from "./rules/report.ts";
import type { KindTypes, ReadContext } from "./run-context.ts";

export interface KindDefinition<K extends KindTypes> {
  readonly type: ResourceType<K["Object"]>;

  /**
   * The spec with its defaults. The spec of an object being deleted is read leniently, so that the deletion can finish.
   */
  parse(object: K["Object"]): ParsedSpec<K["Spec"]>;

  /**
   * Only reads: caches, live objects, the console. Changes nothing, not even process state. Rejects with a
   * PartialFailure if enough is known to report the failure on the object, otherwise with any other error. A snapshot is
   * data: no client, session or function.
   */
  observe(
    object: K["Object"],
    spec: K["Spec"],
    run: ReadContext<K>,
  ): Promise<K["Snapshot"] & Data<K["Snapshot"]>>;

  /** Pure but for the time: the effects of a run, from what `observe` has read to its end. */
  run(snapshot: K["Snapshot"], readNow: ReadNow): Effects<K, Ended<K>>;

  /**
   * The same for an object that is being deleted and has the operator's finalizer. It ends as `Released` when nothing
   * is left to do. Absent for a kind that needs no cleanup: its objects get no finalizer.
   */
  runOfDeletion?(snapshot: K["Snapshot"], readNow: ReadNow): Effects<K, Ended<K>>;

  /** Pure. Computes status, conditions and events from one value, both after a success and after a failure. */
  report(
    snapshot: K["Snapshot"],
    outcome: Outcome,
    at: ClockReading,
    state: K["State"] | undefined,
  ): Report<K["State"]>;

  /** The kind's conditions of an object whose spec is invalid. Absent: as they were. */
  ifInvalid?(message: string): readonly KindCondition[];

  /** Whether the process has data of the object that must be written first, even if the operator only plans. */
  mustSave?(object: K["Object"]): boolean;

  /** Whether the operator only plans for the object. Absent: the object's annotation decides. */
  isPlanOnly?(object: K["Object"], run: ReadContext<K>): Promise<boolean>;

  /** Status fields of another field manager; they are neither compared nor written. */
  readonly foreignFields?: readonly string[];

  /** Whether the kind never changes the console. */
  readonly isReader?: boolean;

  /** Deletes the kind's other data about the object. Called when the object was deleted or its spec is invalid. */
  forget?(key: { readonly namespace: string; readonly name: string }): void;
}
