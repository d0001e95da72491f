/** What of events is remembered, and for how long. */
import { describe, expect, test } from "vitest";
import type { EventTarget } from "../../../src/kube/events/event-recorder.ts";
import { defaultEventLimits, EventCorrelator } from "../../../src/kube/events/event-series.ts";
import { MINUTE } from "../../../src/util/time.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const event = { type: "Normal", reason: "KeyIssued", action: "Issue", note: "Issued." } as const;

function target(name: string): EventTarget {
  return { apiVersion: "iam-operator.io/v1alpha1", kind: "ApiKey", metadata: { name } };
}

/** An object with so many events, and another one with its first after so long. */
async function remembered(events: number, afterMs: number) {
  const clock = createFakeClock();
  const correlator = new EventCorrelator(clock);
  for (let n = 0; n < events; n += 1) correlator.add(target("old"), event);
  await clock.advance(afterMs);
  correlator.add(target("new"), event);
  return correlator.size;
}

describe("what no longer has an effect is forgotten", () => {
  test.each([
    ["not while the series may go on", 1, 10 * MINUTE, 2],
    ["when the series is over", 1, 10 * MINUTE + 1, 1],
    ["not before all tokens of the allowance are back", 4, 20 * MINUTE, 2],
    ["when all of them are back", 4, 20 * MINUTE + 1, 1],
    ["nor is a refused event longer remembered", 40, 125 * MINUTE + 1, 1],
  ])("%s", async (_, events, afterMs, expected) => {
    expect(await remembered(events, afterMs)).toBe(expected);
  });
});

test("an event every second for two hours is remembered for ten minutes", async () => {
  const clock = createFakeClock();
  const correlator = new EventCorrelator(clock);
  for (let second = 0; second < 7_200; second += 1) {
    correlator.add(target(`key-${second}`), event);
    await clock.advance(1_000);
  }
  expect(correlator.size).toBe(601);
});

test("what is remembered is bounded, and what was used last stays", () => {
  const correlator = new EventCorrelator(createFakeClock(), {
    ...defaultEventLimits,
    remembered: 2,
  });
  for (const name of ["a", "b", "a", "c"]) correlator.add(target(name), event);
  expect(correlator.size).toBe(2);
  expect(correlator.add(target("a"), event)?.count).toBe(3);
  expect(correlator.add(target("b"), event)?.count).toBe(1);
});

test("an object that was silent for long has its burst again, and no more", async () => {
  const clock = createFakeClock();
  const correlator = new EventCorrelator(clock);
  const written = () =>
    Array.from({ length: 40 }, () => correlator.add(target("a"), event)).filter(Boolean).length;
  const counts = [written()];
  for (const ms of [5 * MINUTE - 1, 1, 50 * MINUTE, 500 * MINUTE]) {
    await clock.advance(ms);
    counts.push(written());
  }
  expect(counts).toEqual([25, 0, 1, 10, 25]);
});

test("a note that was not seen for long makes room for another one", async () => {
  const clock = createFakeClock();
  const correlator = new EventCorrelator(clock);
  const add = (note: string) => correlator.add(target("a"), { ...event, note })?.event.note;
  expect(Array.from({ length: 12 }, (_, n) => add(`note ${n}`)).slice(9)).toEqual([
    "note 9",
    "note 10",
    "note 10",
  ]);
  await clock.advance(9 * MINUTE);
  expect([add("note 3"), add("note 12")]).toEqual(["note 3", "note 10"]);
  await clock.advance(2 * MINUTE);
  expect([add("note 3"), add("note 13"), add("note 10")]).toEqual(["note 3", "note 13", "note 10"]);
});

test("an object whose events are over begins anew", async () => {
  const clock = createFakeClock();
  const correlator = new EventCorrelator(clock);
  const count = () => correlator.add(target("a"), event)?.count;
  expect([count(), count()]).toEqual([1, 2]);
  await clock.advance(11 * MINUTE);
  expect([count(), count(), correlator.size]).toEqual([1, 2, 1]);
});
