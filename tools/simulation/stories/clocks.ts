/** Wrong clocks: of the operator, the API server and the console, for a while or for good. */
import { apiKeyType, serviceAccountType } from "../../../src/resources/resource-types.ts";
import { DAY, HOUR, MINUTE, parseInstant, SECOND, toIso8601 } from "../../../src/util/time.ts";
import { type Tree, treeAt } from "../../api-server/tree.ts";
import type { ClockOwner } from "../faults.ts";
import { extraCalls } from "../scenarios/console.ts";
import { ACCOUNT, READ } from "../scenarios.ts";
import { grant, withdrawn } from "./in-console.ts";
import { type Story, type StoryWorld, story, unready } from "./story.ts";

const STEPS = { minutes: 7 * MINUTE, hours: 5 * HOUR, days: 70 * DAY } as const;
const withExtraCalls = { console: { extraCalls } } as const;
/** A clock that is off is told of, and what is stored is no longer what it was. */
const STORED = { excuses: ["S16 key times", "S16 transitions"] } as const;

function step(world: StoryWorld, of: ClockOwner, ms: number, forMs?: number): void {
  world.happens({ kind: "JumpClock", of, ms, ...(forMs === undefined ? {} : { forMs }) });
}

/** The operator and the API server have the clock of one machine. */
function stepCluster(world: StoryWorld, ms: number, forMs?: number): void {
  step(world, "operator", ms, forMs);
  step(world, "kube", ms, forMs);
}

/** How far the times of the key in use are from the truth, in whole minutes. */
function offOf(world: StoryWorld, issuedAt: number): number {
  const issueTime = parseInstant(world.key().status?.current?.issueTime) ?? 0;
  return Math.round((issueTime - issuedAt) / MINUTE);
}

/** Writes a status as an operator did whose clock ran ahead. */
function store(world: StoryWorld, status: Tree, type = apiKeyType as never, name = "ci"): void {
  world.sim.meddle(() => world.sim.patch(type, name, { status }, "status"));
  world.happens({ kind: "Kill" });
}

function inFuture(world: StoryWorld, ms = 70 * DAY): string {
  return toIso8601(world.sim.kernel.now + ms);
}

/** Whatever one clock does: nothing is due, and a key that is asked for gets the right times. */
function oneClock(of: ClockOwner, size: keyof typeof STEPS, sign: 1 | -1): Story {
  const ms = sign * STEPS[size];
  const way = sign > 0 ? "ahead" : "behind";
  return story(`one clock that is ${size} ${way} makes nothing due: ${of}`, async (world) => {
    await world.begin();
    step(world, of, ms, 40 * SECOND);
    await world.pass(5 * MINUTE);
    step(world, of, ms);
    await world.pass(20 * MINUTE);
    world.happens({ kind: "Kill" });
    await world.pass(20 * MINUTE);
    world.expect("one key was issued", world.issued, 1);
    const issuedAt = world.sim.kernel.now;
    world.rotate("one");
    await world.pass(2 * MINUTE);
    world.expect("another one on request", world.issued, 2);
    const isClose = size === "minutes" ? [0, sign * 7] : [0];
    world.expect("its times are right", isClose.includes(offOf(world, issuedAt)));
    step(world, of, -ms);
    await world.pass(20 * MINUTE);
    world.expect("no other one", world.issued, 2);
  });
}

const CLOCKS: readonly ClockOwner[] = ["operator", "kube", "iam"];

