import { expect, test } from "vitest";
import { parseLabelSelector } from "../../../src/kube/label-selector.ts";

test.each([
  ["", {}, true],
  ["  ", { a: "1" }, true],
  ["team=a", { team: "a" }, true],
  ["team==a", { team: "a" }, true],
  ["team=a", { team: "b" }, false],
  ["team=a", {}, false],
  ["team=", { team: "" }, true],
  ["team!=a", {}, true],
  ["team!=a", { team: "a" }, false],
  ["team", { team: "" }, true],
  ["team", {}, false],
  ["!team", {}, true],
  ["!team", { team: "x" }, false],
  ["example.com/team=a, tier!=test", { "example.com/team": "a", tier: "prod" }, true],
  ["example.com/team=a,tier!=test", { "example.com/team": "a", tier: "test" }, false],
  ["constructor", {}, false],
])("%j on %j: %j", (selector, labels, expected) => {
  expect(parseLabelSelector(selector)?.(labels)).toBe(expected);
});

test("an object without labels is selected by what asks for absence only", () => {
  expect(parseLabelSelector("!team,a!=b")?.(undefined)).toBe(true);
  expect(parseLabelSelector("team")?.(undefined)).toBe(false);
});

test.each(["a=b,", ",", "a in (b)", "!a=b", "a=b=c", "=b", "a b"])(
  "%j cannot be read",
  (selector) => {
    expect(parseLabelSelector(selector)).toBeUndefined();
  },
);
