/** The run of a kind whose rules name one action at a time, as effects. */
import { type ClockReading, type ReadNow, readTimes } from "./clock-reading.ts";
import type { Context } from "./context.ts";
import type { Answered, Effect, Effects, Ended } from "./effects.ts";
import type { KindDefinition } from "./kind-definition.ts";
import { type End, type Failing, isFailing, isOutcome, isReleased } from "./rules/outcome.ts";
import type { KindTypes, Performed, Progress } from "./run-context.ts";
import { type Step, stepOf } from "./steps.ts";

/** More steps than any correct run of a kind needs: rules that repeat themselves must not loop forever. */
const MAX_STEPS = 40;

/** After each action, the rules decide again. */
export function* runSteps<K extends KindTypes>(
  kind: KindDefinition<K>,
  start: Progress<K>,
  readNow: ReadNow,
): Effects<K, Ended<K>> {
  let progress = start;
  for (let count = 0; count < MAX_STEPS; count += 1) {
    const action = nextAction(kind, progress, readNow());
    if (isFailing(action) || isReleased(action) || isOutcome(action))
      return { progress, end: action };
    const does = toEffect(stepOf(kind, action), action, progress.done);
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

/** The answer is the progress after the action. */
function toEffect<K extends KindTypes>(
  step: Step<K, K["Action"]>,
  action: K["Action"],
  done: K["Done"],
): Effect<K>["does"] {
  const { whileSuspended = false, needsFinalizer = false } = step;
  const named = { kind: action.kind, whileSuspended, needsFinalizer };
  if ("read" in step)
    return {
      ...named,
      read: async (_, snapshot, run) => toAnswer(await step.read(action, { snapshot, done }, run)),
    };
  const conclude = (
    answer: unknown,
    snapshot: K["Snapshot"],
    { clock }: Pick<Context, "clock">,
  ): Answered<K, Progress<K>> =>
    toAnswer(step.after(action, { snapshot, done }, answer as undefined, readTimes(clock)));
  if (!("call" in step))
    return {
      ...named,
      isMinor: true,
      call: async (_, snapshot, run) => {
        step.note?.(action, { snapshot, done });
        return conclude(undefined, snapshot, run);
      },
      planned: (_, snapshot, run) => conclude(undefined, snapshot, run),
    };
  return {
    ...named,
    call: async (_, snapshot, run) =>
      conclude(await step.call(action, { snapshot, done }, run), snapshot, run),
    planned: async (_, snapshot, run) => {
      const { answer, line } = await step.planned(action, { snapshot, done }, run);
      return { ...conclude(answer, snapshot, run), line };
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
