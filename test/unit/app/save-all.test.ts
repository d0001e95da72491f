import { expect, test } from "vitest";
import { saveAll } from "../../../src/app/save-all.ts";
import { type Log, silentLog } from "../../../src/util/log.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const GRACE_MS = 25_000;

/** A stop with some unsaved pairs, of which each attempt to write fails until `worksAt`. */
function stop({ pairs, worksAt = 0 }: { pairs: number; worksAt?: number }) {
  const clock = createFakeClock();
  const errors: string[] = [];
  const log: Log = { ...silentLog, error: (_, message) => void errors.push(message) };
  const runs = Promise.withResolvers<void>();
  let left = pairs;
  const unsaved = {
    get count() {
      return left;
    },
    save: async () => {
      if (clock.monotonic() < worksAt) throw new Error("not now");
      left = 0;
    },
  };
  let isOver = false;
  const startedAt = clock.monotonic();
  const saving = saveAll([unsaved], runs.promise, { clock, log, graceMs: GRACE_MS }).then(() => {
    isOver = true;
  });
  return {
    ...{ clock, errors, saving, startedAt },
    endRuns: runs.resolve,
    issue: () => {
      left += 1;
    },
    get left() {
      return left;
    },
    get isOver() {
      return isOver;
    },
  };
}

test("a pair is written while a run still hangs", async () => {
  const world = stop({ pairs: 1, worksAt: 1_000 });
  await world.clock.advance(2_000);
  expect([world.left, world.isOver]).toEqual([0, false]);
});

test("a pair that a run issues during the stop is written too", async () => {
  const world = stop({ pairs: 0 });
  await world.clock.advance(10_000);
  world.issue();
  world.endRuns();
  await world.clock.advance(1_000);
  expect([world.left, world.isOver]).toEqual([0, true]);
});

test("runs that take the whole grace period leave time for another try", async () => {
  const world = stop({ pairs: 1, worksAt: GRACE_MS + 3_000 });
  await world.clock.advance(GRACE_MS + 1_000);
  world.endRuns();
  await world.clock.advance(3_000);
  expect([world.left, world.errors, world.isOver]).toEqual([0, [], true]);
});

test("a pair that cannot be written ends with the grace period, and is reported", async () => {
  const world = stop({ pairs: 1, worksAt: Number.POSITIVE_INFINITY });
  world.endRuns();
  await world.clock.advance(GRACE_MS - 1_000);
  expect(world.isOver).toBe(false);
  await world.clock.advance(2_000);
  expect([world.isOver, world.errors]).toEqual([true, ["issued keys are lost with this process"]]);
});

test("attempts that change nothing let others have their turn", async () => {
  const clock = createFakeClock();
  let attempts = 0;
  const unsaved = {
    count: 1,
    save: async () => {
      attempts += 1;
    },
  };
  const saving = saveAll([unsaved], Promise.resolve(), {
    clock,
    log: silentLog,
    graceMs: GRACE_MS,
  });
  await clock.advance(GRACE_MS + 10_000);
  await saving;
  expect(attempts).toBeLessThan(60);
});
