import { describe, expect, test } from "vitest";
import { NO_FAULTS } from "./faults.ts";
import { Kernel } from "./kernel.ts";
import { ProcessClock } from "./process-clock.ts";
import { runPlan } from "./run-plan.ts";
import { scenarios } from "./scenarios.ts";

async function orderOf(seed: number): Promise<string> {
  const kernel = new Kernel(seed);
  const order: string[] = [];
  for (const name of "abcdefgh") kernel.schedule(5, () => order.push(name));
  kernel.schedule(1, () => order.push("first"));
  await kernel.advance(10);
  return order.join("");
}

describe("kernel", () => {
  test("runs events by time, and those of one moment in an order that the seed decides", async () => {
    const orders = await Promise.all([1, 1, 2].map(orderOf));
    expect(orders[0]).toMatch(/^first/);
    expect(orders[1]).toBe(orders[0]);
    expect(orders[2]).not.toBe(orders[0]);
  });

  test("lets promises settle before the next event", async () => {
    const kernel = new Kernel(1);
    const seen: string[] = [];
    kernel.schedule(1, () => {
      void Promise.resolve()
        .then(() => undefined)
        .then(() => seen.push("settled"));
    });
    kernel.schedule(2, () => seen.push("next"));
    await kernel.advance(3);
    expect(seen).toEqual(["settled", "next"]);
  });

  test("leaves out what was cancelled, and stands at the limit", async () => {
    const kernel = new Kernel(1);
    const seen: number[] = [];
    const cancel = kernel.schedule(1, () => seen.push(1));
    kernel.schedule(20, () => seen.push(2));
    cancel();
    await kernel.advance(10);
    expect({ seen, elapsed: kernel.elapsed }).toEqual({ seen: [], elapsed: 10 });
  });

  test("gives up on a world that never rests", async () => {
    const kernel = new Kernel(1);
    const again = () => void kernel.schedule(0, again);
    again();
    await expect(kernel.run({ until: 1, maxEvents: 100 })).rejects.toThrow("no rest");
  });

  test("a dead process's timers do not fire", async () => {
    const kernel = new Kernel(1);
    let alive = true;
    const clock = new ProcessClock(kernel, (run) => {
      if (alive) run();
    });
    let fired = false;
    clock.setTimer(5, () => {
      fired = true;
    });
    alive = false;
    await kernel.advance(10);
    expect(fired).toBe(false);
  });

  test("an aborted sleep rejects with the signal's reason and leaves no timer", async () => {
    const kernel = new Kernel(1);
    const clock = new ProcessClock(kernel, (run) => run());
    const reason = new Error("enough");
    const abort = new AbortController();
    const asleep = clock.sleep(10, abort.signal);
    abort.abort(reason);
    await expect(asleep).rejects.toBe(reason);
    await expect(clock.sleep(10, abort.signal)).rejects.toBe(reason);
    expect(kernel.waiting).toEqual([]);
  });

  test("a clock that runs faster measures more time, and its timers fire sooner", async () => {
    const kernel = new Kernel(1);
    const clock = new ProcessClock(kernel, (run) => run(), 0, 2);
    const start = clock.now();
    let firedAt = 0;
    clock.setTimer(10, () => {
      firedAt = kernel.elapsed;
    });
    await kernel.advance(20);
    expect([firedAt, clock.monotonic(), clock.now() - start]).toEqual([5, 40, 40]);
  });

  test("a jump moves the wall clock alone", () => {
    const kernel = new Kernel(1);
    const clock = new ProcessClock(kernel, (run) => run());
    clock.jump(1_000);
    expect([clock.now() - kernel.now, clock.monotonic()]).toEqual([1_000, 0]);
  });
});

test("the same seed gives the same run, another one another", { timeout: 60_000 }, async () => {
  const [scenario] = scenarios;
  if (scenario === undefined) throw new Error("there is no scenario");
  const digests: string[] = [];
  for (const seed of [1, 1, 2]) {
    digests.push((await runPlan(scenario, NO_FAULTS, { seed })).digest);
  }
  expect(digests[1]).toBe(digests[0]);
  expect(digests[2]).not.toBe(digests[0]);
});
