/** A console that stores the IDs of policies in upper case. */
import { expect, test } from "vitest";
import { IamError } from "../../../../src/console/errors.ts";
import { evaluate, isUsable } from "../../../../src/kinds/policy-binding/rules/evaluate.ts";
import { withRefusals } from "../../../../src/kinds/policy-binding/rules/refusal.ts";
import { report } from "../../../../src/kinds/policy-binding/rules/report.ts";
import type { BindingsSnapshot } from "../../../../src/kinds/policy-binding/rules/snapshot.ts";
import type { AccountBindingsState } from "../../../../src/kinds/policy-binding/rules/state.ts";
import { reconcileBindings } from "../../../../src/kinds/policy-binding/run.ts";
import { playRun } from "../play-run.ts";
import { account, bindingOf, listOf, NOW, recorded, snapshot } from "./builders.ts";

const kept = account(recorded(["p1"]));

function read(live: string, texts: readonly string[], fields: Partial<BindingsSnapshot> = {}) {
  const answer = { readable: true, policyIds: listOf(live) } as const;
  const given = snapshot(kept, texts.map(bindingOf), { source: "Server", live: answer, ...fields });
  if (!isUsable(given)) throw new Error("the account is usable");
  return given;
}

test.each<[string, BindingsSnapshot, object]>([
  [
    "a declared policy is on record with both spellings",
    read("P1 F", ["p1"]),
    {
      kind: "RecordBindings",
      bindings: {
        policies: [
          { policyId: "p1", state: "Declared", consoleSpelling: "P1" },
          { policyId: "F", state: "Foreign" },
        ],
      },
    },
  ],
  [
    "a policy that was never submitted may be another one",
    read("p1 P2", ["p1", "p2, on record: "]),
    { kind: "WriteIntent", uid: "1-uid", policyIds: ["p2"] },
  ],
  [
    "a deleted binding's policy is unbound",
    read("P1 F", ["p1 revoking"]),
    { kind: "SyncBindings", policyIds: ["F"] },
  ],
])("%s", (_, given, expected) => {
  const [first] = playRun(reconcileBindings(given));
  expect(first).toMatchObject(expected);
});

test("the console's spelling is declared without a call", () => {
  expect(evaluate(read("P1", ["P1, on record: p1"])).decision).toMatchObject({
    sync: undefined,
    bound: ["P1"],
    ours: ["P1"],
  });
});

test("a policy that was just unbound is not foreign in a list that is behind", () => {
  const { state } = read("", []);
  const unbound = { policyIds: ["p2"], time: NOW };
  const behind = read("P1 P2", ["p1"], { state: { ...state, unbound } });
  expect(evaluate(behind).decision).toMatchObject({ bound: ["p1"], ours: ["p1"] });
});

test.each([
  ["of this run", read("P1", ["p1"])],
  [
    "after a call",
    read("", ["p1"], { synced: { effect: "Shown", spellings: new Map([["p1", "P1"]]) } }),
  ],
])("the condition has the spelling of the last read, %s", (_, given) => {
  const { objects } = report(given, { kind: "Settled" }, undefined);
  expect(objects[0]?.readiness).toMatchObject({
    reason: "Synced",
    message: "1 policy is bound. The console stores another spelling: P1.",
  });
});

test("a refused list is not blamed on a policy that is listed in another spelling", () => {
  const { state } = read("", []);
  const suspects = [bindingOf("p1, on record: ", 0), bindingOf("p2, on record: ", 1)];
  const refusal = new IamError("NotFound", "no", { operation: "syncBindings", sent: true });
  const blamed = (policies: string): AccountBindingsState =>
    withRefusals(
      state,
      { refusal, suspects, before: [] },
      listOf(policies).map((policyId) => ({ policyId })),
      NOW,
    );
  expect([...blamed("P1").refusals.keys()]).toEqual(["1-uid"]);
});
