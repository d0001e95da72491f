/** One scenario under one plan, from the first event to the last check. */
import { setImmediate as eventLoopTurned } from "node:timers/promises";
import { MINUTE } from "../../src/util/time.ts";
import type { Fault, Plan, WorldEvent } from "./faults.ts";
import { everythingIsReady, isOurs, pictureOf } from "./invariants/at-rest.ts";
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
/** Longer than every period but the hour in which something is looked at that may be as it was. */
const QUIET_MS = 11 * MINUTE;
const LOOK_MS = MINUTE / 2;

export interface RunOptions extends Omit<SimOptions, "plan" | "flags"> {
  /** How long nothing may happen in the end. */
  readonly quietMs?: number;
}

export async function runPlan(
  scenario: Scenario,
  plan: Plan,
  { quietMs = QUIET_MS, ...options }: RunOptions,
): Promise<Run> {
  const world = new SimWorld({ ...scenario.world, ...options, plan, flags: scenario.flags });
  const invariants = new Invariants(world);
  await scenario.play(world);
  await letFaultsStrike(world, scenario.settleMs - RECOVERY_MS);
  world.faults.cease();
  const { epochs, unfulfilled = everythingIsReady } = scenario;
  const { quietSince, picture } = await comeToRest(world, quietMs, unfulfilled);
  const allowance = allowanceOf(world);
  invariants.checkEnd({ epochs, allowance, quietSince, picture, unfulfilled });
  // Nothing in here waits for the event loop; who runs many of these must not keep it waiting.
  await eventLoopTurned();
  const { kernel, journal, faults } = world;
  const excused = excusedBy(plan);
  const wrong = scenario.atEnd?.(world);
  return {
    scenario: scenario.name,
    plan,
    seed: options.seed,
    violations: [
      ...invariants.violations.filter(({ invariant }) => !excused.has(invariant)),
      ...(wrong === undefined ? [] : [{ invariant: "scenario", what: wrong, at: kernel.elapsed }]),
    ],
    calls: journal.calls,
    quietSince,
    events: kernel.events,
    digest: kernel.digest,
    isComplete: faults.struck.size === plan.faults.length,
    world,
  };
}

async function letFaultsStrike(world: SimWorld, mostMs: number): Promise<void> {
  const until = world.kernel.elapsed + mostMs;
  while (!world.faults.allStruck && world.kernel.elapsed < until)
    await world.kernel.advance(LOOK_MS);
}

/**
 * Waits until all wishes are fulfilled and nothing has been changed for `quietMs`, but no longer than faults may
 * take to get over.
 */
async function comeToRest(
  world: SimWorld,
  quietMs: number,
  unfulfilled: (world: SimWorld) => string | undefined,
): Promise<{ quietSince: number; picture: string }> {
  const { kernel } = world;
  const deadline = kernel.elapsed + RECOVERY_MS;
  for (;;) {
    const quietSince = kernel.elapsed;
    const picture = pictureOf(world);
    const { revision } = world.kube.storage;
    const isLast = quietSince >= deadline;
    const until = quietSince + quietMs;
    while (kernel.elapsed < until && (isLast || !hasMoved(world, revision)))
      await kernel.advance(Math.min(LOOK_MS, until - kernel.elapsed));
    if (isLast || (kernel.elapsed >= until && unfulfilled(world) === undefined))
      return { quietSince, picture };
  }
}

/** Leases are renewed and quotas are listed again; nothing else moves a world at rest. */
function hasMoved({ kube }: SimWorld, since: number): boolean {
  return kube.storage.since(since).some(({ kind }) => isOurs(kind));
}

/** Promises that a world event ends on purpose. */
function excusedBy({ faults }: Plan): ReadonlySet<string> {
  return new Set(faults.flatMap((fault) => (fault.on === "world" ? excuses(fault.event) : [])));
}

/** What somebody has taken away, or closed, only somebody can give back. */
function excuses(event: WorldEvent): readonly string[] {
  switch (event.kind) {
    case "DeleteObject":
      return ["L1 wish fulfilled"];
    case "RecreateObject":
      // A new ServiceAccount does not take over the account of the old one: that is for a person to decide.
      return event.plural === "serviceaccounts" ? ["L1 wish fulfilled"] : [];
    default:
      return [];
  }
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
