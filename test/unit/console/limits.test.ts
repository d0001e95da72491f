import { expect, test } from "vitest";
import { Semaphore } from "../../../src/util/semaphore.ts";
import { TokenBucket } from "../../../src/util/token-bucket.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));

test("a bucket allows a burst, then single calls in order", async () => {
  const clock = createFakeClock();
  const bucket = new TokenBucket(clock, { perSecond: 10, burst: 3 });
  const done: number[] = [];
  for (let n = 0; n < 6; n += 1) void bucket.take().then(() => done.push(n));
  await settle();
  expect(done).toEqual([0, 1, 2]);
  for (const expected of [4, 5, 6]) {
    await clock.advance(100);
    await settle();
    expect(done).toHaveLength(expected);
  }
  expect(done).toEqual([0, 1, 2, 3, 4, 5]);
  await clock.advance(10_000);
  for (let n = 6; n < 12; n += 1) void bucket.take().then(() => done.push(n));
  await settle();
  expect(done).toHaveLength(9);
});

test("a cancelled wait takes nothing from the bucket", async () => {
  const clock = createFakeClock();
  const bucket = new TokenBucket(clock, { perSecond: 1, burst: 1 });
  await bucket.take();
  const cancel = new AbortController();
  const waiting = bucket.take(cancel.signal);
  cancel.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  await expect(bucket.take(cancel.signal)).rejects.toThrow("enough");
  await clock.advance(1_000);
  await bucket.take();
});

test("slots limit concurrent calls, and a failure releases its slot", async () => {
  const slots = new Semaphore(2);
  let running = 0;
  let most = 0;
  const work = async (n: number) => {
    running += 1;
    most = Math.max(most, running);
    await settle();
    running -= 1;
    if (n % 2 === 1) throw new Error("odd");
    return n;
  };
  const all = await Promise.allSettled([0, 1, 2, 3, 4, 5, 6].map((n) => slots.run(() => work(n))));
  expect(most).toBe(2);
  expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(4);
  expect(await slots.run(async () => "free")).toBe("free");
});

test("a cancelled wait for a slot leaves the slot to the next", async () => {
  const slots = new Semaphore(1);
  const first = Promise.withResolvers<void>();
  const running = slots.run(() => first.promise);
  const cancel = new AbortController();
  const cancelled = slots.run(async () => "never", cancel.signal);
  const next = slots.run(async () => "next");
  cancel.abort(new Error("enough"));
  await expect(cancelled).rejects.toThrow("enough");
  first.resolve();
  await running;
  expect(await next).toBe("next");
  expect(await slots.run(async () => "again")).toBe("again");
});
