/** One run that only plans: it reads as every run does, and goes on with assumed answers where a run has effects. */
import type { PlannedCall } from "../../api/plan.ts";
import { toIamReader } from "../../console/client/reader.ts";
import { toKubeReader } from "../../kube/client/reader.ts";
import { silentLog } from "../../util/log.ts";
import { readTimes } from "../clock-reading.ts";
import { withFinalizer } from "../finalizers.ts";
import type { KindDefinition } from "../kind-definition.ts";
import type { End } from "../rules/next-step.ts";
import { failureIn } from "../rules/outcome.ts";
import type { KindTypes, Performed, Progress, ReadContext, RunContext } from "../run-context.ts";
import { runSteps } from "../run-steps.ts";
import { stepOf } from "../steps.ts";
import { withInvented } from "./invented.ts";
import { withLine } from "./lines.ts";

interface MadePlan<K extends KindTypes> {
  readonly calls: readonly PlannedCall[];
  /** Why no step is next, if every effect is answered as assumed. */
  readonly end: End | { readonly kind: "Failed"; readonly error: unknown };
  /** The progress at that end. */
  readonly progress: Progress<K>;
  /** The progress before the first effect. */
  readonly known: Progress<K>;
  /** Whether a run would change anything, even if only the operator's own objects. */
  readonly hasEffects: boolean;
}

/** Rejects with the error of `observe`. Process state learned by reads before the first effect is kept. */
export async function makePlan<K extends KindTypes>(
  kind: KindDefinition<K>,
  object: K["Object"],
  spec: K["Spec"],
  run: RunContext<K>,
): Promise<MadePlan<K>> {
  let { state } = run;
  const planning: ReadContext<K> = {
    ...readersOf(run),
    get state() {
      return state;
    },
  };
  let progress: Progress<K> = {
    snapshot: await kind.observe(object, spec, planning),
    done: kind.start,
  };
  let known = progress;
  let calls: readonly PlannedCall[] = [];
  let hasEffects = false;
  const plan = async (action: K["Action"], from: Progress<K>): Promise<Performed<K>> => {
    const step = stepOf(kind, action);
    const before = step.needsFinalizer ? held(from) : from;
    if ("read" in step) return step.read(action, before, planning);
    if (!("call" in step)) return step.after(action, before, undefined, readTimes(run.clock));
    hasEffects = true;
    const { answer, line } = await step.planned(action, before, planning);
    calls = withLine(calls, line);
    return step.after(action, before, answer, readTimes(run.clock));
  };
  try {
    const end = await runSteps(kind, progress, spec, run, async (action, from) => {
      run.signal.throwIfAborted();
      const { snapshot, done, remember } = await plan(action, from);
      progress = { snapshot, done };
      if (remember !== undefined) state = remember(state);
      if (hasEffects) return progress;
      known = progress;
      if (remember !== undefined) run.setState(state);
      return progress;
    });
    return { calls, end, progress, known, hasEffects };
  } catch (thrown) {
    const { error, progress: reached } = failureIn(thrown, progress);
    const end = { kind: "Failed", error } as const;
    return { calls, end, progress: reached, known: hasEffects ? known : reached, hasEffects };
  }
}

/** No member can change the cluster or the console. */
function readersOf<K extends KindTypes>(run: RunContext<K>): Omit<ReadContext<K>, "state"> {
  const { kube, caches, connections, clock, clusterName, signal } = run;
  return {
    kube: toKubeReader(kube),
    caches,
    connections,
    clock,
    clusterName,
    signal,
    log: silentLog,
    isPlan: true,
    console: (session, options) => withInvented(toIamReader(run.console(session, options))),
  };
}

/** The progress with the finalizer, which a plan does not mention. */
function held<K extends KindTypes>({ snapshot, done }: Progress<K>): Progress<K> {
  return { snapshot: { ...snapshot, object: withFinalizer(snapshot.object) }, done };
}
