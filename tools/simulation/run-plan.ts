/** One scenario under one plan, from the first event to the last check. */
import { setImmediate as eventLoopTurned } from "node:timers/promises";
import { WATCH_MS } from "../../src/accounts/sync-watch.ts";
import { annotations } from "../../src/api/meta.ts";
import { apiKeyType } from "../../src/resources/resource-types.ts";
import { HOUR, MINUTE } from "../../src/util/time.ts";
import { treeAt } from "../api-server/tree.ts";
import type { CallFault, Fault, Plan, WorldEvent } from "./faults.ts";
import { finalStateOf } from "./final-state.ts";
import { gapOf, isEndedOutside, TRIED_MS } from "./invariants/always.ts";
import {
  everythingIsReady,
  isCapped,
  isReady,
  lacksFirstKeysOnly,
  noiseSince,
  pictureOf,
} from "./invariants/at-rest.ts";
import { patienceFor, unnamedIn } from "./invariants/key-accounting.ts";
import { accountsOf, apiKeysOf, type StoredApiKey } from "./invariants/view.ts";
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
  readonly finalState: readonly string[];
  /** When the world should have come to rest; virtual time. */
  readonly quietSince: number;
  readonly events: number;
  readonly digest: string;
  /** Whether every fault of the plan has struck. */
  readonly isComplete: boolean;
  /** Promises that the faults, or what came of them, end. */
  readonly excused: ReadonlySet<string>;
  readonly world: SimWorld;
}

/** What the world gets to get over the last fault. */
export const RECOVERY_MS = 15 * MINUTE;
/**
 * Longer than every period but the hour in which something is looked at that may be as it was: after this, every account
 * has been listed again.
 */
const QUIET_MS = 11 * MINUTE;
/**
 * Longer than the Secrets are left alone, though not than the pauses of who tries in vain until the next listing. What
 * comes later comes without faults, and with many, as well; and where a lease is renewed every other second, quiet is
 * dear.
 */
const SHORT_QUIET_MS = 6 * MINUTE;
const LOOK_MS = MINUTE / 2;
/** After this, watches of all kinds have been listed anew; the chance that one has not is one in a thousand. */
const RELISTED_MS = 7 * HOUR;

export interface RunOptions extends Omit<SimOptions, "plan" | "flags"> {
  /** How long nothing may happen in the end. */
  readonly quietMs?: number;
}

export async function runPlan(
  scenario: Scenario,
  plan: Plan,
  { quietMs: wantedQuietMs, ...options }: RunOptions,
): Promise<Run> {
  const world = new SimWorld({ ...scenario.world, ...options, plan, flags: scenario.flags });
  const isShort =
    (world.isElected || plan.faults.length === 1) && !isMissed(plan) && !isOfGateway(plan);
  const quietMs = wantedQuietMs ?? (isShort ? SHORT_QUIET_MS : QUIET_MS);
  const invariants = new Invariants(world);
  await scenario.play(world);
  await letFaultsStrike(world, scenario.settleMs - RECOVERY_MS);
  world.faults.cease();
  await letLateCallsArrive(world);
  if (needsPerson(plan)) askAgain(world);
  const { epochs, unreached = everythingIsReady } = scenario;
  await letBooksBalance(world);
  await letEndedKeysBeReplaced(world);
  const recoveryMs = isMissed(plan) ? RELISTED_MS : RECOVERY_MS;
  const { quietSince, picture } = await comeToRest(world, { quietMs, recoveryMs, unreached });
  const allowance = allowanceOf(world);
  invariants.checkEnd({ epochs, allowance, quietSince, picture, unreached });
  // Nothing in here waits for the event loop; who runs many of these must not keep it waiting.
  await eventLoopTurned();
  const { kernel, journal, faults } = world;
  const excused = new Set([...excusedBy(plan), ...excusedByWorld(scenario, world, options)]);
  const what = scenario.atEnd?.(world);
  const wrong = what === undefined ? [] : [{ invariant: "scenario", what, at: kernel.elapsed }];
  return {
    scenario: scenario.name,
    plan,
    seed: options.seed,
    violations: [...invariants.violations, ...wrong].filter(
      ({ invariant }) => !excused.has(invariant),
    ),
    finalState: finalStateOf(world),
    calls: journal.calls,
    quietSince,
    events: kernel.events,
    digest: kernel.digest,
    isComplete: faults.struck.size === plan.faults.length,
    excused,
    world,
  };
}

