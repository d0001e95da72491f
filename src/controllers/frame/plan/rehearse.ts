/** One run that only plans: the same `observe`, `next` and `perform`, with clients that cannot write. */
import { FINALIZER } from "../../../api/meta.ts";
import type { PlannedCall } from "../../../api/plan.ts";
import { hasFinalizer } from "../finalizers.ts";
import type { KindController, KindTypes, Progress, ReconcileContext } from "../kind-controller.ts";
import { writeStatusNow } from "../report-run.ts";
import { isReleased } from "../rules/next-step.ts";
import { type Outcome, PartialFailure } from "../rules/outcome.ts";
import { plannedOutcome } from "../rules/plan-only.ts";
import { walk } from "../walk.ts";
import { PlanLog } from "./plan-log.ts";
import { planningContext } from "./planning-context.ts";

export interface Rehearsal<K extends KindTypes> {
  /** The progress of the run before its first planned write. */
  readonly progress: Progress<K>;
  readonly outcome: Outcome;
  readonly calls: readonly PlannedCall[];
}

/**
 * Rejects with the error of `observe`, or with a PartialFailure if a later step fails. Process state learned by reads
 * before the first planned write is kept.
 */
export async function rehearse<K extends KindTypes>(
  kind: KindController<K>,
  object: K["Object"],
  spec: K["Spec"],
  run: ReconcileContext<K>,
): Promise<Rehearsal<K>> {
  const log = new PlanLog();
  const acting = kind.rehearsal?.() ?? kind;
  const planning = planningRun(acting, run, log);
  const snapshot = await acting.observe(object, spec, planning);
  let progress: Progress<K> = { snapshot, done: acting.start };
  try {
    const end = await walk(acting, progress, spec, planning, async (action, from) => {
      planning.signal.throwIfAborted();
      const before = withFinalizer(acting, action, from);
      const { snapshot, done } = await acting.perform(action, before, planning);
      if (!log.hasEffects) progress = { snapshot, done };
      return { snapshot, done };
    });
    const natural = log.hasEffects || isReleased(end) ? undefined : end;
    const outcome = plannedOutcome(natural, log.calls.length, kind.isReader);
    return { progress, outcome, calls: log.calls };
  } catch (error) {
    const isPartial = error instanceof PartialFailure;
    const reached = isPartial && !log.hasEffects ? error.progress : progress;
    throw new PartialFailure(reached, isPartial ? error.cause : error);
  }
}

function planningRun<K extends KindTypes>(
  kind: KindController<K>,
  run: ReconcileContext<K>,
  log: PlanLog,
): ReconcileContext<K> {
  let { state } = run;
  const planning: ReconcileContext<K> = {
    ...planningContext(run, log),
    signal: run.signal,
    noteReleased: run.noteReleased,
    get state() {
      return state;
    },
    setState: (next) => {
      state = next;
      if (!log.hasEffects) run.setState(next);
    },
    writeStatus: (progress, outcome) => writeStatusNow(kind, progress, planning, outcome),
  };
  return planning;
}

/** Assumes the finalizer if an action needs it: the plan does not mention it. */
function withFinalizer<K extends KindTypes>(
  { needsFinalizer }: KindController<K>,
  { kind }: K["Action"],
  { snapshot, done }: Progress<K>,
): Progress<K> {
  const { object } = snapshot;
  if (!needsFinalizer.has(kind) || hasFinalizer(object)) return { snapshot, done };
  const { metadata } = object;
  const finalizers = [...(metadata.finalizers ?? []), FINALIZER];
  return {
    snapshot: { ...snapshot, object: { ...object, metadata: { ...metadata, finalizers } } },
    done,
  };
}
