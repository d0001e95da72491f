import { describe, expect, test } from "vitest";
import {
  backOffMs,
  retryBackOff,
  slowBackOff,
  urgentBackOff,
} from "../../../src/runtime/back-off.ts";
import { type RetriedOutcome, Retries } from "../../../src/runtime/retries.ts";
import type { Random } from "../../../src/util/random.ts";
import { TokenBucket } from "../../../src/util/token-bucket.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

/** In the middle of every range. */
const middle: Random = { fraction: () => 0.5, id: () => "id" };

describe("the time before the next try", () => {
  test.each([
    ["is short after the first failure", retryBackOff, 1, 500],
    ["doubles", retryBackOff, 2, 1_000],
    ["goes on doubling", retryBackOff, 5, 8_000],
    ["ends at five minutes", retryBackOff, 20, 300_000],
    ["stays there forever", retryBackOff, 100_000, 300_000],
    ["ends at 80 seconds for urgent work", urgentBackOff, 20, 80_000],
    ["is a minute where somebody must act", slowBackOff, 1, 60_000],
    ["ends at a quarter of an hour where somebody must act", slowBackOff, 9, 900_000],
  ])("%s", (_, backOff, failures, ms) => {
    expect(backOffMs(backOff, failures, 0.5)).toBe(ms);
  });

  test("is spread by a quarter either way", () => {
    expect([0, 0.999].map((jitter) => Math.round(backOffMs(retryBackOff, 2, jitter)))).toEqual([
      750, 1_250,
    ]);
  });
});

test("a bucket gives its burst at once, then so many a second, and fills up again", async () => {
  const clock = createFakeClock();
  const bucket = new TokenBucket(clock, { perSecond: 10, burst: 2 });
  const four = () => Array.from({ length: 4 }, () => Math.round(bucket.reserve()));
  expect(four()).toEqual([0, 0, 100, 200]);
  await clock.advance(10_000);
  expect(four()).toEqual([0, 0, 100, 200]);
});

describe("a failing key", () => {
  const conflict: RetriedOutcome = { kind: "Conflict" };
  const retry: RetriedOutcome = { kind: "Retry" };

  function delays(outcomes: readonly RetriedOutcome[]): readonly number[] {
    const retries = new Retries(createFakeClock(), middle);
    return outcomes.map((outcome) => retries.delay("a", outcome).afterMs);
  }

  test("goes on at once after a conflict, four times in a row", () => {
    expect(delays(Array(6).fill(conflict))).toEqual([0, 0, 0, 0, 500, 1_000]);
  });

  test("may have four quick conflicts again after another failure", () => {
    expect(delays([conflict, conflict, conflict, conflict, retry, conflict])).toEqual([
      0, 0, 0, 0, 500, 0,
    ]);
  });

  test("is as patient after a conflict as before it", () => {
    expect(delays([retry, retry, conflict, retry])).toEqual([500, 1_000, 0, 2_000]);
  });

  test("is retried sooner if it is urgent", () => {
    const retries = new Retries(createFakeClock(), middle);
    const last = (key: string, outcome: RetriedOutcome) =>
      Array.from({ length: 20 }, () => retries.delay(key, outcome).afterMs).at(-1);
    expect([last("a", { ...retry, isUrgent: true }), last("b", retry)]).toEqual([80_000, 300_000]);
  });

  test("starts afresh after a success", () => {
    const retries = new Retries(createFakeClock(), middle);
    retries.delay("a", retry);
    retries.delay("a", retry);
    expect(retries.failures("a")).toBe(2);
    retries.forget("a");
    expect([retries.failures("a"), retries.delay("a", retry).afterMs]).toEqual([0, 500]);
  });

  test("waits as long as the server says, and lets nobody undercut that", () => {
    const clock = createFakeClock();
    const notBefore = clock.now() + 30_000;
    const outcomes: RetriedOutcome[] = [
      { kind: "Retry", notBefore },
      { kind: "SlowRetry", notBefore },
      { kind: "Retry", notBefore: clock.now() - 1 },
    ];
    const retries = new Retries(clock, middle);
    expect(outcomes.map((outcome, n) => retries.delay(`${n}`, outcome))).toEqual([
      { afterMs: 30_000, holdMs: 30_000 },
      { afterMs: 60_000, holdMs: 30_000 },
      { afterMs: 500, holdMs: 0 },
    ]);
  });

  test("shares twenty tries a second with all others once a hundred have failed", () => {
    const retries = new Retries(createFakeClock(), middle);
    const last = Array.from({ length: 1_000 }, (_, n) => retries.delay(`${n}`, retry).afterMs).at(
      -1,
    );
    expect(last).toBeCloseTo(45_000, -2);
  });
});
