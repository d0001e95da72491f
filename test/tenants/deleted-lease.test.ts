/** A person or a clean-up job deletes the Lease while an operator works. */
import { expect, test } from "vitest";
import { NO_FAULTS } from "../../tools/simulation/faults.ts";
import { leaderPlans } from "../../tools/simulation/replica-plans.ts";
import { replicaScenarios } from "../../tools/simulation/replica-scenarios.ts";
import { runPlan } from "../../tools/simulation/run-plan.ts";

const MAX_PLANS = 12;

test("a Lease that is deleted at any moment of a start makes no two replicas write", {
  timeout: 120_000,
}, async () => {
  const [scenario] = replicaScenarios;
  if (scenario === undefined) throw new Error("there are no scenarios with replicas");
  const { calls, world } = await runPlan(scenario, NO_FAULTS, { seed: 1 });
  const plans = leaderPlans(calls, world.unleashedAt)
    .filter(({ name }) => name.endsWith(" ms: DeleteLease"))
    .slice(0, MAX_PLANS);
  expect(plans.length).toBeGreaterThan(8);
  const broken = [];
  for (const plan of plans) {
    const { violations, isComplete } = await runPlan(scenario, plan, { seed: 1 });
    if (violations.length > 0 || !isComplete) broken.push({ plan: plan.name, violations });
  }
  expect(broken).toEqual([]);
});
