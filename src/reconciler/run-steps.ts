/** The run of a kind whose rules name one action at a time, as effects. */
import { type ClockReading, readTimes } from "./clock-reading.ts";
import type { Context } from "./context.ts";
import type { Answered, Effect, Effects, Ended } from "./effects.ts";
import { addFinalizer, hasFinalizer, withFinalizer } from "./finalizers.ts";
import type { KindDefinition } from "./kind-definition.ts";
import { type End, type Failing, isFailing, isOutcome, isReleased } from "./rules/outcome.ts";
import type { KindTypes, Performed, Progress } from "./run-context.ts";
import { type Step, stepOf } from "./steps.ts";

/** More steps than any correct run of a kind needs: rules that repeat themselves must not loop forever. */
const MAX_STEPS = 40;

/** After each action, and after the finalizer that it needs, the rules decide again. */
export function* runSteps<K extends KindTypes>(
  kind: KindDefinition<K>,
  start: Progress<K>,
  readNow: () => ClockReading,
): Effects<K, Ended<K>> {
  let progress = start;
  for (let count = 0; count < MAX_STEPS; count += 1) {
    const action = nextAction(kind, progress, readNow());
    if (isFailing(action) || isReleased(action) || isOutcome(action))
      return { progress, end: action };
    const step = stepOf(kind, action);
    const isHeld = !step.needsFinalizer || hasFinalizer(progress.snapshot.object);
    const does = isHeld ? toEffect(step, action, progress) : toFinalizer(kind, step, progress);
    progress = (yield { does, input: action, known: progress }) as Progress<K>;
  }
  throw new Error(`the rules for a ${kind.type.kind} go in circles`);
}

function nextAction<K extends KindTypes>(
  kind: KindDefinition<K>,
  progress: Progress<K>,
  at: ClockReading,
): K["Action"] | End | Failing {
  const isDeleting = progress.snapshot.object.metadata.deletionTimestamp !== undefined;
  return isDeleting && kind.nextOfDeletion !== undefined
    ? kind.nextOfDeletion(progress, at)
    : kind.next(progress, at);
}

/** The answer is the progress with the finalizer. */
function toFinalizer<K extends KindTypes>(
  { type }: KindDefinition<K>,
  step: Step<K, K["Action"]>,
  before: Progress<K>,
): Effect<K>["does"] {
  const { object } = before.snapshot;
  const after = (written: K["Object"]) => ({
    answer: { ...before, snapshot: { ...before.snapshot, object: written } },
  });
  return {
    ...{ kind: "AddFinalizer", whileSuspended: step.whileSuspended === true, isMinor: true },
    call: async (_, __, run) => after(await addFinalizer(run, type, object)),
    planned: () => after(withFinalizer(object)),
  };
}

/** The answer is the progress after the action. */
function toEffect<K extends KindTypes>(
  step: Step<K, K["Action"]>,
  action: K["Action"],
  before: Progress<K>,
): Effect<K>["does"] {
  const named = { kind: action.kind, whileSuspended: step.whileSuspended === true };
  if ("read" in step)
    return { ...named, read: async (_, __, run) => toAnswer(await step.read(action, before, run)) };
  const conclude = (answer: unknown, { clock }: Pick<Context, "clock">) =>
    toAnswer(step.after(action, before, answer as undefined, readTimes(clock)));
  if (!("call" in step))
    return {
      ...named,
      isMinor: true,
      call: async (_, __, run) => {
        step.note?.(action, before);
        return conclude(undefined, run);
      },
      planned: (_, __, run) => conclude(undefined, run),
    };
  return {
    ...named,
    call: async (_, __, run) => conclude(await step.call(action, before, run), run),
    planned: async (_, __, run) => {
      const { answer, line } = await step.planned(action, before, run);
      return { ...conclude(answer, run), line };
    },
  };
}

function toAnswer<K extends KindTypes>({
  events,
  remember,
  snapshot,
  done,
}: Performed<K>): Answered<K, Progress<K>> {
  return { answer: { snapshot, done }, events, remember };
}
