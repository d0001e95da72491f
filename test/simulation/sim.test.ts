import { describe, expect, test } from "vitest";
import { NO_FAULTS } from "./faults.ts";
import { callPlans, crashFaults } from "./plans.ts";
import { runPlan } from "./run-plan.ts";
import { type Scenario, scenarios } from "./scenarios.ts";
import { SimWorld } from "./sim-world.ts";

function scenario(name: string): Scenario {
  const found = scenarios.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no scenario ${name}`);
  return found;
}

test.each(scenarios.map(({ name }) => name))(
  "%s: without faults every promise holds",
  { timeout: 120_000 },
  async (name) => {
    const run = await runPlan(scenario(name), NO_FAULTS, { seed: 1 });
    expect(run.violations).toEqual([]);
    expect(run.world.console.world.keys.size).toBe(scenario(name).epochs);
  },
);

describe("a crash at any changing call of the first key", () => {
  test("breaks no promise", { timeout: 120_000 }, async () => {
    const faultless = await runPlan(scenario("first key"), NO_FAULTS, { seed: 1 });
    const plans = callPlans(faultless.calls).filter(({ faults }) =>
      faults.some((fault) => fault.on === "call" && crashFaults.includes(fault.fault)),
    );
    const broken = [];
    // Every fourth here, so that each of the three moments takes its turn; `sim.ts --plans` runs all.
    const some = plans.filter((_plan, index) => index % 4 === 0);
    for (const plan of some) {
      const { violations, isComplete } = await runPlan(scenario("first key"), plan, { seed: 1 });
      if (violations.length > 0 || !isComplete) broken.push({ plan: plan.name, violations });
    }
    expect(plans.length).toBeGreaterThan(50);
    expect(broken).toEqual([]);
  });
});

test("an answer that is lost after the commit costs one key, and it is accounted for", async () => {
  const select = { server: "iam", operation: "issueKey", nth: 1 } as const;
  const fault = { kind: "Reset", when: "AfterCommit" } as const;
  const plan = { name: "lost", faults: [{ on: "call", select, fault } as const] };
  const { violations, world } = await runPlan(scenario("first key"), plan, { seed: 1 });
  expect({ violations, keys: world.console.world.keys.size }).toEqual({ violations: [], keys: 2 });
});

test("a call outside the documented ones is noticed", () => {
  const world = new SimWorld({ seed: 1, plan: NO_FAULTS });
  const url = "https://console.example.com/api/v1/elsewhere";
  world.console.handle({ method: "GET", url, headers: {}, timeoutMs: 1, maxBytes: 1 });
  expect(world.console.unknownCalls).toEqual(["GET /api/v1/elsewhere"]);
});
