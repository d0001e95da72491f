import { beforeAll, describe, expect, test } from "vitest";
import { NO_FAULTS, type Plan } from "./faults.ts";
import { leaderPlans } from "./replica-plans.ts";
import { replicaScenarios } from "./replica-scenarios.ts";
import { type Run, runPlan } from "./run-plan.ts";

/** The calls that cannot be taken back, and the writes that build on them. */
const DELICATE = ["iam issueKey #", "kube create secrets #"];

describe.each(replicaScenarios)("$name", (scenario) => {
  let faultless: Run;
  let all: readonly Plan[];

  beforeAll(async () => {
    faultless = await runPlan(scenario, NO_FAULTS, { seed: 1 });
    all = leaderPlans(faultless.calls, faultless.world.unleashedAt);
  });

  test("a leader that is stopped and continued around a delicate call breaks no promise", {
    timeout: 120_000,
  }, async () => {
    const plans = all.filter(({ name }) => DELICATE.some((start) => name.startsWith(start)));
    expect(plans.length).toBeGreaterThanOrEqual(8);
    const broken = [];
    for (const plan of plans) {
      const { violations, isComplete } = await runPlan(scenario, plan, { seed: 1 });
      if (violations.length > 0 || !isComplete) broken.push({ plan: plan.name, violations });
    }
    expect(broken).toEqual([]);
  });

  test.each(["StealLease", "DeleteLease", "Stop", "Kill"])(
    "%s right after a key was asked for breaks no promise",
    async (kind) => {
      const { calls, world } = faultless;
      const issues = calls.filter(({ operation }) => operation === "issueKey");
      const sentAt = issues.at(-1)?.sentAt ?? 0;
      const asked = `after ${Math.round(sentAt - world.unleashedAt + 1)} ms: ${kind}`;
      const plan = all.find(({ name }) => name === asked);
      if (plan === undefined) throw new Error(`there is no plan "${asked}"`);
      const { violations, isComplete } = await runPlan(scenario, plan, { seed: 1 });
      expect({ violations, isComplete }).toEqual({ violations: [], isComplete: true });
    },
  );
});
