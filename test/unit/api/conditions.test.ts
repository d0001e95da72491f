import { describe, expect, test } from "vitest";
import {
  type Condition,
  findCondition,
  isTrue,
  type Readiness,
  readinessConditions,
  removeCondition,
  setCondition,
} from "../../../src/api/conditions.ts";
import { parseInstant } from "../../../src/util/time.ts";

const then = "2026-01-01T00:00:00Z";
const now = "2026-01-02T00:00:00Z";
const instant = parseInstant(now) ?? 0;

const condition = (type: string, status: Condition["status"], more = {}): Condition => ({
  type,
  status,
  observedGeneration: 1,
  lastTransitionTime: then,
  reason: "Old",
  message: "Old.",
  ...more,
});

const update = (type: string, status: Condition["status"]) => ({
  type,
  status,
  reason: "New",
  message: "New.",
});
const updated = { observedGeneration: 2, reason: "New", message: "New." };

describe("setCondition", () => {
  test.each<[string, readonly Condition[], readonly Condition[]]>([
    [
      "adds what is not there, at the end",
      [condition("Verified", "True")],
      [
        condition("Verified", "True"),
        condition("Ready", "True", { ...updated, lastTransitionTime: now }),
      ],
    ],
    [
      "keeps the time of the last transition while the status stays",
      [condition("Ready", "True"), condition("Verified", "True")],
      [condition("Ready", "True", updated), condition("Verified", "True")],
    ],
    [
      "moves the time of the last transition with the status",
      [condition("Verified", "True"), condition("Ready", "Unknown")],
      [
        condition("Verified", "True"),
        condition("Ready", "True", { ...updated, lastTransitionTime: now }),
      ],
    ],
  ])("%s", (_, before, after) => {
    const copy = structuredClone(before);
    expect(setCondition(before, update("Ready", "True"), 2, instant)).toEqual(after);
    expect(before).toEqual(copy);
  });

  test("cuts a message that is too long", () => {
    const [written] = setCondition(
      [],
      { ...update("Ready", "False"), message: "x".repeat(5_000) },
      1,
      0,
    );
    expect(written?.message).toHaveLength(1_024);
  });
});

describe("readinessConditions", () => {
  const types = (conditions: readonly Condition[]) =>
    conditions.map(({ type, status, reason }) => `${type}=${status}:${reason}`);
  const ready: Readiness = { state: "Ready", reason: "Done", message: "Done." };
  const busy: Readiness = { state: "Reconciling", reason: "Waiting", message: "Waiting." };
  const stuck: Readiness = { state: "Stalled", reason: "InvalidSpec", message: "Wrong." };

  test.each<[string, readonly Readiness[], readonly string[]]>([
    ["ready", [ready], ["Ready=True:Done"]],
    ["at work", [busy], ["Ready=False:Waiting", "Reconciling=True:Waiting"]],
    ["stuck", [stuck], ["Ready=False:InvalidSpec", "Stalled=True:InvalidSpec"]],
    ["stuck after work", [busy, stuck], ["Ready=False:InvalidSpec", "Stalled=True:InvalidSpec"]],
    ["at work again", [stuck, busy], ["Ready=False:Waiting", "Reconciling=True:Waiting"]],
    ["ready after all", [busy, stuck, busy, ready], ["Ready=True:Done"]],
  ])("of an object that is %s", (_, states, expected) => {
    const conditions = states.reduce<readonly Condition[]>(
      (list, state) => readinessConditions(list, state, 1, instant),
      [],
    );
    expect(types(conditions)).toEqual(expected);
  });

  test("leaves other conditions as they are", () => {
    const verified = condition("Verified", "False");
    expect(readinessConditions([verified], ready, 1, instant)).toContainEqual(verified);
  });
});

test("conditions are found, tested and removed by type", () => {
  const list = [condition("Ready", "True"), condition("Verified", "Unknown")];
  expect(findCondition(list, "Verified")).toBe(list[1]);
  expect(findCondition(undefined, "Verified")).toBeUndefined();
  expect([isTrue(list, "Ready"), isTrue(list, "Verified"), isTrue(list, "Absent")]).toEqual([
    true,
    false,
    false,
  ]);
  expect(removeCondition(list, "Ready")).toEqual([list[1]]);
});
