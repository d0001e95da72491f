import { expect, test } from "vitest";
import { jittered } from "../../../src/util/jitter.ts";
import { truncateList } from "../../../src/util/truncate-list.ts";

test.each([
  [[], ""],
  [["a"], "a"],
  [["a", "b"], "a, b"],
  [["a", "b", "c", "d"], "a, b and 2 more"],
])("of %j two are named: %j", (names, text) => {
  expect(truncateList(names, 2)).toBe(text);
});

test.each([
  [0, 75],
  [0.5, 100],
  [0.999, 124.95],
])("the fraction %d says how far between least and most", (fraction, ms) => {
  expect(jittered(100, { least: 0.75, most: 1.25 }, fraction)).toBeCloseTo(ms);
});
