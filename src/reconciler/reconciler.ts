/** The single reconcile loop of all kinds: parse, observe, effects, report; also for deletions. */
import { type OperatorEvent, toEvent } from "../api/events.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type KubeObject, keyOf, keyText, type ObjectKey } from "../kube/resource.ts";
import type { Reconcile, Result, Run } from "../runtime/result.ts";
import { agreedClock } from "../util/agreed-time.ts";
import { isBeingDeleted } from "../util/object-meta.ts";
import { readClock } from "./clock-reading.ts";
import type { Context } from "./context.ts";
import { hasFinalizer, removeFinalizer } from "./finalizers.ts";
import type { KindDefinition } from "./kind-definition.ts";
import { makePlan } from "./plan/make-plan.ts";
import { type PlannedObject, planObject } from "./plan/plan-object.ts";
import { isPlannedOnly, outcomeOfPlan } from "./plan/plan-only.ts";
import { ProcessState } from "./process-state.ts";
import { publishEvents } from "./publish.ts";
import { RELEASED_RECHECK_MS, ReleasedViews } from "./released-views.ts";
import { rejectSpec, reportFailure, reportOutcome, writeStatusNow } from "./report-run.ts";
import { isFailing, isReleased } from "./rules/outcome.ts";
import { PartialFailure } from "./rules/partial-failure.ts";
import type { DryRun, KindTypes, RunContext } from "./run-context.ts";
import { effectsOf, performEffect, runEffects } from "./run-effects.ts";
import { RunSessions } from "./run-sessions.ts";
import { LOOK_MS, UnansweredStatuses } from "./unanswered-statuses.ts";

export interface KindReconciler<K extends KindTypes> {
  readonly reconcile: Reconcile<K["Object"]>;
  /** Must be called when an object is no longer in the cache. */
  readonly onGone: (key: ObjectKey) => void;
  /**
   * Writes data of the object that exists only in this process, and nothing else: issues nothing and reports nothing.
   * Not beside a run over the same object. Rejects if the data could not be written.
   */
  readonly save: (object: K["Object"], run: Pick<Run, "signal">) => Promise<void>;
  /** What a reconcile of the object would do. Changes nothing. */
  readonly plan: (object: K["Object"], run: Pick<Run, "signal">) => Promise<PlannedObject>;
}

/**
 * Reconciles objects of one kind.
 *
 * Guarantees:
 * - An effect that requires a cleanup is carried out only on an object with the operator's finalizer.
 * - On a suspended object, only effects with `whileSuspended` are carried out.
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
  kind: KindDefinition<K>,
  context: Context,
  states = new ProcessState<K["State"]>(context.memory),
): KindReconciler<K> {
  const released = new ReleasedViews(context.clock);
  const unanswered = new UnansweredStatuses(context.clock);
  const forget = (key: ObjectKey) => {
    const uid = states.forget(keyText(key));
    if (uid !== undefined) unanswered.forget(uid);
    released.forget(key);
    kind.forget?.(key);
  };
  const contextOf = (object: K["Object"], request: RunRequest) =>
    createRunContext(kind, { ...context, unanswered, states, released }, object, request);
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
      const result = await reconcileObject(kind, object, contextOf(object, request));
      return unanswered.has(object.metadata.uid) ? soon(result) : result;
    },
    onGone: forget,
    save: async (object, request) => {
      const parsed = kind.parse(object);
      if (!parsed.ok) throw new Error(parsed.message);
      await saveKind(kind, object, parsed.spec, contextOf(object, request));
    },
    plan: (object, request) => planObject(kind, object, contextOf(object, request)),
  };
}

/** Looks again at an object whose status may be overwritten by a late write. */
function soon(result: Result): Result {
  return { ...result, requeueAfterMs: Math.min(result.requeueAfterMs ?? LOOK_MS, LOOK_MS) };
}

type RunRequest = Pick<Run, "signal" | "reportSignal" | "isRequested">;

interface ReconcilerContext<K extends KindTypes> extends Context {
  readonly unanswered: UnansweredStatuses;
  readonly states: ProcessState<K["State"]>;
  readonly released: ReleasedViews;
}

function createRunContext<K extends KindTypes>(
  kind: KindDefinition<K>,
  { states, released, ...context }: ReconcilerContext<K>,
  object: K["Object"],
  { signal, reportSignal = signal, isRequested }: RunRequest,
): RunContext<K> {
  const { uid } = object.metadata;
  const { namespace } = keyOf(object);
  const sessions = new RunSessions(context.connections, isRequested);
  const run: RunContext<K> = {
    ...context,
    clock: agreedClock(context.clock, () => ({ console: sessions.consoleTime })),
    connections: sessions,
    console: (session, options) => sessions.client(session, options),
    dryRun: dryRunOf(context.kube, signal),
    isPlan: false,
    signal,
    reportSignal,
    noteReleased: (object) => released.note(object),
    get state() {
      return states.of(uid);
    },
    setState: (state) => states.set(uid, namespace, state),
    writeStatus: (snapshot, outcome) => writeStatusNow(kind, snapshot, run, outcome),
  };
  return run;
}

