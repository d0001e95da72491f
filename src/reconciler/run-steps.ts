import { readClock } from "./clock-reading.ts";
import type { Context } from "./context.ts";
import type { KindDefinition } from "./kind-definition.ts";
import { type End, isFailing, isOutcome, isReleased, nextStep } from "./rules/next-step.ts";
import type { Settled } from "./rules/outcome.ts";
import type { KindTypes, Progress } from "./run-context.ts";

/** More steps than any correct run of a kind needs: rules that repeat themselves must not loop forever. */
const MAX_STEPS = 40;

const SETTLED: Settled = { kind: "Settled" };

/** Carries out one action and returns the new progress of the run. */
type Perform<K extends KindTypes> = (
  action: K["Action"],
  progress: Progress<K>,
) => Promise<Progress<K>>;

/**
 * Performs action after action, each decided after the previous action, until no action is next or `isDone`. Returns the
 * reason for the end. Rejects if an action fails or the rules exceed the step limit.
 */
export async function runSteps<K extends KindTypes>(
  kind: KindDefinition<K>,
  start: Progress<K>,
  spec: K["Spec"],
  run: Pick<Context, "clock" | "random">,
  perform: Perform<K>,
  isDone: () => boolean = () => false,
): Promise<End> {
  let progress = start;
  for (let count = 0; count < MAX_STEPS; count += 1) {
    if (isDone()) return SETTLED;
    const step = nextStep(kind, progress, spec, readClock(run));
    if (isFailing(step)) throw step.error;
    if (isReleased(step) || isOutcome(step)) return step;
    progress = await perform(step, progress);
  }
  throw new Error(`the rules for a ${kind.type.kind} go in circles`);
}