async function letFaultsStrike(world: SimWorld, mostMs: number): Promise<void> {
  const until = Math.max(world.kernel.elapsed + mostMs, lastEventAt(world));
  while (!world.faults.allStruck && world.kernel.elapsed < until)
    await world.kernel.advance(LOOK_MS);
}

/** What faults have put off comes in the end. */
async function letLateCallsArrive({ faults, kernel }: SimWorld): Promise<void> {
  while (faults.pending > 0) await kernel.advance(LOOK_MS);
}

/** Whatever can still be named in time is. */
async function letBooksBalance(world: SimWorld): Promise<void> {
  const { kernel } = world;
  const since = kernel.elapsed;
  const isWaitedFor = () => kernel.elapsed < since + patienceFor(unnamedIn(world));
  while (isWaitedFor()) await kernel.advance(LOOK_MS);
}

/** Where no list tells that a key has ended, that takes as long as until it is tried. */
async function letEndedKeysBeReplaced(world: SimWorld): Promise<void> {
  const { kernel } = world;
  const until = kernel.elapsed + TRIED_MS;
  const isOwed = (apiKey: StoredApiKey) =>
    gapOf(world, apiKey) !== undefined && isEndedOutside(world, apiKey, Number.POSITIVE_INFINITY);
  while (kernel.elapsed < until && apiKeysOf(world).some(isOwed)) await kernel.advance(LOOK_MS);
}

/** What happens to the world happens whatever the operator does. */
function lastEventAt({ faults, unleashedAt }: SimWorld): number {
  const events = faults.plan.faults.filter((fault) => fault.on === "world");
  return Math.max(0, ...events.map(({ afterMs }) => unleashedAt + afterMs));
}

interface Patience {
  readonly quietMs: number;
  readonly recoveryMs: number;
  readonly unreached: (world: SimWorld) => string | undefined;
}

/** Whether something may have happened that only a later list shows. */
function isOfGateway({ faults }: Plan): boolean {
  return faults.some((fault) =>
    fault.on === "call"
      ? GATEWAY.has(fault.fault.kind)
      : fault.on === "world" && fault.event.kind === "ListsBehind",
  );
}

const GATEWAY = new Set(["LateCommit", "DoubleCommit", "Behind"]);

/** Whether the operator may have missed something that nobody will tell it again. */
function isMissed({ faults }: Plan): boolean {
  return faults.some((fault) =>
    fault.on === "watch"
      ? fault.fault.kind === "Dropped"
      : fault.on === "world" && fault.event.kind === "Restore" && !fault.event.bumped,
  );
}

/**
 * Waits until everything is as declared and nothing has been changed for `quietMs`, but no longer than faults may
 * take to get over.
 */
async function comeToRest(
  world: SimWorld,
  { quietMs, recoveryMs, unreached }: Patience,
): Promise<{ quietSince: number; picture: string }> {
  const { kernel } = world;
  const deadline = kernel.elapsed + recoveryMs;
  for (;;) {
    const quietSince = kernel.elapsed;
    const picture = pictureOf(world);
    const isLast = quietSince >= deadline;
    const until = quietSince + quietMs;
    const isQuiet = () => noiseSince(world, quietSince).length === 0;
    while (kernel.elapsed < until && (isLast || isQuiet()))
      await kernel.advance(Math.min(LOOK_MS, until - kernel.elapsed));
    if (isLast || (isQuiet() && unreached(world) === undefined)) return { quietSince, picture };
  }
}

/** A list that is always empty shows no key that comes after its attempt. */
function hasLateKey({ journal }: SimWorld): boolean {
  return journal.calls.some(({ operation, isPutOff }) => operation === "issueKey" && isPutOff);
}

