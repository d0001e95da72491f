import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { priorities } from "../../../src/runtime/add-options.ts";
import { largeObject } from "../../../src/runtime/ready-keys.ts";
import { type KeyTraits, WorkQueue } from "../../../src/runtime/work-queue.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";

function setUp() {
  const clock = createFakeClock();
  return { clock, queue: new WorkQueue(clock) };
}

/** What a worker that ends at once gets, in order. */
async function takeAll({ clock, queue }: ReturnType<typeof setUp>): Promise<readonly string[]> {
  const taken: string[] = [];
  const stop = new AbortController();
  const work = async () => {
    for (let key = await queue.next(stop.signal); key; key = await queue.next(stop.signal)) {
      taken.push(key);
      queue.done(key);
    }
  };
  const working = work();
  await clock.settle();
  stop.abort();
  await working;
  return taken;
}

describe("a work queue", () => {
  test("merges additions of a key that waits", async () => {
    const world = setUp();
    world.queue.add("a");
    world.queue.add("b");
    world.queue.add("a");
    expect(await takeAll(world)).toEqual(["a", "b"]);
  });

  test("hands a key that was added while it ran out again afterwards, and only then", async () => {
    const { clock, queue } = setUp();
    queue.add("a");
    expect(await queue.next()).toBe("a");
    queue.add("a");
    let again: string | undefined;
    void queue.next().then((key) => {
      again = key;
    });
    await clock.advance(1_000);
    expect(again).toBeUndefined();
    queue.done("a");
    await clock.settle();
    expect(again).toBe("a");
  });

  test("takes the earliest of several due times", async () => {
    const world = setUp();
    world.queue.add("a", { afterMs: 500 });
    world.queue.add("a", { afterMs: 100 });
    world.queue.add("a", { afterMs: 300 });
    await world.clock.advance(99);
    expect(await takeAll(world)).toEqual([]);
    await world.clock.advance(1);
    expect(await takeAll(world)).toEqual(["a"]);
    await world.clock.advance(1_000);
    expect(await takeAll(world)).toEqual([]);
  });

  test("lets what somebody waits for go first", async () => {
    const world = setUp();
    for (const priority of priorities) world.queue.add(priority, { priority });
    world.queue.add("raised", { priority: "resync" });
    world.queue.add("raised", { priority: "change" });
    expect(await takeAll(world)).toEqual([
      "urgent",
      "change",
      "raised",
      "requeue",
      "retry",
      "resync",
    ]);
  });

  test("starves nothing of low priority", async () => {
    const world = setUp();
    world.queue.add("old", { priority: "resync" });
    await world.clock.advance(10);
    for (let n = 0; n < 100; n += 1) world.queue.add(`new-${n}`);
    expect((await takeAll(world)).indexOf("old")).toBeLessThan(16);
  });

  test("lets nothing undercut a hold", async () => {
    const world = setUp();
    world.queue.add("a", { afterMs: 1_000, holdMs: 1_000, priority: "retry" });
    world.queue.add("a");
    await world.clock.advance(999);
    expect(await takeAll(world)).toEqual([]);
    await world.clock.advance(1);
    expect(await takeAll(world)).toEqual(["a"]);
    world.queue.add("a");
    expect(await takeAll(world)).toEqual(["a"]);
  });

  test.each(["before", "while it runs"])(
    "what ends a hold undercuts it, added %s",
    async (when) => {
      const { clock, queue } = setUp();
      queue.add("a");
      await queue.next();
      if (when === "while it runs") queue.add("a", { bypassBackoff: true });
      queue.add("a", { afterMs: 1_000, holdMs: 1_000, priority: "retry" });
      queue.done("a");
      if (when === "before") queue.add("a", { bypassBackoff: true });
      expect(await takeAll({ clock, queue })).toEqual(["a"]);
    },
  );

  test("keeps a single timer, and none where nothing waits", async () => {
    const { clock, queue } = setUp();
    for (let n = 1; n <= 50; n += 1) queue.add(`k${n}`, { afterMs: n });
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(50);
    expect([clock.pendingTimers, queue.depth, queue.waiting]).toEqual([0, 50, 0]);
  });

  test("measures depth, age and unfinished work", async () => {
    const { clock, queue } = setUp();
    queue.add("a");
    queue.add("b");
    await queue.next();
    await clock.advance(2_000);
    queue.add("c");
    await queue.next();
    await clock.advance(1_000);
    expect([queue.depth, queue.running, queue.oldestAgeMs]).toEqual([1, 2, 1_000]);
    expect([queue.unfinishedMs, queue.longestRunningMs]).toEqual([4_000, 3_000]);
  });

  test("tells its hooks about every key that falls due, once", async () => {
    const clock = createFakeClock();
    const seen: string[] = [];
    const queue = new WorkQueue(clock, {
      hooks: {
        onDue: () => seen.push("due"),
        onStart: (ms) => seen.push(`started after ${ms}`),
        onDone: (ms) => seen.push(`done after ${ms}`),
      },
    });
    queue.add("a", { afterMs: 10, priority: "resync" });
    await clock.advance(15);
    queue.add("a", { priority: "change" });
    await queue.next();
    await clock.advance(3);
    queue.done("a");
    expect(seen).toEqual(["due", "started after 5", "done after 3"]);
  });

  test("hands out nothing more once closed, and is idle when the last key is done", async () => {
    const { clock, queue } = setUp();
    queue.add("a");
    queue.add("b");
    await queue.next();
    const waiting = queue.next(AbortSignal.abort());
    queue.close();
    let idle = false;
    const whenIdle = queue.whenIdle().then(() => {
      idle = true;
    });
    await clock.settle();
    expect([await waiting, await queue.next(), idle]).toEqual([undefined, undefined, false]);
    queue.add("a");
    queue.done("a");
    await whenIdle;
    expect([idle, queue.running, clock.pendingTimers]).toEqual([true, 0, 0]);
  });

  test("gives up waiting when the signal is aborted, and the key goes to another", async () => {
    const { clock, queue } = setUp();
    const abort = new AbortController();
    const first = queue.next(abort.signal);
    const second = queue.next();
    abort.abort();
    queue.add("a");
    await clock.settle();
    expect([await first, await second]).toEqual([undefined, "a"]);
  });
});

