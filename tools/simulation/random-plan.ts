/** Runs with many faults, by chance: the same seed gives the same run. */

import { HOUR, MINUTE, SECOND } from "../../src/util/time.ts";
import { type SeededRandom, seededRandom } from "../../test/support/seeded-random.ts";
import { SHAPE_NAMES, SHAPE_VARIANTS, type Shapes } from "../iam-server/shapes.ts";
import type { CallFault, Fault, Plan, WatchFault, WorldEvent } from "./faults.ts";
import { clockSteps, endings, gatewayFaults, interceptions } from "./plans.ts";
import type { RunOptions } from "./run-plan.ts";

const MOST_FAULTS = 6;

/** A few faults of any kind at any time; or, in every third plan, two of the scenario's single ones. */
export function randomPlan(seed: number, single: readonly Plan[]): Plan {
  const random = seededRandom(`plan:${seed}`);
  const isPair = random.chance(1 / 3) && single.length > 0;
  const count = 1 + random.below(MOST_FAULTS);
  const faults = isPair
    ? [random.pick(single), random.pick(single)].flatMap((plan) => plan.faults)
    : Array.from({ length: count }, () => randomFault(random));
  return { name: `random ${seed}`, faults };
}

/** What kind of console it is, and whether an hour is waited for what comes late. */
export function randomOptions(seed: number): RunOptions {
  const random = seededRandom(`options:${seed}`);
  return {
    seed,
    ...(random.chance(0.5) ? {} : { shapes: randomShapes(random) }),
    ...(random.chance(0.7) ? {} : { keyPropagationMs: random.below(20) * SECOND }),
    ...(random.chance(0.8)
      ? {}
      : { settings: { tokenLifetimeMs: SECOND + random.below(5 * MINUTE) } }),
    ...(random.chance(0.8) ? {} : { accountsPerPage: 1 + random.below(2) }),
    ...(random.chance(0.95) ? {} : { quietMs: HOUR + 5 * MINUTE }),
  };
}

/** Answers in other ways that the documentation leaves open; not those in which nothing can ever be Ready. */
function randomShapes(random: SeededRandom): Partial<Shapes> {
  const chosen = SHAPE_NAMES.filter((name) => !HOPELESS.has(name) && random.chance(0.3));
  return Object.fromEntries(chosen.map((name) => [name, random.pick(SHAPE_VARIANTS[name])]));
}

/** Nobody replaces bindings that cannot be read, or lists accounts in pages that the console ignores. */
const HOPELESS: ReadonlySet<string> = new Set(["bindings", "serviceAccountPaging"]);

function randomFault(random: SeededRandom): Fault {
  if (random.chance(0.15)) {
    const events = random.pick([EVENTS, EVENTS, clockSteps, LASTING_ENDINGS]);
    return { on: "world", afterMs: random.below(120_000), event: random.pick(events) };
  }
  if (random.chance(0.15)) {
    const nth = 1 + random.below(3);
    return { on: "watch", plural: random.pick(PLURALS), nth, fault: randomWatchFault(random) };
  }
  const mutating = random.chance(0.7);
  const select = {
    server: random.pick(["kube", "iam"] as const),
    mutating,
    nth: 1 + random.below(mutating ? 25 : 12),
    times: random.chance(0.2) ? 1 + random.below(4) : 1,
  };
  const isList = select.server === "iam" && !mutating;
  const faults = [
    ...FAULTS,
    ...(mutating ? gatewayFaults : []),
    ...(isList ? REPLICA : []),
    ...(select.server === "iam" ? interceptions : []),
  ];
  return { on: "call", select, fault: random.pick(faults) };
}

const REPLICA: readonly CallFault[] = [10 * SECOND, 2 * MINUTE].map((ms) => ({
  kind: "Behind",
  ms,
}));

const PLURALS = ["apikeys", "serviceaccounts", "policybindings", "clusterconnections"];

function randomWatchFault(random: SeededRandom): WatchFault {
  const nth = random.below(8);
  return random.pick<WatchFault>([
    { kind: "Frozen", nth },
    { kind: "Dropped", nth },
    { kind: "Doubled", nth },
    { kind: "Torn", nth },
    { kind: "Late", ms: random.below(20_000) },
    { kind: "Stale", revisions: 1 + random.below(20), ms: random.below(30_000) },
    { kind: "Expired" },
  ]);
}

/** Events that change neither the declared state nor the operator's own objects. */
const EVENTS: readonly WorldEvent[] = [
  { kind: "RevokeTokens" },
  { kind: "Kill" },
  { kind: "Stop" },
  { kind: "Compact" },
  { kind: "ListsBehind", ms: MINUTE, forMs: 3 * MINUTE },
  { kind: "JumpClock", ms: 200_000 },
];

/** Nobody comes to what is declared without an account. */
const LASTING_ENDINGS = endings.filter(
  (event) => !(event.kind === "EndAccounts" && event.how === "Delete"),
);

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
  { kind: "Garble", how: "EmptyObject" },
  { kind: "Refuse", status: 409 },
  { kind: "Refuse", status: 429, retryAfter: 3 },
  { kind: "Refuse", status: 500 },
  { kind: "Refuse", status: 503 },
  { kind: "Slow", ms: 2_000 },
];