/** Which promises a scenario, its console, or what became of it end. */
function excusedByWorld(
  { name }: Scenario,
  world: SimWorld,
  { shapes }: RunOptions,
): readonly string[] {
  const isCut = world.kube.storage.all.some(({ object }) => isCapped(object));
  const isRecreated = world.faults.plan.faults.some(
    (fault) => fault.on === "world" && fault.event.kind === "RecreateObject",
  );
  return [
    // A list that is always empty says that no key was issued, until one is known that it lacks.
    ...(shapes?.keyRecords === "empty" && (lacksFirstKeysOnly(world) || hasLateKey(world))
      ? ["S5 accounting", "S4 caps"]
      : []),
    // Where the console shows no keys, only a try within the hour tells that one was ended.
    ...(shapes?.keyRecords === "omitted" && world.endedKeys.size > 0 ? ["scenario"] : []),
    // Nor one that a gateway makes in addition, or late.
    ...(shapes?.keyRecords === "omitted" && hasLateKey(world) ? ["S4 caps", "S5 accounting"] : []),
    // What people had declared since the backup, and brought along, is lost with the rest.
    ...(world.hasLostDeclared ? ["L1 declared state"] : []),
    ...(hasForgottenStatus(world) ? ["S16 transitions"] : []),
    // A name alone is no proof that an account is the object's.
    ...(shapes?.accountDescriptions === "omitted" && hasWipedAccount(world)
      ? [...DECLARED, "pending removed"]
      : []),
    ...(isUnwatched(world) ? ["scenario", "same end"] : []),
    ...(isAmbiguous(world) ? DECLARED : []),
    // Whoever has lost three keys in a row waits for a person.
    ...(isCut ? ["scenario"] : []),
    // What is made anew in the middle of a deletion holds up the rest of it.
    ...(isRecreated && name.includes("deleted") ? ["L1 declared state", "L6 deletion"] : []),
  ];
}

/**
 * Whether policies were bound by a call that was done again after its response, or when it was no longer watched for:
 * they are reported as foreign, and stay. If the ServiceAccount is gone by then, nothing reports them.
 */
function isUnwatched({ journal }: SimWorld): boolean {
  return journal.calls.some(
    ({ operation, isPutOff, sentAt, committedAt = 0, fault }) =>
      operation === "syncBindings" &&
      isPutOff &&
      (fault?.kind === "DoubleCommit" || committedAt > sentAt + WATCH_MS),
  );
}

/**
 * Whether creations may have been carried out twice without a readable answer, and an object names the accounts. A
 * description can be forged: a person has to choose.
 */
function isAmbiguous(world: SimWorld): boolean {
  const creations = world.journal.calls.map(({ operation, fault, outcome }) =>
    operation === "createServiceAccount" && outcome !== "201"
      ? (CREATIONS[fault?.kind ?? ""] ?? 0)
      : 0,
  );
  const most = creations.reduce((sum, each) => sum + each, 0);
  const isReported = accountsOf(world).some(
    (each) => readyReason(each) === "AmbiguousServiceAccount",
  );
  return most >= 2 && isReported;
}

/** How many accounts a creation without an answer makes under a fault, at most. */
const CREATIONS: Readonly<Record<string, number>> = {
  DoubleCommit: 2,
  LateCommit: 1,
  Intercept: 1,
};

function readyReason({ status }: ReturnType<typeof accountsOf>[number]): string | undefined {
  return status?.conditions?.find(({ type }) => type === "Ready")?.reason;
}

/**
 * Whether a status may have been written that its writer does not know of, since the answer was lost and so was what
 * else could have told: the next one is made from what was known before.
 */
function hasForgottenStatus({ journal, faults }: SimWorld): boolean {
  const lost = journal.struckCommits.filter(
    ({ operation, fault }) => fault?.kind !== "Slow" && operation.endsWith("/status"),
  );
  return lost.length > 1 || (lost.length === 1 && faults.struck.size > 1);
}

/** Whether an object may have forgotten its account. */
function hasWipedAccount({ faults }: SimWorld): boolean {
  return faults.plan.faults.some(
    (fault) =>
      fault.on === "world" &&
      (fault.event.kind === "Restore" ||
        (fault.event.kind === "WipeStatus" && fault.event.plural === "serviceaccounts")),
  );
}