/** Keys like `team-a/console/urgent`. */
function traitsOf(key: string): KeyTraits {
  const [group = "", resource = "", lane] = key.split("/");
  return { group, resource, isUrgent: lane === "urgent" };
}

/** What is handed out while none of it is done. */
async function takeFrom(queue: WorkQueue, clock: FakeClock, takers = 100) {
  const taken: string[] = [];
  for (let n = 0; n < takers; n += 1) void queue.next().then((key) => key && taken.push(key));
  await clock.settle();
  return taken;
}

describe("a work queue that is shared", () => {
  test("lets groups take turns, however many keys they have", async () => {
    const clock = createFakeClock();
    const queue = new WorkQueue(clock, { traitsOf });
    for (let n = 0; n < 1_000; n += 1) queue.add(`a/x/${n}`);
    for (let n = 0; n < 2; n += 1) queue.add(`b/y/${n}`);
    queue.add("c/x/0");
    expect(await takeFrom(queue, clock, 6)).toEqual([
      "a/x/0",
      "b/y/0",
      "c/x/0",
      "a/x/1",
      "b/y/1",
      "a/x/2",
    ]);
  });

  test("gives no resource more workers than it leaves free, and what it leaves to others", async () => {
    const clock = createFakeClock();
    const queue = new WorkQueue(clock, { traitsOf, workers: 16 });
    const load = (resource: string) => {
      for (let n = 0; n < 100; n += 1) queue.add(`${n}/${resource}/${n}`);
    };
    load("x");
    const first = await takeFrom(queue, clock);
    expect(first).toHaveLength(8);
    load("y");
    load("z");
    await clock.settle();
    const at = (resource: string) => first.filter((key) => key.includes(`/${resource}/`)).length;
    expect([at("x"), at("y"), at("z")]).toEqual([8, 4, 2]);
    for (const key of first.slice(0, 8)) queue.done(key);
    await clock.settle();
    expect(first.length - 8).toBeGreaterThan(7);
  });

  test("hands out one large object at a time, and an urgent one beside it", async () => {
    const clock = createFakeClock();
    const queue = new WorkQueue(clock, {
      workers: 16,
      traitsOf: (key) => {
        const traits = traitsOf(key);
        return { ...traits, resource: largeObject(traits.isUrgent) };
      },
    });
    for (const key of ["a//1", "b//2", "c//urgent", "d//urgent"]) queue.add(key);
    const taken = await takeFrom(queue, clock);
    expect(taken).toEqual(["c//urgent", "a//1"]);
    queue.done("a//1");
    await clock.settle();
    expect(taken.slice(2)).toEqual(["b//2"]);
  });

  test("hands out urgent keys first, and to reserved workers", async () => {
    const clock = createFakeClock();
    const queue = new WorkQueue(clock, { traitsOf, workers: 4, reservedWorkers: 2 });
    for (const resource of ["x", "y", "z", "v", "w"]) queue.add(`a/${resource}/plain`);
    const taken = await takeFrom(queue, clock);
    expect(taken).toHaveLength(4);
    for (const group of ["b", "c", "d"]) queue.add(`${group}/${group}/urgent`);
    await clock.settle();
    expect(taken.slice(4)).toEqual(["b/b/urgent", "c/c/urgent"]);
    queue.done("b/b/urgent");
    await clock.settle();
    expect(taken.slice(6)).toEqual(["d/d/urgent"]);
  });
});

