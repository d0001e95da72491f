/** Plans with many faults, by chance: the same seed gives the same plan. */
import type { CallFault, Fault, Plan, WorldEvent } from "./faults.ts";
import { type SeededRandom, seededRandom } from "./seeded-random.ts";

const MOST_FAULTS = 6;

export function randomPlan(seed: number): Plan {
  const random = seededRandom(`plan:${seed}`);
  const count = 1 + random.below(MOST_FAULTS);
  return {
    name: `random ${seed}`,
    faults: Array.from({ length: count }, () => randomFault(random)),
  };
}

function randomFault(random: SeededRandom): Fault {
  if (random.chance(0.15)) {
    return { on: "world", afterMs: random.below(120_000), event: random.pick(EVENTS) };
  }
  const mutating = random.chance(0.7);
  const select = {
    server: random.pick(["kube", "iam"] as const),
    mutating,
    nth: 1 + random.below(mutating ? 25 : 12),
    times: random.chance(0.2) ? 1 + random.below(4) : 1,
  };
  return { on: "call", select, fault: random.pick(FAULTS) };
}

/** Only what leaves the wish as it is, and nobody's hands on the operator's own objects. */
const EVENTS: readonly WorldEvent[] = [
  { kind: "RevokeTokens" },
  { kind: "Kill" },
  { kind: "Stop" },
  { kind: "Compact" },
  { kind: "JumpClock", ms: 200_000 },
];

const FAULTS: readonly CallFault[] = [
  { kind: "Crash", when: "BeforeSend" },
  { kind: "Crash", when: "AfterCommit" },
  { kind: "Crash", when: "AfterAnswer" },
  { kind: "Reset", when: "BeforeCommit" },
  { kind: "Reset", when: "AfterCommit" },
  { kind: "Silence", when: "BeforeCommit" },
  { kind: "Silence", when: "AfterCommit" },
  { kind: "Garble", how: "NotJson" },
  { kind: "Garble", how: "WrongType" },
  { kind: "Garble", how: "Empty" },
  { kind: "Refuse", status: 429, retryAfter: 3 },
  { kind: "Refuse", status: 500 },
  { kind: "Refuse", status: 503 },
  { kind: "Slow", ms: 2_000 },
];