/** Whether two of the three clocks are wrong: nothing tells which one is right. */
function isTimeUnknown(faults: readonly Fault[]): boolean {
  const wrong = faults.flatMap((fault) =>
    fault.on === "world" && fault.event.kind === "JumpClock" ? (fault.event.of ?? "operator") : [],
  );
  return new Set(wrong).size > 1;
}

/** Which promises a plan ends on purpose. */
export function excusedBy({ faults }: Plan): ReadonlySet<string> {
  const ofClocks = isTimeUnknown(faults) ? ["S4 window", "S16 key times", "S16 transitions"] : [];
  return new Set([
    ...ofClocks,
    ...faults.flatMap((fault) => {
      if (fault.on === "world") return excuses(fault.event);
      if (fault.on === "call") return excusesOfCall(fault);
      return excusesOfWatch(fault.fault.kind);
    }),
  ]);
}

function excusesOfWatch(kind: Extract<Fault, { on: "watch" }>["fault"]["kind"]): readonly string[] {
  // Who is not told can only be late.
  if (kind === "Dropped") return [...LATE, "S5 keys accounted in time", "same end"];
  // Conditions are made from what was known.
  return kind === "Stale" ? ["S16 transitions"] : [];
}

type StruckCall = Extract<Fault, { on: "call" }>;

interface CallRule {
  readonly applies: (operation: string, fault: CallFault) => boolean;
  readonly excuses: readonly string[];
}

const callRules: readonly CallRule[] = [
  {
    // What only a person is expected to change is looked at again after half an hour.
    applies: (operation, fault) =>
      /^patch |[/]status$/.test(operation) && fault.kind === "Refuse" && fault.status === 422,
    excuses: ["L8 news"],
  },
  {
    // What seems to be gone has nothing to be done about it before it is listed again.
    applies: (operation, fault) =>
      operation.startsWith("patch ") && fault.kind === "Refuse" && fault.status === 404,
    excuses: ["L8 news"],
  },
  {
    // Credentials that were gone for a moment are new ones; a Secret that seems to be gone is left to the garbage collector.
    applies: (operation, fault) =>
      operation === "get secrets" && fault.kind === "Refuse" && fault.status === 404,
    excuses: ["S19 logins", "S9 nothing left"],
  },
];

function excusesOfCall({ select: { operation = "" }, fault }: StruckCall): readonly string[] {
  return callRules
    .filter(({ applies }) => applies(operation, fault))
    .flatMap(({ excuses }) => excuses);
}

const LATE = ["L5 repair", "L6 deletion", "L8 news", "S16 transitions"];

/** Invariants about the whole declared state, which is not reached again after a person has removed a part of it. */
const DECLARED = ["L1 declared state", "scenario", "same end"];

function excuses(event: WorldEvent): readonly string[] {
  switch (event.kind) {
    case "DeleteObject":
      // An account that is in use waits until it is not.
      return [
        ...[...DECLARED, "L5 repair", "L6 deletion", "pending removed"],
        // Where it is made anew, it logs in for itself.
        ...(event.plural === "clusterconnections" ? ["S19 logins"] : []),
      ];
    case "EndAccounts":
      // No account is made in its place, and a pair that was not delivered yet stays where it is.
      return event.how === "Delete" ? [...DECLARED, "pending removed"] : [];
    case "WipeStatus":
      return excusesOfWiped(event.plural);
    case "JumpClock":
      // What does harm if it comes too early waits for a server's clock that was set back for good.
      return event.of !== undefined && event.ms < 0 && event.forMs === undefined
        ? ["scenario"]
        : [];
    case "DemandSecondFactor":
      // Nor can be asked what became of a key; one that the console does not accept yet is kept meanwhile.
      return [...DECLARED, "S5 accounting", "pending removed"];
    case "RecreateObject":
      return excusesOfRecreated(event.plural);
    case "EditSecret":
      return event.how === "MakeImmutable" ? [...DECLARED, "pending removed"] : [];
    case "DeleteNamespace":
    case "RemoveFinalizers":
      return DECLARED.slice(1);
    case "Restore":
      // Which keys there were is lost with the rest, when conditions changed, and the lease. A deleted Secret may be back.
      // A connection that was corrected may be wrong again, and a pending pair wait for it.
      return [
        ...["scenario", "same end", ...LATE, "S8 fence", "S9 nothing left", "S18 quiescence"],
        "pending removed",
      ];
    default:
      return [];
  }
}