export const clockStories: readonly Story[] = [
  ...CLOCKS.flatMap((of) =>
    (["minutes", "hours", "days"] as const).flatMap((size) => [
      oneClock(of, size, 1),
      oneClock(of, size, -1),
    ]),
  ),
  story(
    "clocks of a whole cluster that the console contradicts make nothing due",
    async (world) => {
      await world.begin();
      stepCluster(world, 70 * DAY);
      await world.pass(HOUR);
      world.happens({ kind: "Kill" });
      await world.pass(HOUR);
      world.expect("one key was issued", world.issued, 1);
      stepCluster(world, -70 * DAY);
      await world.pass(HOUR);
      world.expect("and no other one", world.issued, 1);
    },
  ),
  story(
    "an overlap is over when no clock contradicts that",
    async (world) => {
      await world.begin({ connection: { extraCalls }, key: { rotation: { overlap: "24h" } } });
      world.rotate("one");
      await world.pass(MINUTE);
      stepCluster(world, 2 * DAY, HOUR);
      await world.pass(2 * HOUR);
      world.expect("both keys work", world.live.length, 2);
      step(world, "operator", 2 * DAY);
      await world.pass(20 * HOUR);
      world.expect("still", world.live.length, 2);
      await world.pass(3 * HOUR);
      world.expect("the first one is ended after a day", world.live.length, 1);
    },
    withExtraCalls,
  ),
  story("a console whose clock is behind for good lets no key expire", async (world) => {
    await world.begin({ key: { expiresInDays: 1 } });
    step(world, "iam", -12 * HOUR);
    await world.pass(20 * HOUR);
    world.expect("the first key waits for all clocks", world.issued, 1);
    await world.pass(3 * HOUR);
    world.expect("but not into its last tenth", world.issued, 2);
    await world.pass(17 * HOUR);
    world.expect("later, the clock of the console is overruled", world.issued, 3);
  }),
  story(
    "times that an operator ahead of time has stored are corrected when they are seen",
    async (world) => {
      await world.begin();
      const issuedAt = world.sim.kernel.now;
      const current = world.key().status?.current;
      const ahead = inFuture(world);
      store(world, {
        current: {
          ...current,
          issueTime: ahead,
          verificationTime: ahead,
          expirationTime: inFuture(world, 160 * DAY),
        },
        recentIssues: Array(4).fill({ time: ahead }),
      });
      await world.pass(6 * MINUTE);
      world.expect("the issue", Math.abs(offOf(world, issuedAt)) <= 6);
      const expiry = parseInstant(world.key().status?.current?.expirationTime) ?? 0;
      world.expect("the expiry", Math.round((expiry - issuedAt) / DAY), 90);
      world.expect(
        "the end of the day",
        (parseInstant(world.key().status?.recentIssues?.[0]?.time) ?? 0) <= world.sim.kernel.now,
      );
      const conditions = world.key().status?.conditions ?? [];
      world.expect("no more keys today", world.issued, 1);
      world.expect("still Ready", conditions.find(({ type }) => type === "Ready")?.status, "True");
    },
    STORED,
  ),
  story(
    "a key that was ended is noticed though lists and checks are said to lie ahead",
    async (world) => {
      await world.begin();
      store(world, { lastKeyListTime: inFuture(world) }, serviceAccountType as never, ACCOUNT);
      store(world, {
        current: { ...world.key().status?.current, verificationTime: inFuture(world) },
      });
      await world.pass(6 * MINUTE);
      const [keyId = ""] = world.live;
      world.sim.deleteKeyInConsole(keyId);
      await world.pass(7 * MINUTE);
      world.expect("another key is in use", world.live.includes(keyId), false);
      world.expect("and works", world.live, [world.secret().keyId]);
    },
    STORED,
  ),
  withdrawn("a grace period is over when no clock contradicts that", async (world) => {
    await world.begin({ policyIds: [READ], connection: { withdrawalGracePeriod: "6h" } });
    await world.pass(MINUTE);
    grant(world, "Nothing");
    await world.pass(MINUTE);
    stepCluster(world, DAY, HOUR);
    await world.pass(2 * HOUR);
    world.expect("bound", world.bound, [READ]);
    step(world, "operator", DAY);
    await world.pass(3 * HOUR);
    world.expect("still bound", world.bound, [READ]);
    await world.pass(2 * HOUR);
    world.expect("unbound after the grace period", world.bound, []);
  }),
  withdrawn(
    "a grace period that is said to begin in the future begins when that is seen",
    async (world) => {
      await world.begin({ policyIds: [READ], connection: { withdrawalGracePeriod: "6h" } });
      await world.pass(MINUTE);
      grant(world, "Nothing");
      await world.pass(MINUTE);
      const status = treeAt(world.sim.get(serviceAccountType, ACCOUNT) ?? {}, "status");
      const bindings = { ...treeAt(status, "bindings"), ungrantedTime: inFuture(world) };
      store(world, { bindings }, serviceAccountType as never, ACCOUNT);
      await world.pass(5 * HOUR);
      world.expect("bound", world.bound, [READ]);
      await world.pass(2 * HOUR);
      world.expect("unbound after the grace period", world.bound, []);
    },
  ),
  unready(
    "a deletion does not give up early because of one clock",
    async (world) => {
      await world.begin({ connection: { extraCalls } });
      world.fault("deleteKey", { kind: "Refuse", status: 503 }, 10_000);
      world.fault("disableKey", { kind: "Refuse", status: 503 }, 10_000);
      world.sim.delete(apiKeyType, "ci");
      await world.pass(MINUTE);
      step(world, "operator", 2 * DAY);
      await world.pass(5 * MINUTE);
      world.expect("the object waits", world.sim.get(apiKeyType, "ci") !== undefined);
      await world.pass(30 * MINUTE);
      world.expect("and goes in time", world.sim.get(apiKeyType, "ci"), undefined);
    },
    withExtraCalls,
  ),
];
