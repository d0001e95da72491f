import { expect, test } from "vitest";
import { MINUTE } from "../../src/util/time.ts";
import { allScenarios } from "./all-scenarios.ts";
import { NO_FAULTS } from "./faults.ts";
import { perform, runOfSeed, shrunk } from "./run-selection.ts";

test.each(allScenarios)(
  "$name: without faults every promise holds",
  { timeout: 120_000 },
  async ({ name, epochs }) => {
    const selected = { scenario: name, plan: NO_FAULTS, options: { seed: 1 } };
    const { run, violations } = await perform(selected);
    expect(violations).toEqual([]);
    const issued = run.world.console.world.journal.filter(({ kind }) => kind === "keyIssued");
    expect(issued).toHaveLength(epochs);
  },
);

test("an answer that is lost after the commit costs one key, and it is accounted for", async () => {
  const select = { server: "iam", operation: "issueKey", nth: 1 } as const;
  const fault = { kind: "Reset", when: "AfterCommit" } as const;
  const plan = { name: "lost", faults: [{ on: "call", select, fault } as const] };
  const { run, violations } = await perform({ scenario: "first key", plan, options: { seed: 1 } });
  const { keys } = run.world.console.world;
  expect({ violations, keys: keys.size }).toEqual({ violations: [], keys: 2 });
});

test("a 404 to the call that unbinds a deleted account is no proof that nothing is bound", async () => {
  const scenario = "everything deleted";
  const select = { server: "iam", operation: "syncBindings", nth: 2 } as const;
  const fault = { kind: "Refuse", status: 404 } as const;
  const plan = { name: "404", faults: [{ on: "call", select, fault } as const] };
  const { run, violations } = await perform({ scenario, plan, options: { seed: 1 } });
  expect({ violations, isComplete: run.isComplete }).toEqual({ violations: [], isComplete: true });
});

test.each([
  ["labels of the Secret, by its way", 51],
  ["everything deleted", 9],
])("%s: lists that do not know a new account yet are not believed", async (scenario, afterMs) => {
  const event = { kind: "ListsBehind", ms: MINUTE, forMs: 5 * MINUTE } as const;
  const plan = { name: "lag", faults: [{ on: "world", afterMs, event } as const] };
  const { run, violations } = await perform({ scenario, plan, options: { seed: 1 } });
  expect({ violations, isComplete: run.isComplete }).toEqual({ violations: [], isComplete: true });
});

test("a seed gives the same run again, whatever ran before it", { timeout: 60_000 }, async () => {
  const digests: string[] = [];
  for (const seed of [7, 8, 7]) digests.push((await perform(await runOfSeed(seed))).run.digest);
  expect(digests[2]).toBe(digests[0]);
  expect(digests[1]).not.toBe(digests[0]);
});

test("a failing plan is shrunk to the faults that it takes", async () => {
  const faults = [1, 2, 3, 4].map((nth) => {
    const fault = { kind: "Slow", ms: nth } as const;
    return { on: "call", select: { nth }, fault } as const;
  });
  const selected = { scenario: "", plan: { name: "four", faults }, options: { seed: 1 } };
  const hasSecondAndFourth = ({ plan }: typeof selected) =>
    [2, 4].every((nth) => plan.faults.some(({ select }) => select.nth === nth));
  const { plan } = await shrunk(selected, (smaller) =>
    Promise.resolve(hasSecondAndFourth(smaller as typeof selected)),
  );
  expect(plan.faults).toEqual([faults[1], faults[3]]);
});
