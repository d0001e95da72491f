/** One scenario under one plan, from the first event to the last check. */
import { MINUTE } from "../../src/util/time.ts";
import type { Fault, Plan } from "./faults.ts";
import { pictureOf } from "./invariants/at-rest.ts";
import { Invariants, type Violation } from "./invariants.ts";
import type { CallRecord } from "./journal.ts";
import type { Scenario } from "./scenarios.ts";
import { type SimOptions, SimWorld } from "./sim-world.ts";

export interface Run {
  readonly scenario: string;
  readonly plan: Plan;
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly calls: readonly CallRecord[];
  /** When the world should have come to rest; virtual time. */
  readonly quietSince: number;
  readonly events: number;
  readonly digest: string;
  /** Whether every fault of the plan has struck. */
  readonly isComplete: boolean;
  readonly world: SimWorld;
}

/** What the world gets to get over the last fault. */
export const RECOVERY_MS = 15 * MINUTE;
const QUIET_MS = 8 * MINUTE;

export async function runPlan(
  scenario: Scenario,
  plan: Plan,
  options: Omit<SimOptions, "plan" | "flags">,
): Promise<Run> {
  const world = new SimWorld({ ...options, plan, flags: scenario.flags });
  const invariants = new Invariants(world);
  await scenario.play(world);
  await world.kernel.advance(Math.max(0, scenario.settleMs - RECOVERY_MS));
  world.faults.cease();
  await world.kernel.advance(RECOVERY_MS);
  const quietSince = world.kernel.elapsed;
  const picture = pictureOf(world);
  await world.kernel.advance(QUIET_MS);
  const { epochs } = scenario;
  invariants.checkEnd({ epochs, allowance: allowanceOf(world), quietSince, picture });
  const { kernel, journal, faults } = world;
  return {
    scenario: scenario.name,
    plan,
    seed: options.seed,
    violations: invariants.violations,
    calls: journal.calls,
    quietSince,
    events: kernel.events,
    digest: kernel.digest,
    isComplete: faults.struck.size === plan.faults.length,
    world,
  };
}

/** What the faults that struck may cost in keys. */
function allowanceOf({ crashes, faults, journal }: SimWorld): number {
  const lost = journal.calls.filter(
    ({ operation, fault, committedAt }) =>
      fault !== undefined && committedAt !== undefined && LOSABLE.has(operation),
  ).length;
  return crashes + lost + [...faults.struck].filter(costsKey).length;
}

const LOSABLE = new Set(["issueKey", "createServiceAccount"]);
const COSTLY = new Set(["DeleteSecret", "EditSecret", "RecreateObject", "DeleteObject"]);
/** Whoever loses the lease with a pair in memory may not write it any more. */
const DEPOSING = new Set(["PauseLeader", "StealLease"]);

function costsKey(fault: Fault): boolean {
  if (fault.on === "call") return fault.fault.kind === "Pause";
  return fault.on === "world" && (COSTLY.has(fault.event.kind) || DEPOSING.has(fault.event.kind));
}