/** What a PolicyBinding had bound, and which keys there were before the one in the Secret, stands nowhere else. */
function excusesOfWiped(plural: string): readonly string[] {
  // What it had bound is somebody else's from then on.
  if (plural === "policybindings") return ["scenario", "same end"];
  return plural === "apikeys" ? ["scenario"] : [];
}

function excusesOfRecreated(plural: string): readonly string[] {
  switch (plural) {
    case "serviceaccounts":
      // A new one does not take over the account of the old one: that is for a person to decide.
      return [...DECLARED, "L5 repair", "pending removed"];
    case "apikeys":
      // It asks for keys of its own.
      return [...DECLARED.slice(1), "S4 issues"];
    case "clusterconnections":
      // It logs in for itself.
      return [...DECLARED.slice(1), "S19 logins"];
    default:
      return DECLARED.slice(1);
  }
}

/**
 * What a console, or Kubernetes, finds wrong with a request, or that there is no such thing: only a person is expected
 * to change that.
 */
function needsPerson({ faults }: Plan): boolean {
  return faults.some((fault) => {
    if (fault.on !== "call") return false;
    if (ONCE.has(fault.select.operation) && isUnreadable(fault.fault)) return true;
    if (fault.fault.kind !== "Refuse") return false;
    return fault.select.server === "iam"
      ? [403, 404, 422].includes(fault.fault.status)
      : [404, 422].includes(fault.fault.status);
  });
}

/** Calls that are not made again after a response that cannot be read; absent: any call. */
const ONCE: ReadonlySet<string | undefined> = new Set([
  "issueKey",
  "createServiceAccount",
  undefined,
]);

function isUnreadable(fault: CallFault): boolean {
  return fault.kind === "Refuse" ? fault.status < 400 : UNREADABLE.has(fault.kind);
}

const UNREADABLE: ReadonlySet<string> = new Set(["Answer", "Garble", "Huge", "Intercept"]);

/** A person who has seen the conditions asks for another look. */
function askAgain(world: SimWorld): void {
  for (const { kind, object } of world.kube.storage.all) {
    // A look at a connection is a login: only where there is a reason.
    if (!kind.custom || (!kind.type.namespaced && isReady(object))) continue;
    const { name, namespace } = treeAt(object, "metadata");
    const asked = { [annotations.reconcileRequestedAt]: String(world.kernel.elapsed) };
    const change = { metadata: { annotations: asked } };
    world.patch(kind.type, String(name), change, undefined, String(namespace ?? ""));
  }
}

/** What the faults that struck may cost in keys. */
function allowanceOf(world: SimWorld): number {
  const { crashes, faults, journal } = world;
  const lost = journal.struckCommits.filter(({ operation }) => LOSABLE.has(operation)).length;
  // What befalls all objects of a kind, all Secrets, or all issues under way, costs each ApiKey one.
  const each = Math.max(1, world.list(apiKeyType).length);
  const struck = [...faults.struck].filter(costsKey);
  return lost + each * (crashes + struck.length + (hidesEnd(faults.struck) ? 1 : 0));
}

/** A console that refuses the pairs of an account and still lists it as active seems to have ended the keys. */
function hidesEnd(struck: ReadonlySet<Fault>): boolean {
  const kinds = [...struck].map((fault) => (fault.on === "world" ? fault.event.kind : undefined));
  return kinds.includes("EndAccounts") && kinds.includes("ListsBehind");
}

const LOSABLE = new Set(["issueKey", "createServiceAccount"]);
const COSTLY = new Set([
  "DeleteSecret",
  "EditSecret",
  "RecreateObject",
  "DeleteObject",
  "Restore",
  "EndKeys",
]);
/** Whoever loses the lease with a pair in memory may not write it any more. */
const DEPOSING = new Set(["PauseLeader", "StealLease"]);

function costsKey(fault: Fault): boolean {
  if (fault.on === "call") return fault.fault.kind === "Pause";
  return fault.on === "world" && (COSTLY.has(fault.event.kind) || DEPOSING.has(fault.event.kind));
}
