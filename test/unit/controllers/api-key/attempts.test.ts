/** Who issues for an account, and whose attempts hold others up. */
import { describe, expect, test } from "vitest";
import { AttemptRegistry } from "../../../../src/controllers/api-key/attempts.ts";
import { KeyedMutex } from "../../../../src/controllers/api-key/keyed-mutex.ts";

describe("a mutex", () => {
  test("one holder at a time, the others are enqueued in order, one that does not hold it releases nothing", () => {
    const enqueued: string[] = [];
    const mutex = new KeyedMutex((key) => enqueued.push(key));
    expect([mutex.acquire("sa", "a"), mutex.acquire("sa", "b"), mutex.acquire("sa", "c")]).toEqual([
      undefined,
      "a",
      "a",
    ]);
    expect(mutex.acquire("other", "b")).toBeUndefined();
    mutex.release("sa", "b");
    expect(enqueued).toEqual([]);
    mutex.release("sa", "a");
    expect([enqueued, mutex.acquire("sa", "b"), mutex.acquire("sa", "a")]).toEqual([
      ["b"],
      undefined,
      "b",
    ]);
    mutex.release("sa", "b");
    expect(enqueued).toEqual(["b", "c"]);
  });

  const line = () => {
    const enqueued: string[] = [];
    const mutex = new KeyedMutex((key) => enqueued.push(key));
    mutex.acquire("sa", "a");
    mutex.acquire("sa", "b");
    mutex.acquire("sa", "c");
    return { enqueued, mutex };
  };

  test("one that was notified and has no use for it passes it on", () => {
    const { enqueued, mutex } = line();
    mutex.release("sa", "a");
    mutex.release("sa", "b");
    expect(enqueued).toEqual(["b", "c"]);
  });

  test("one that was notified and has to wait again goes to the end, and enqueues nobody", () => {
    const { enqueued, mutex } = line();
    mutex.release("sa", "a");
    mutex.enqueue("sa", "b");
    mutex.release("sa", "b");
    expect(enqueued).toEqual(["b"]);
    mutex.notify("sa");
    mutex.release("sa", "c");
    expect(enqueued).toEqual(["b", "c", "b"]);
  });

  test("nobody is enqueued while somebody holds it, or was notified and has not answered", () => {
    const { enqueued, mutex } = line();
    mutex.notify("sa");
    expect(enqueued).toEqual([]);
    mutex.release("sa", "a");
    mutex.notify("sa");
    expect(enqueued).toEqual(["b"]);
  });

  test("one that is gone is neither waited for nor enqueued", () => {
    const { enqueued, mutex } = line();
    mutex.forget("b");
    mutex.forget("a");
    expect(enqueued).toEqual(["c"]);
    mutex.forget("c");
    expect(mutex.holderOf("sa")).toBeUndefined();
  });
});

describe("the registry of attempts", () => {
  test("an announced attempt holds up others of the account until it is settled, taken back, or its object gone", () => {
    const attempts = new AttemptRegistry();
    for (const end of [
      () => attempts.settle("ns/sa", "a1"),
      () => attempts.withdraw("ns/sa", "a1"),
      () => attempts.withdrawAll("ns", "ci"),
    ]) {
      attempts.announce("ns/sa", "a1", "ci");
      expect(attempts.announcers("ns/sa", "ci")).toEqual([]);
      expect(attempts.announcers("ns/sa", "b")).toEqual(["ci"]);
      expect(attempts.announcers("ns/other", "b")).toEqual([]);
      end();
      expect(attempts.announcers("ns/sa", "b")).toEqual([]);
    }
    attempts.announce("ns/sa", "a2", "other");
    attempts.withdrawAll("ns", "ci");
    attempts.withdrawAll("n", "other");
    expect(attempts.announcers("ns/sa", "b")).toEqual(["other"]);
    expect([attempts.isSettled("a1"), attempts.isSettled("a2")]).toEqual([true, false]);
  });
});
