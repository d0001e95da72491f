import type { ClockReading } from "./clock-reading.ts";
import type { Effect, Effects, Ended } from "./effects.ts";
import type { AnyKind } from "./kind-definition.ts";
import { publishEvents } from "./publish.ts";
import type { Settled, Suspended, Waiting } from "./rules/outcome.ts";
import type { KindTypes, Progress, RunContext } from "./run-context.ts";
import { runSteps } from "./run-steps.ts";

const SETTLED: Settled = { kind: "Settled" };
const SUSPENDED: Suspended = { kind: "Suspended" };

const SUSPENDED_DELETION: Waiting = {
  kind: "Waiting",
  state: "Stalled",
  reason: "Suspended",
  message: "spec.suspend is true: the deletion continues when it is false.",
};

/** What a run knows before its first effect. */
export function startOf<K extends KindTypes>(
  kind: AnyKind<K>,
  snapshot: K["Snapshot"],
): Progress<K> {
  return { snapshot, done: "start" in kind ? kind.start : undefined };
}

/** The run of a kind, in whichever form the kind defines it. */
export function effectsOf<K extends KindTypes>(
  kind: AnyKind<K>,
  start: Progress<K>,
  { suspend }: K["Spec"],
  readNow: () => ClockReading,
): Effects<K, Ended<K>> {
  const effects = "run" in kind ? kind.run(start.snapshot) : runSteps(kind, start, readNow);
  return suspend ? untilSuspended(effects) : effects;
}

/** The run of a suspended object ends before the first effect that is not allowed then. */
function* untilSuspended<K extends KindTypes>(effects: Effects<K, Ended<K>>): Effects<K, Ended<K>> {
  let next = effects.next();
  while (!next.done && next.value.does.whileSuspended) next = effects.next(yield next.value);
  const progress = next.done ? next.value.progress : next.value.known;
  const isDeleting = progress.snapshot.object.metadata.deletionTimestamp !== undefined;
  return { progress, end: isDeleting ? SUSPENDED_DELETION : SUSPENDED };
}

/**
 * Carries out the effects of a run one after the other, until the run ends or `isDone`. Rejects with the error of
 * `carryOut`.
 */
export async function runEffects<K extends KindTypes>(
  effects: Effects<K, Ended<K>>,
  carryOut: (effect: Effect<K>) => Promise<unknown>,
  isDone: () => boolean = () => false,
): Promise<Ended<K>> {
  let next = effects.next();
  while (!next.done) {
    if (isDone()) return { progress: next.value.known, end: SETTLED };
    next = effects.next(await carryOut(next.value));
  }
  return next.value;
}

/** Carries out one effect and returns its answer. */
export async function performEffect<K extends KindTypes>(
  { does, input, known: { snapshot } }: Effect<K>,
  run: RunContext<K>,
): Promise<unknown> {
  if (!does.whileSuspended) run.signal.throwIfAborted();
  const performed =
    "read" in does ? does.read(input, snapshot, run) : does.call(input, snapshot, run);
  const { answer, events = [], remember } = await performed;
  if (remember !== undefined) run.setState(remember(run.state));
  publishEvents(events, run);
  return answer;
}
