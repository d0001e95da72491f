import { readClock } from "./clock-reading.ts";
import type { KindController, KindTypes, Progress, ReconcileContext } from "./kind-controller.ts";
import { type End, isOutcome, isReleased, nextStep, type Step } from "./rules/next-step.ts";

/** More steps than any way through a kind's rules has: rules that go in circles must not spin. */
const MAX_STEPS = 40;

/** Carries out one action, and answers where the run has got to then. */
type Perform<K extends KindTypes> = (
  action: K["Action"],
  progress: Progress<K>,
) => Promise<Progress<K>>;

/** From one action to the next, each decided after the one before, until nothing is next: answers why. */
export async function walk<K extends KindTypes>(
  kind: KindController<K>,
  start: Progress<K>,
  spec: K["Spec"],
  run: ReconcileContext<K["State"]>,
  perform: Perform<K>,
): Promise<End> {
  let progress = start;
  for (let count = 0; count < MAX_STEPS; count += 1) {
    const step: Step<K> = nextStep(kind, progress, spec, readClock(run));
    if (isReleased(step) || isOutcome(step)) return step;
    progress = await perform(step, progress);
  }
  throw new Error(`the rules for a ${kind.type.kind} go in circles`);
}
