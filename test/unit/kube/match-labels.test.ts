import { expect, test } from "vitest";
import { labelSelectorText, matchesLabels } from "../../../src/kube/match-labels.ts";
import type { LabelSelector } from "../../../src/kube/resource-types.ts";

const expression = (key: string, operator: string, ...values: string[]): LabelSelector => ({
  matchExpressions: [{ key, operator, ...(values.length === 0 ? {} : { values }) }],
});

test.each<[string, LabelSelector, boolean]>([
  ["nothing selects everything", {}, true],
  ["an equal label", { matchLabels: { app: "api" } }, true],
  ["another value", { matchLabels: { app: "web" } }, false],
  ["a missing label", { matchLabels: { tier: "x" } }, false],
  ["In", expression("app", "In", "web", "api"), true],
  ["not In", expression("tier", "In", "x"), false],
  ["NotIn", expression("tier", "NotIn", "x"), true],
  ["not NotIn", expression("app", "NotIn", "api"), false],
  ["Exists", expression("app", "Exists"), true],
  ["Exists, of what every object inherits", expression("constructor", "Exists"), false],
  ["DoesNotExist", expression("app", "DoesNotExist"), false],
  ["an operator of the future", expression("app", "Gt"), false],
  ["labels and expressions", { matchLabels: { app: "api" }, ...expression("app", "Exists") }, true],
  ["one of them only", { matchLabels: { app: "api" }, ...expression("x", "Exists") }, false],
])("labels: %s", (_, selector, expected) => {
  expect(matchesLabels(selector, { app: "api" })).toBe(expected);
});

test("a list's query has every condition", () => {
  const matchExpressions = [
    { key: "tier", operator: "In", values: ["x", "y"] },
    { key: "team", operator: "NotIn", values: ["z"] },
    { key: "owner", operator: "Exists" },
    { key: "legacy", operator: "DoesNotExist" },
  ];
  expect(labelSelectorText({ matchLabels: { app: "api" }, matchExpressions })).toBe(
    "app=api,tier in (x,y),team notin (z),owner,!legacy",
  );
  expect(labelSelectorText({})).toBe("");
});
