/**
 * The simulation as part of the tests: single faults of every scenario, then seeds that no run had before. `npm run
 * test:all` takes all single faults and a million seeds; a failure names the command that runs it again.
 */
import { afterAll, expect, test } from "vitest";
import { firstSeedOf, planTasks, seedTasks } from "./campaign.ts";
import { writeCoverage } from "./coverage.ts";
import { faultsOf } from "./plans.ts";
import { type Failure, labelOf, merge, newTally, type Tally } from "./tally.ts";
import { runTasks } from "./worker-pool.ts";

const isAll = process.env.TEST_SUITE === "all";
/** Of how many single faults one is taken in most scenarios, besides the first of each kind. */
const EVERY = isAll ? 1 : 80;
const SEEDS = isAll ? 1_000_000 : 500;
const FIRST_SEED = firstSeedOf(process.env.SIM_SEED, Date.now(), SEEDS);
const TOLD_EVERY = 500;
const DAY_MS = 86_400_000;

const whole = newTally();
let struck: Tally["coverage"] = {};

afterAll(() => {
  writeCoverage(whole.coverage);
});

async function campaign(what: string, tasks: Parameters<typeof runTasks>[0]): Promise<Tally> {
  let told = 0;
  const onProgress = ({ runs, failures }: Tally) => {
    if (runs >= told + TOLD_EVERY) console.log(`${what}: ${runs} run, ${failures.length} failed`);
    told = runs - (runs % TOLD_EVERY);
    return true;
  };
  const tally = await runTasks(tasks, { onProgress });
  merge(whole, tally);
  return tally;
}

/** One text: its first line is what a report of many tests shows. */
function told({ failures }: Tally): string {
  return failures.map(tell).join("\n");
}

function tell({ violations: [first], replay }: Failure): string {
  return `${first?.invariant}: ${first?.what}; again with: ${replay}`;
}

test("single faults break no promise", { timeout: DAY_MS }, async () => {
  const tally = await campaign("single faults", planTasks(EVERY));
  struck = tally.coverage;
  expect(told(tally)).toBe("");
  expect(tally.runs).toBeGreaterThanOrEqual(1_500);
});

test("many faults at once break no promise", { timeout: DAY_MS }, async () => {
  console.log(`seeds: those of npm run sim -- --seed ${FIRST_SEED} --seeds ${SEEDS}`);
  const tally = await campaign("seeds", seedTasks(FIRST_SEED, SEEDS));
  expect(told(tally)).toBe("");
  expect(tally.runs).toBe(SEEDS);
});

test("seeds are fresh in every run, unless the environment names the first one", () => {
  expect(firstSeedOf("7", 0, 500)).toBe(7);
  expect(() => firstSeedOf("seven", 0, 500)).toThrow("SIM_SEED");
  const [one, next] = [0, 1_000].map((ms) => firstSeedOf(undefined, 1_800_000_000_000 + ms, 500));
  expect((next ?? 0) - (one ?? 0)).toBe(500);
});

test("every call was struck by every single fault that can befall it", () => {
  const rows = Object.entries(struck).filter(([row]) => /^(kube|iam) /.test(row));
  const missing = rows.flatMap(([row, cells]) => {
    const [server, ...operation] = row.split(" ");
    const select = { server: server as "kube" | "iam", operation: operation.join(" "), nth: 1 };
    const isMutating = Object.keys(cells).some((label) => label.startsWith("Crash"));
    const wanted = faultsOf({ ...select, mutating: isMutating }).map(labelOf);
    return wanted.filter((label) => cells[label] === undefined).map((label) => `${row}: ${label}`);
  });
  expect(rows.length).toBeGreaterThan(20);
  expect(missing).toEqual([]);
});
