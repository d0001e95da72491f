import { expect, test } from "vitest";
import { findCondition } from "../../../src/api/conditions.ts";
import { plannedOutcome } from "../../../src/reconciler/rules/plan-only.ts";
import { type ObjectReport, reported, statusOf } from "../../../src/reconciler/rules/report.ts";
import { reconciling } from "../../../src/reconciler/rules/waiting.ts";

const settled = { kind: "Settled" } as const;
const waiting = reconciling("Pending", "It is so.");

test("what a plan has not done waits for a person, except for a kind that only reads", () => {
  expect(plannedOutcome(waiting, 0)).toEqual({
    ...waiting,
    state: "Stalled",
    message: expect.stringMatching(/^It is so\. The operator only plans .* before you remove /),
  });
  expect(plannedOutcome(waiting, 0, true)).toEqual(waiting);
  expect([false, true].map((isReader) => plannedOutcome(settled, 0, isReader))).toEqual([
    settled,
    settled,
  ]);
});

test.each([
  [0, /no call would be made, but it would be recorded as its own\./],
  [1, /status\.plan has the call that/],
  [2, /status\.plan has the 2 calls that/],
])("a plan of %i calls is stalled and says so", (calls, said) => {
  const planned = plannedOutcome(undefined, calls);
  expect(planned).toMatchObject({ state: "Stalled", message: expect.stringMatching(said) });
});

test.each([
  ["runs", {}, "True"],
  ["does not run while the operator only plans", { plan: { calls: [] } }, undefined],
])("the deadline of a blocked cleanup %s", (_, planned, expected) => {
  const report = {
    object: { metadata: {} },
    status: {},
    readiness: waiting,
    isCleanupBlocked: true,
  };
  const { conditions } = statusOf({ ...report, ...planned } as unknown as ObjectReport, { now: 0 });
  expect(findCondition(conditions, "CleanupBlocked")?.status).toBe(expected);
});

test("a planned status keeps what another field manager has written", () => {
  const object = { metadata: {}, status: { saId: "sa-1", bindings: { policyCount: 1 } } };
  const status = { saId: "sa-2", bindings: { policyCount: 0 } };
  const report = { object, status, readiness: waiting, write: { foreignFields: ["bindings"] } };
  expect(reported(report as unknown as ObjectReport, { now: 0 }).status).toMatchObject({
    saId: "sa-2",
    bindings: { policyCount: 1 },
  });
});
