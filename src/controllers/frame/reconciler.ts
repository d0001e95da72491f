/** The single reconcile loop of all kinds: parse, observe, (next, perform)*, report; also for deletions. */
import type { EventNote } from "../../kube/events/event-recorder.ts";
import { type KubeObject, keyOf, keyText, type ObjectKey } from "../../kube/resource.ts";
import type { Reconcile, Result, Run } from "../../runtime/result.ts";
import { SECOND } from "../../util/time.ts";
import type { Connections, Context } from "./context.ts";
import { addFinalizer, hasFinalizer, removeFinalizer } from "./finalizers.ts";
import type { KindController, KindTypes, Progress, ReconcileContext } from "./kind-controller.ts";
import { rehearse } from "./plan/rehearse.ts";
import { ProcessState } from "./process-state.ts";
import { publishEvents } from "./publish.ts";
import { RELEASED_RECHECK_MS, ReleasedViews } from "./released-views.ts";
import { rejectSpec, reportFailure, reportOutcome, writeStatusNow } from "./report-run.ts";
import { isReleased } from "./rules/next-step.ts";
import { isPlanOnly } from "./rules/plan-only.ts";
import { walk } from "./walk.ts";

export interface KindReconciler<K extends KindTypes> {
  readonly reconcile: Reconcile<K["Object"]>;
  /** Must be called when an object is no longer in the cache. */
  readonly onGone: (key: ObjectKey) => void;
}

/**
 * Reconciles objects of one kind.
 *
 * Guarantees:
 * - An action that requires a cleanup is performed only on an object with the operator's finalizer.
 * - On a suspended object, only the actions in the kind's `always` are performed.
 * - A run without a conflict that is not stopped ends with a report of its outcome, except for a brief wait of a new
 *   object.
 * - A report that cannot be written does not hide a failure.
 * - If the operator only plans for an object, it writes only the object's status.
 *
 * Rejects with the failure of the run. Only the queue tries again, according to the error policy.
 *
 * Assumption: no two runs over the same object at the same time.
 */
export function createReconciler<K extends KindTypes>(
  kind: KindController<K>,
  context: Context,
  states = new ProcessState<K["State"]>(),
): KindReconciler<K> {
  const released = new ReleasedViews(context.clock);
  const forget = (key: ObjectKey) => {
    states.forget(keyText(key));
    released.forget(key);
    kind.forget?.(key);
  };
  const unanswered = new Set<string>();
  const contextOf = (
    uid: string,
    { signal, isRequested = false }: Pick<Run, "signal" | "isRequested">,
  ): ReconcileContext<K> => {
    const run: ReconcileContext<K> = {
      ...context,
      connections: isRequested ? passingHolds(context.connections) : context.connections,
      signal,
      unanswered,
      noteReleased: (object) => released.note(object),
      get state() {
        return states.of(uid);
      },
      setState: (state) => states.set(uid, state),
      writeStatus: (progress, outcome) => writeStatusNow(kind, progress, run, outcome),
    };
    return run;
  };
  return {
    reconcile: async (cached, request) => {
      const { signal } = request;
      const key = keyOf(cached);
      const { isPartial }: KubeObject = cached;
      const object = isPartial ? await context.kube.get(kind.type, key, { signal }) : cached;
      // The watch will report the deletion.
      if (object === undefined) return {};
      if (isOver(kind, object)) {
        forget(key);
        return {};
      }
      if (released.has(object)) return { requeueAfterMs: RELEASED_RECHECK_MS };
      states.track(keyText(key), object.metadata.uid);
      return await reconcileObject(kind, object, contextOf(object.metadata.uid, request));
    },
    onGone: forget,
  };
}

/** For a requested run: the operator calls the console even if the console asked it to wait. */
function passingHolds(connections: Connections): Connections {
  return {
    resolve: async (ref, namespace) => {
      const found = await connections.resolve(ref, namespace);
      if (!found.ok) return found;
      return { ok: true, access: { ...found.access, client: found.access.client.requested } };
    },
  };
}

