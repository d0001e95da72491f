import { expect, test } from "vitest";
import { isPlanOnly } from "../../../src/api/plan-only.ts";

test.each([
  [undefined, false],
  ["false", false],
  ["False", false],
  ["true", true],
  ["True", true],
  ["yes", true],
  ["", true],
])("the annotation plan-only with the value %j counts: %s", (value, expected) => {
  const annotations = value === undefined ? {} : { "iam-operator.io/plan-only": value };
  expect(isPlanOnly({ metadata: { annotations } })).toBe(expected);
});
