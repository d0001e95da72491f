/**
 * No run ends without a time for the next one. Of whatever a kind may find: a run that waits for something names a time,
 * and nothing becomes due, nor does the report change, before the time that the run has named.
 */
import fc from "fast-check";
import { expect } from "vitest";
import type { ClockReading } from "../../../src/controllers/frame/clock-reading.ts";
import type { KindController } from "../../../src/controllers/frame/kind-controller.ts";
import { isOutcome, nextStep } from "../../../src/controllers/frame/rules/next-step.ts";
import { requeueMs } from "../../../src/controllers/frame/rules/requeue.ts";
import type { KindTypes } from "../../../src/controllers/frame/run-context.ts";
import { DAY, HOUR, type Instant, MINUTE, SECOND } from "../../../src/util/time.ts";
import { effort } from "../../setup/effort.ts";

/** The controller's resync: for objects that wait for nothing. */
const RESYNC_MS = 10 * HOUR;

export type Rules<K extends KindTypes> = Pick<
  KindController<K>,
  "next" | "nextOfDeletion" | "steps" | "start" | "report"
>;

export interface Situation<K extends KindTypes> {
  readonly snapshot: K["Snapshot"];
  readonly spec: K["Spec"];
  /** What the run has done before it ends. */
  readonly done?: K["Done"];
}

/** How a run ends, in words, and when the next one is; of a run that has another effect, the effect. */
function endOf<K extends KindTypes>(
  rules: Rules<K>,
  { snapshot, spec, done = rules.start }: Situation<K>,
  at: ClockReading,
) {
  const progress = { snapshot, done };
  const step = nextStep(rules as KindController<K>, progress, spec, at);
  if (!isOutcome(step)) return { text: `does ${step.kind}` };
  const { state: before } = snapshot as { state?: K["State"] };
  const made = rules.report(progress, step, at, before);
  const said = made.objects.map(({ readiness }) => readiness.reason).join();
  const reason = step.kind === "Waiting" ? ` ${step.reason}` : "";
  return {
    text: `${step.kind}${reason}, says ${said}`,
    isWaiting: step.kind === "Waiting",
    requeueMs: requeueMs(step, made.requeueAfterMs),
    state: "state" in made ? made.state : before,
  };
}

/** The snapshot as it is after the run, at a later time. */
type Later<K extends KindTypes> = (
  snapshot: K["Snapshot"],
  state: K["State"] | undefined,
  now: Instant,
) => K["Snapshot"];
export const remembering = <S extends object>(snapshot: S, state: unknown): S => ({
  ...snapshot,
  state,
});

export function expectRequeued<K extends KindTypes>(
  rules: Rules<K>,
  situations: fc.Arbitrary<Situation<K>>,
  now: Instant,
  later: Later<K> = (snapshot) => snapshot,
): void {
  const atMs = (ms: number): ClockReading => ({
    now: now + ms,
    monotonic: 1_000_000 + ms,
    fraction: 0.5,
  });
  const check = (situation: Situation<K>, share: number) => {
    const end = endOf(rules, situation, atMs(0));
    if (end.isWaiting) expect(end.requeueMs, `waits: ${end.text}`).toBeLessThanOrEqual(DAY);
    // What a run has done is no longer so in the next one: only what it remembers is.
    if (situation.done !== undefined || end.isWaiting === undefined) return;
    const untilMs = Math.min(end.requeueMs ?? RESYNC_MS, RESYNC_MS);
    // What becomes due within a second waits for it.
    if (untilMs <= SECOND) return;
    for (const ms of [share * untilMs, untilMs - 2]) {
      const snapshot = later(situation.snapshot, end.state, now + ms);
      const then = endOf(rules, { snapshot, spec: situation.spec }, atMs(ms));
      expect(then.text, `after ${ms} of ${untilMs} ms`).toBe(end.text);
    }
  };
  const share = fc.double({ min: 0.01, max: 0.99, noNaN: true });
  fc.assert(fc.property(situations, share, check), { numRuns: 3_000 * effort });
}

export const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
/** One time in six; most runs find nothing of the kind. */
export const rarely = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
/** So long ago: seconds, minutes, hours or days. */
export const ago = fc
  .tuple(fc.constantFrom(SECOND, MINUTE, HOUR, DAY), fc.double({ min: 0, max: 60, noNaN: true }))
  .map(([unit, count]) => Math.round(unit * count));
