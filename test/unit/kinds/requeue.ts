/**
 * No run ends without a time for the next one. Of whatever a kind may find: a run that waits for something names a time,
 * and nothing becomes due, nor does the report change, before the time that the run has named. Nothing runs every
 * second in vain.
 */
import fc from "fast-check";
import { expect } from "vitest";
import type { ClockReading } from "../../../src/reconciler/clock-reading.ts";
import type { KindDefinition } from "../../../src/reconciler/kind-definition.ts";
import { isFailing, isReleased } from "../../../src/reconciler/rules/outcome.ts";
import { reported } from "../../../src/reconciler/rules/report.ts";
import { requeueMs } from "../../../src/reconciler/rules/requeue.ts";
import type { KindTypes } from "../../../src/reconciler/run-context.ts";
import { effectsOf } from "../../../src/reconciler/run-effects.ts";
import { DAY, HOUR, type Instant, MINUTE, SECOND } from "../../../src/util/time.ts";
import { effort } from "../../setup/effort.ts";

/** The controller's resync: for objects that wait for nothing. */
const RESYNC_MS = 10 * HOUR;

type Rules<K extends KindTypes> = Pick<KindDefinition<K>, "run" | "runOfDeletion" | "report">;

export interface Situation<K extends KindTypes> {
  readonly snapshot: K["Snapshot"];
  readonly spec: K["Spec"];
  /** What the run has done before it ends: the next run does not know of it. */
  readonly done?: unknown;
}

/** The end of a run: what it says, and when the next one is; of a run that has another effect, the effect. */
function endOf<K extends KindTypes>(
  rules: Rules<K>,
  { snapshot, spec }: Situation<K>,
  at: ClockReading,
) {
  const kind = rules as KindDefinition<K>;
  const first = effectsOf(kind, snapshot, spec, () => at).next();
  if (!first.done) return { said: first.value.does.kind };
  const { end: step, snapshot: reached } = first.value;
  if (isReleased(step) || isFailing(step)) return { said: step.kind };
  const { state: before } = snapshot as { state?: K["State"] };
  const made = rules.report(reached, step, at, before);
  const objects = made.objects.map((each) => reported(each, at));
  const { afterMs: _, ...outcome } = { afterMs: 0, ...step };
  return {
    said: { outcome, statuses: objects.map(({ status }) => status) },
    events: made.events?.map(({ event }) => event.note) ?? [],
    isWaiting: step.kind === "Waiting",
    requeueMs: requeueMs(step, made.requeueAfterMs),
    state: "state" in made ? made.state : before,
    objects,
  };
}

type End<K extends KindTypes> = ReturnType<typeof endOf<K>>;
/** The snapshot as it is after the run, at a later time. */
type Later<K extends KindTypes> = (
  snapshot: K["Snapshot"],
  end: End<K>,
  now: Instant,
) => K["Snapshot"];
/** Of a kind whose runs report on one object. */
const asReported = <S extends { readonly object: object }>(
  snapshot: S,
  { state, objects: [object] = [] }: Pick<End<KindTypes>, "state" | "objects">,
): S => ({ ...snapshot, object: object ?? snapshot.object, state });

/** What is drawn for a kind, and how its runs go on from there. */
export interface Requeued<K extends KindTypes> {
  readonly rules: Rules<K>;
  readonly situations: fc.Arbitrary<Situation<K>>;
  readonly now: Instant;
  readonly later?: Later<K>;
}

export function expectRequeued<K extends KindTypes>({
  rules,
  situations,
  now,
  later = asReported,
}: Requeued<K>): void {
  const atMs = (ms: number): ClockReading => ({
    now: now + ms,
    monotonic: 1_000_000 + ms,
    fraction: 0.5,
  });
  const endAfter = ({ snapshot, spec }: Situation<K>, end: End<K>, ms: number) =>
    endOf(rules, { snapshot: later(snapshot, end, now + ms), spec }, atMs(ms));
  const checkUntil = (untilMs: number, end: End<K>, situation: Situation<K>, percent: number) => {
    if (untilMs <= SECOND) {
      expect(endAfter(situation, end, 10 * SECOND), "runs every second").not.toEqual(end);
      return;
    }
    for (const ms of [(percent / 100) * untilMs, untilMs - 2]) {
      const { said, events } = endAfter(situation, end, ms);
      const expected = { said: end.said, events: [] };
      expect({ said, events }, `after ${ms} of ${untilMs} ms`).toEqual(expected);
    }
  };
  let atRest = 0;
  const check = (situation: Situation<K>, percent: number) => {
    const end = endOf(rules, situation, atMs(0));
    if (end.isWaiting) expect(end.requeueMs, "an object that waits").toBeLessThanOrEqual(DAY);
    // What a run has done is no longer so in the next one: only what it remembers is.
    if (situation.done !== undefined || end.isWaiting === undefined) return;
    atRest += end.isWaiting ? 0 : 1;
    checkUntil(Math.min(end.requeueMs ?? RESYNC_MS, RESYNC_MS), end, situation, percent);
  };
  const percent = fc.integer({ min: 1, max: 99 });
  const numRuns = 3_000 * effort;
  fc.assert(fc.property(situations, percent, check), { numRuns });
  expect(atRest, "objects that wait for nothing but time").toBeGreaterThan(numRuns / 20);
}

export const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
/** Five times in six: most situations are usual ones in all respects but one or two. */
export const mostly = <T>(usual: T, ...others: readonly T[]) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, fc.constantFrom(...others));
export const usually = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 5 });
export const rarely = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, value);
/** So long ago: seconds, minutes, hours or days. No doubles: most of them are close to zero. */
export const ago = fc
  .tuple(fc.constantFrom(SECOND, MINUTE, HOUR, DAY), fc.integer({ min: 0, max: 600 }))
  .map(([unit, tenths]) => (unit * tenths) / 10);