/** One run over a complete object that may need work. */
async function reconcileObject<K extends KindTypes>(
  kind: KindController<K>,
  object: K["Object"],
  run: ReconcileContext<K>,
): Promise<Result> {
  const parsed = kind.parse(object);
  const isPlanned = await isPlannedOnly(kind, object, run);
  if (parsed.ok) return (isPlanned ? planKind : runKind)(kind, object, parsed.spec, run);
  kind.forget?.(keyOf(object));
  return object.metadata.deletionTimestamp === undefined || isPlanned
    ? rejectSpec(kind, object, parsed.message, run)
    : release(kind, object, [], run);
}

async function isPlannedOnly<K extends KindTypes>(
  kind: KindController<K>,
  object: K["Object"],
  run: ReconcileContext<K>,
): Promise<boolean> {
  if (run.readOnly === true) return true;
  return kind.isPlanOnly === undefined ? isPlanOnly(object) : kind.isPlanOnly(object, run);
}

/** Whether the object is being deleted and the operator has nothing left to do for it. */
function isOver<K extends KindTypes>(kind: KindController<K>, object: K["Object"]): boolean {
  const isDeleting = object.metadata.deletionTimestamp !== undefined;
  return isDeleting && (kind.nextOfDeletion === undefined || !hasFinalizer(object));
}

/** One run over an object whose spec is valid. */
async function runKind<K extends KindTypes>(
  kind: KindController<K>,
  object: K["Object"],
  spec: K["Spec"],
  run: ReconcileContext<K>,
): Promise<Result> {
  let progress: Progress<K> | undefined;
  try {
    progress = { snapshot: await kind.observe(object, spec, run), done: kind.start };
    const end = await walk(kind, progress, spec, run, async (action, from) => {
      progress = await perform(kind, action, from, run);
      return progress;
    });
    return isReleased(end)
      ? await release(kind, progress.snapshot.object, end.events, run)
      : await reportOutcome(kind, progress, end, run);
  } catch (error) {
    return await reportFailure(kind, progress, error, run);
  }
}

/** One run that only plans. Unsaved data is written first, by a run as for a suspended object. */
async function planKind<K extends KindTypes>(
  kind: KindController<K>,
  object: K["Object"],
  spec: K["Spec"],
  run: ReconcileContext<K>,
): Promise<Result> {
  if (kind.mustSave?.(object)) {
    await runKind(kind, object, { ...spec, suspend: true }, run);
    return { requeueAfterMs: SECOND };
  }
  try {
    const { progress, outcome, calls } = await rehearse(kind, object, spec, run);
    return await reportOutcome(kind, progress, outcome, run, calls);
  } catch (error) {
    return await reportFailure(kind, undefined, error, run);
  }
}

/** Performs one action, or adds the finalizer that it needs first: then the next step is decided again. */
async function perform<K extends KindTypes>(
  kind: KindController<K>,
  action: K["Action"],
  progress: Progress<K>,
  run: ReconcileContext<K>,
): Promise<Progress<K>> {
  if (!kind.always.has(action.kind)) run.signal.throwIfAborted();
  const { object } = progress.snapshot;
  if (!kind.needsFinalizer.has(action.kind) || hasFinalizer(object)) {
    const { events = [], snapshot, done } = await kind.perform(action, progress, run);
    publishEvents(events, run);
    return { snapshot, done };
  }
  const held = await addFinalizer(run, kind.type, object);
  return { ...progress, snapshot: { ...progress.snapshot, object: held } };
}

/** Removes the finalizer first and then records the events: the object may be deleted at once. */
async function release<K extends KindTypes>(
  kind: KindController<K>,
  object: K["Object"],
  events: readonly EventNote[],
  run: ReconcileContext<K>,
): Promise<Result> {
  await removeFinalizer(run, kind.type, object);
  run.noteReleased(object);
  publishEvents(
    events.map((event) => ({ object, event })),
    run,
  );
  const reasons = events.map(({ reason }) => reason);
  run.log.info({ kind: kind.type.kind, ...keyOf(object), reasons }, "released object");
  run.setState(undefined);
  kind.forget?.(keyOf(object));
  return { requeueAfterMs: RELEASED_RECHECK_MS };
}
