import type { ResourceType } from "../kube/resource.ts";
import { isBeingDeleted } from "../util/object-meta.ts";
import type { ReadNow } from "./clock-reading.ts";
import type { Effect, Effects, Ended } from "./effects.ts";
import { finalizerEffect } from "./finalizer-effect.ts";
import { hasFinalizer } from "./finalizers.ts";
import type { KindDefinition } from "./kind-definition.ts";
import { publishEvents } from "./publish.ts";
import type { Settled, Suspended, Waiting } from "./rules/outcome.ts";
import type { KindTypes, RunContext } from "./run-context.ts";

const SETTLED: Settled = { kind: "Settled" };
const SUSPENDED: Suspended = { kind: "Suspended" };

const SUSPENDED_DELETION: Waiting = {
  kind: "Waiting",
  state: "Stalled",
  reason: "Suspended",
  message: "spec.suspend is true: the deletion continues when it is false.",
};

/** The run of a kind over an object, or its deletion. */
export function effectsOf<K extends KindTypes>(
  kind: KindDefinition<K>,
  snapshot: K["Snapshot"],
  { suspend }: K["Spec"],
  readNow: ReadNow,
): Effects<K, Ended<K>> {
  const effects = withFinalizers(kind.type, runOf(kind, snapshot, readNow));
  return suspend ? untilSuspended(effects) : effects;
}

function runOf<K extends KindTypes>(
  kind: KindDefinition<K>,
  snapshot: K["Snapshot"],
  readNow: ReadNow,
): Effects<K, Ended<K>> {
  return isBeingDeleted(snapshot.object) && kind.runOfDeletion !== undefined
    ? kind.runOfDeletion(snapshot, readNow)
    : kind.run(snapshot, readNow);
}

/** Before the first effect that needs it, the object gets the finalizer. */
function* withFinalizers<K extends KindTypes>(
  type: ResourceType<K["Object"]>,
  effects: Effects<K, Ended<K>>,
): Effects<K, Ended<K>> {
  let next = effects.next();
  while (!next.done) {
    const effect = next.value;
    const isReady = !effect.does.needsFinalizer || hasFinalizer(effect.snapshot.object);
    const ready = isReady ? effect : { ...effect, snapshot: yield* keepObject(type, effect) };
    next = effects.next(yield ready);
  }
  return next.value;
}

/** Returns the snapshot with the written object. */
function* keepObject<K extends KindTypes>(
  type: ResourceType<K["Object"]>,
  { does: { whileSuspended = false }, snapshot }: Effect<K>,
): Effects<K, K["Snapshot"]> {
  const does = finalizerEffect<K>(type, whileSuspended) as Effect<K>["does"];
  const written = yield { does, input: undefined, snapshot };
  return { ...snapshot, object: written as K["Object"] };
}

/** The run of a suspended object ends before the first effect that is not allowed then. */
function* untilSuspended<K extends KindTypes>(effects: Effects<K, Ended<K>>): Effects<K, Ended<K>> {
  let next = effects.next();
  while (!next.done && next.value.does.whileSuspended) next = effects.next(yield next.value);
  const { snapshot } = next.value;
  return { snapshot, end: isBeingDeleted(snapshot.object) ? SUSPENDED_DELETION : SUSPENDED };
}

/** More effects than any run needs. */
const MAX_EFFECTS = 10_000;

/**
 * Carries out the effects of a run one after the other, until the run ends or `isDone`. Rejects with the error of
 * `carryOut`, and if the run goes in circles.
 */
export async function runEffects<K extends KindTypes>(
  effects: Effects<K, Ended<K>>,
  carryOut: (effect: Effect<K>) => Promise<unknown>,
  isDone: () => boolean = () => false,
): Promise<Ended<K>> {
  let next = effects.next();
  for (let count = 0; !next.done; count += 1) {
    if (count === MAX_EFFECTS) throw new Error("the run goes in circles");
    if (isDone()) return { snapshot: next.value.snapshot, end: SETTLED };
    next = effects.next(await carryOut(next.value));
  }
  return next.value;
}

/** Carries out one effect and returns its answer. */
export async function performEffect<K extends KindTypes>(
  { does, input, snapshot }: Effect<K>,
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
