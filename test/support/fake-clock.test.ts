import { expect, test } from "vitest";
import { createFakeClock } from "./fake-clock.ts";

test("timers run in order of their due times, and see that time", async () => {
  const clock = createFakeClock(0);
  const seen: string[] = [];
  clock.setTimer(20, () => seen.push(`b at ${clock.now()}`));
  clock.setTimer(10, () => {
    seen.push(`a at ${clock.now()}`);
    clock.setTimer(5, () => seen.push(`c at ${clock.now()}`));
  });
  clock.setTimer(15, () => seen.push(`cancelled`))();
  await clock.advance(30);
  expect(seen).toEqual(["a at 10", "c at 15", "b at 20"]);
  expect(clock.monotonic()).toBe(30);
});

test("what waits for a timer goes on before the next timer runs", async () => {
  const clock = createFakeClock(0);
  const seen: number[] = [];
  const tick = async () => {
    for (let n = 0; n < 3; n += 1) {
      await clock.sleep(10);
      seen.push(clock.monotonic());
    }
  };
  const done = tick();
  await clock.advance(25);
  expect(seen).toEqual([10, 20]);
  await clock.advance(5);
  await done;
  expect(clock.pendingTimers).toBe(0);
});

test("an aborted sleep rejects with the signal's reason and leaves no timer", async () => {
  const clock = createFakeClock();
  const reason = new Error("enough");
  const abort = new AbortController();
  const asleep = clock.sleep(10, abort.signal);
  abort.abort(reason);
  await expect(asleep).rejects.toBe(reason);
  await expect(clock.sleep(10, abort.signal)).rejects.toBe(reason);
  expect(clock.pendingTimers).toBe(0);
});

test("a jump moves the wall clock and no timer", async () => {
  const clock = createFakeClock(1_000);
  let ran = false;
  clock.setTimer(10, () => {
    ran = true;
  });
  clock.jump(-500);
  await clock.settle();
  expect([clock.now(), clock.monotonic(), ran, clock.untilNextTimer()]).toEqual([
    500,
    0,
    false,
    10,
  ]);
});