type Step =
  | {
      readonly kind: "add";
      readonly key: string;
      readonly afterMs: number;
      readonly priority: number;
      readonly holdMs: number;
      readonly bypassBackoff: boolean;
    }
  | { readonly kind: "take" }
  | { readonly kind: "done"; readonly which: number }
  | { readonly kind: "advance"; readonly ms: number };

const keys = ["a/x/1", "a/x/2", "a/y/1", "b/x/1", "b/x/urgent", "c/z/urgent", "c/z/1"];
const WORKERS = 3;
const RESERVED = 2;
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant("add" as const),
      key: fc.constantFrom(...keys),
      afterMs: fc.nat(50),
      priority: fc.nat(3),
      holdMs: fc.oneof(fc.constant(0), fc.nat(40)),
      bypassBackoff: fc.boolean(),
    }),
    fc.record({ kind: fc.constant("take" as const) }),
    fc.record({ kind: fc.constant("done" as const), which: fc.nat(4) }),
    fc.record({ kind: fc.constant("advance" as const), ms: fc.nat(30) }),
  ),
  { maxLength: 80 },
);

interface Wanted {
  readonly due: number;
  readonly hold: number;
  readonly bypassBackoff: boolean;
}

/** Drives a queue and checks every answer against a model: when each key is due, and what may be out at once. */
class Checked {
  readonly #clock = createFakeClock();
  readonly #queue = new WorkQueue(this.#clock, {
    traitsOf,
    workers: WORKERS,
    reservedWorkers: RESERVED,
  });
  readonly #wanted = new Map<string, Wanted>();
  readonly #running = new Set<string>();

  async run(step: Step): Promise<void> {
    if (step.kind === "add") this.#add(step);
    if (step.kind === "take") await this.#take();
    if (step.kind === "done") this.#done([...this.#running][step.which]);
    if (step.kind === "advance") await this.#clock.advance(step.ms);
  }

  async end(): Promise<void> {
    await this.#clock.advance(200);
    for (let left = this.#wanted.size; left >= 0; left -= 1) {
      for (const key of this.#running) this.#done(key);
      await this.#take();
    }
    expect([this.#wanted.size, this.#queue.depth, this.#queue.waiting]).toEqual([0, 0, 0]);
  }

  #add({ key, afterMs, priority, holdMs, bypassBackoff }: Step & { kind: "add" }): void {
    const now = this.#clock.monotonic();
    const old = this.#wanted.get(key) ?? { due: Infinity, hold: 0, bypassBackoff: false };
    const free = bypassBackoff || old.bypassBackoff;
    const hold = free ? 0 : Math.max(old.hold, now + holdMs);
    const wanted = Math.min(now + afterMs, old.due);
    this.#wanted.set(key, { due: Math.max(wanted, hold), hold, bypassBackoff: free });
    this.#queue.add(key, {
      afterMs,
      holdMs,
      bypassBackoff,
      priority: priorities[priority] ?? "change",
    });
  }

  async #take(): Promise<void> {
    const stop = new AbortController();
    const next = this.#queue.next(stop.signal);
    await this.#clock.settle();
    stop.abort();
    const key = await next;
    const allowed = keys.filter((each) => this.#isDue(each) && this.#mayRun(each));
    if (key === undefined) return expect(allowed).toEqual([]);
    expect(allowed).toContain(key);
    const urgent = allowed.filter((each) => traitsOf(each).isUrgent);
    if (urgent.length > 0) expect(urgent).toContain(key);
    this.#wanted.delete(key);
    this.#running.add(key);
  }

  #done(key: string | undefined): void {
    if (key === undefined) return;
    this.#running.delete(key);
    this.#queue.done(key);
  }

  #isDue(key: string): boolean {
    const due = this.#wanted.get(key)?.due ?? Infinity;
    return !this.#running.has(key) && due <= this.#clock.monotonic();
  }

  #mayRun(key: string): boolean {
    const { resource, isUrgent } = traitsOf(key);
    const free = WORKERS + (isUrgent ? RESERVED : 0) - this.#running.size;
    const same = [...this.#running].filter((each) => traitsOf(each).resource === resource);
    return same.length < free;
  }
}

test("whatever happens: no key runs twice at once, none early, none late, none is lost, no share is passed", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (list) => {
      const queue = new Checked();
      for (const step of list) await queue.run(step);
      await queue.end();
    }),
    { numRuns: 300 },
  );
});