function dryRunOf(kube: KubeClient, signal: AbortSignal): DryRun {
  const options = { dryRun: true, signal };
  return {
    create: (type, object) => kube.create(type, object, options),
    mergePatch: (type, key, patch) => kube.mergePatch(type, key, patch, options),
  };
}

/** One run over a complete object that may need work. */
async function reconcileObject<K extends KindTypes>(
  kind: KindDefinition<K>,
  object: K["Object"],
  run: RunContext<K>,
): Promise<Result> {
  const parsed = kind.parse(object);
  const isPlanned = await isPlannedOnly(kind, object, run);
  if (parsed.ok) return (isPlanned ? planKind : runKind)(kind, object, parsed.spec, run);
  kind.forget?.(keyOf(object));
  return !isBeingDeleted(object) || isPlanned
    ? rejectSpec(kind, object, parsed.message, run)
    : release(kind, object, [nothingCleanedUp(parsed.message)], run);
}

function nothingCleanedUp(message: string): OperatorEvent {
  const note = `The spec is not valid (${message}), so nothing was cleaned up in the console. The status listed what is there.`;
  return toEvent("CleanupIncomplete", "Delete", note);
}

/** Whether the object is being deleted and the operator has nothing left to do for it. */
function isOver<K extends KindTypes>(kind: KindDefinition<K>, object: K["Object"]): boolean {
  return isBeingDeleted(object) && !(kind.runOfDeletion !== undefined && hasFinalizer(object));
}

/** One run over an object whose spec is valid. */
async function runKind<K extends KindTypes>(
  kind: KindDefinition<K>,
  object: K["Object"],
  spec: K["Spec"],
  run: RunContext<K>,
): Promise<Result> {
  let known: K["Snapshot"] | undefined;
  try {
    known = (await kind.observe(object, spec, run)) as K["Snapshot"];
    const effects = effectsOf(kind, known, spec, () => readClock(run));
    const { snapshot, end } = await runEffects(effects, (effect) => {
      known = effect.snapshot;
      return performEffect(effect, run);
    });
    known = snapshot;
    if (isFailing(end)) throw end.error;
    return isReleased(end)
      ? await release(kind, snapshot.object, end.events, run)
      : await reportOutcome(kind, snapshot, end, run);
  } catch (error) {
    return await reportFailure(kind, known, error, run);
  }
}

/** Goes on only until nothing is unsaved, with the actions that a suspended object may perform. */
async function saveKind<K extends KindTypes>(
  kind: KindDefinition<K>,
  object: K["Object"],
  spec: K["Spec"],
  run: RunContext<K>,
): Promise<void> {
  const isSaved = () => kind.mustSave?.(object) !== true;
  if (isSaved()) return;
  const suspended = { ...spec, suspend: true };
  const start = await kind.observe(object, suspended, run);
  const effects = effectsOf(kind, start, suspended, () => readClock(run));
  await runEffects(effects, (effect) => performEffect(effect, run), isSaved);
}

/** One run that only plans. Unsaved data is written first. */
async function planKind<K extends KindTypes>(
  kind: KindDefinition<K>,
  object: K["Object"],
  spec: K["Spec"],
  run: RunContext<K>,
): Promise<Result> {
  try {
    await saveKind(kind, object, spec, run);
    const plan = await makePlan(kind, object, spec, run);
    const { end, known, calls } = plan;
    if (end.kind === "Failed") throw new PartialFailure(known, end.error);
    return await reportOutcome(kind, known, outcomeOfPlan(kind, plan, end), run, calls);
  } catch (error) {
    return await reportFailure(kind, undefined, error, run);
  }
}

/** Removes the finalizer first and then records the events: the object may be deleted at once. */
async function release<K extends KindTypes>(
  kind: KindDefinition<K>,
  object: K["Object"],
  events: readonly OperatorEvent[],
  run: RunContext<K>,
): Promise<Result> {
  await removeFinalizer(run, kind.type, object);
  run.noteReleased(object);
  publishEvents(
    events.map((event) => ({ object, event })),
    run,
  );
  const reasons = events.map(({ reason }) => reason);
  const notes = events.map(({ note }) => note);
  run.log.info({ kind: kind.type.kind, ...keyOf(object), reasons, notes }, "released object");
  run.setState(undefined);
  kind.forget?.(keyOf(object));
  return { requeueAfterMs: RELEASED_RECHECK_MS };
}
