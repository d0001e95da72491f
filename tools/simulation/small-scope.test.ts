import { expect, test } from "vitest";
import { effort } from "../../test/setup/effort.ts";
import { exploreSmallScope, replay } from "./small-scope.ts";

/** Among these starts are those at which all keys could be asked for at once. */
const quick = { depth: 2, blows: 1, keys: 3, every: 5 };
/** With `npm run test:all`; everything else is for `npm run sim -- --small-scope`. */
const thorough = { depth: 3, blows: 1, keys: 3, every: 4 };

test("no order of what is under way breaks a promise, nor does a blow to the leader in between", {
  timeout: 600_000,
}, async () => {
  const report = await exploreSmallScope(effort > 1 ? thorough : quick);
  console.log(`${report.states} states, ${report.paths} runs from ${report.starts} starts`);
  expect(report.failures).toEqual([]);
  // From each start there is more than one way to go.
  expect(report.starts).toBeGreaterThan(3);
  expect(report.states).toBeGreaterThan(report.starts * 20);
});

test("a way is taken again by its name", async () => {
  expect(await replay("9:0.1", 2, () => undefined)).toEqual([]);
  await expect(replay("9:99", 2, () => undefined)).rejects.toThrow("nothing to choose by 99");
});
