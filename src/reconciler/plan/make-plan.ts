/** One run that only plans: it reads as every run does, and goes on with assumed answers where a run has effects. */
import type { PlannedCall } from "../../api/plan.ts";
import { toIamReader } from "../../console/client/reader.ts";
import { toKubeReader } from "../../kube/client/reader.ts";
import { silentLog } from "../../util/log.ts";
import { readClock } from "../clock-reading.ts";
import type { Answered, Effect, Planned, PlannedWrite } from "../effects.ts";
import type { KindDefinition } from "../kind-definition.ts";
import { type End, isFailing } from "../rules/outcome.ts";
import { failureIn } from "../rules/partial-failure.ts";
import type { KindTypes, ReadContext, RunContext } from "../run-context.ts";
import { effectsOf, runEffects } from "../run-effects.ts";
import { withInvented } from "./invented.ts";
import { withLine } from "./lines.ts";

export interface MadePlan<K extends KindTypes> {
  readonly calls: readonly PlannedCall[];
  readonly written: readonly PlannedWrite[];
  /** Why no step is next, if every effect is answered as assumed. */
  readonly end: End | { readonly kind: "Failed"; readonly error: unknown };
  /** The snapshot at that end. */
  readonly assumed: K["Snapshot"];
  /** The snapshot before the first effect. */
  readonly known: K["Snapshot"];
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
  const start: K["Snapshot"] = await kind.observe(object, spec, planning);
  let known = start;
  let assumed = start;
  let calls: readonly PlannedCall[] = [];
  const written: PlannedWrite[] = [];
  let hasEffects = false;
  const assume = async (effect: Effect<K>): Promise<unknown> => {
    run.signal.throwIfAborted();
    assumed = effect.snapshot;
    if (!hasEffects) known = effect.snapshot;
    if ("call" in effect.does && !effect.does.isMinor) hasEffects = true;
    const { answer, remember, line, written: object } = await assumedAnswer(effect, planning);
    calls = withLine(calls, line);
    if (object !== undefined) written.push(object);
    if (remember !== undefined) state = remember(state);
    if (remember !== undefined && !hasEffects) run.setState(state);
    return answer;
  };
  try {
    const effects = effectsOf(kind, start, spec, () => readClock(run));
    const { snapshot, end } = await runEffects(effects, assume);
    assumed = snapshot;
    if (!hasEffects) known = snapshot;
    if (isFailing(end)) throw end.error;
    return { calls, written, end, assumed, known, hasEffects };
  } catch (thrown) {
    const { error, snapshot } = failureIn(thrown, assumed);
    const end = { kind: "Failed", error } as const;
    if (!hasEffects) known = snapshot;
    return { calls, written, end, assumed: snapshot, known, hasEffects };
  }
}

async function assumedAnswer<K extends KindTypes>(
  { does, input, snapshot }: Effect<K>,
  run: ReadContext<K>,
): Promise<Planned<unknown> & Pick<Answered<K>, "remember">> {
  return "read" in does ? does.read(input, snapshot, run) : does.planned(input, snapshot, run);
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
