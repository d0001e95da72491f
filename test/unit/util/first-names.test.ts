import { expect, test } from "vitest";
import { FirstNames } from "../../../src/util/first-names.ts";

test("the first hundred names are known again, and no others", () => {
  const names = new FirstNames();
  const first = Array.from({ length: 100 }, (_, index) => `ns-${index}`);
  expect(first.every((name) => names.has(name))).toBe(true);
  expect(names.has("one-more")).toBe(false);
  expect(first.every((name) => names.has(name))).toBe(true);
});
