import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { isKubeError, KubeError } from "../../../src/kube/errors.ts";
import {
  createLeaderElection,
  type LeaderElection,
  type LeadershipEnd,
  noElection,
  UNKNOWN_HOLDER,
} from "../../../src/kube/leader-election.ts";
import { leaseType } from "../../../src/kube/resource-types.ts";
import { silentLog } from "../../../src/util/log.ts";
import { type Random, systemRandom } from "../../../src/util/random.ts";
import { systemClock } from "../../../src/util/time.ts";
import { type ControlPlane, startControlPlane } from "../../cluster/control-plane.ts";
import { effort } from "../../setup/effort.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { LeaseServer, Process, type ProcessTraits } from "../../unit/kube/lease-world.ts";
import { connect } from "./real-cluster.ts";

const MUTATION_MS = 5_000;

interface Candidate {
  readonly process: Process;
  readonly election: LeaderElection;
  readonly stop: AbortController;
  readonly end: Promise<LeadershipEnd>;
  started: boolean;
  ended: LeadershipEnd | undefined;
}

function setUp() {
  const clock = createFakeClock();
  const server = new LeaseServer();
  const lines: { readonly message: string; readonly fields: object }[] = [];
  const record = (fields: object, message: string) => void lines.push({ message, fields });
  const log = { ...silentLog, info: record, warn: record };
  const start = (identity: string, traits: ProcessTraits = {}, random: Random = systemRandom) => {
    const process = new Process(clock, server, traits);
    const election = createLeaderElection({
      client: process.client,
      namespace: "iam",
      name: "iam-operator",
      identity,
      clock: process.clock,
      random,
      log,
    });
    const stop = new AbortController();
    const candidate: Candidate = {
      process,
      election,
      stop,
      started: false,
      ended: undefined,
      end: election.run({
        signal: stop.signal,
        onStartedLeading: () => {
          candidate.started = true;
        },
      }),
    };
    void candidate.end.then((end) => {
      candidate.ended = end;
    });
    return candidate;
  };
  return { clock, server, start, lines };
}

function mayMutate(election: LeaderElection, ms = MUTATION_MS): boolean {
  try {
    election.assertMayMutate(ms);
    return true;
  } catch (error) {
    expect(isKubeError(error, "NotLeading")).toBe(true);
    return false;
  }
}

describe("leader election", () => {
  test("gives the lease to one of two", async () => {
    const { clock, server, start } = setUp();
    const a = start("a");
    await clock.advance(100);
    const b = start("b");
    await clock.advance(60_000);
    expect([a.election.isLeader, b.election.isLeader, b.started]).toEqual([true, false, false]);
    expect(server.holders).toEqual(["a"]);
    expect(server.lease?.spec).toEqual({
      holderIdentity: "a",
      leaseDurationSeconds: 15,
      acquireTime: "2026-01-01T00:00:00.010000Z",
      renewTime: expect.stringMatching(/^2026-01-01T00:00:5\d\.\d{6}Z$|^2026-01-01T00:01:0/),
      leaseTransitions: 8,
    });
  });

  test("lets a standby act within 17 seconds of the leader's death (L4)", async () => {
    const { clock, start } = setUp();
    const a = start("a");
    await clock.advance(1_000);
    const b = start("b");
    await clock.advance(30_000);
    a.process.pause();
    const diedAt = clock.monotonic();
    while (!b.started) await clock.advance(50);
    expect(clock.monotonic() - diedAt).toBeLessThanOrEqual(17_100);
    expect(clock.monotonic() - diedAt).toBeGreaterThan(13_000);
  });

  test("lets a standby act within 3 seconds of a graceful stop (L4)", async () => {
    const { clock, server, start } = setUp();
    const a = start("a");
    await clock.advance(1_000);
    const b = start("b");
    await clock.advance(30_000);
    a.stop.abort();
    await clock.advance(3_000);
    expect([await a.end, a.election.isLeader, b.election.isLeader]).toEqual([
      "Stopped",
      false,
      true,
    ]);
    expect(server.holders).toEqual(["a", "", "b"]);
    expect(server.lease?.spec?.leaseTransitions).toBe(9);
  });

  test("releases with an empty holder and a duration of one second", async () => {
    const { clock, server, start } = setUp();
    const a = start("a");
    await clock.advance(1_000);
    a.stop.abort();
    await clock.advance(100);
    expect(server.lease?.spec).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1 });
  });

  test("survives an outage that is shorter than the renew deadline", async () => {
    const { clock, start } = setUp();
    const a = start("a");
    await clock.advance(10_000);
    a.process.network = "down";
    await clock.advance(6_000);
    a.process.network = "up";
    await clock.advance(60_000);
    expect([a.election.isLeader, a.ended]).toEqual([true, undefined]);
  });

  test("survives a single call that hangs, and a single lost answer", async () => {
    const { clock, start } = setUp();
    const a = start("a");
    for (const network of ["hanging", "answersLost"] as const) {
      await clock.advance(10_000);
      a.process.network = network;
      await clock.advance(2_100);
      a.process.network = "up";
    }
    await clock.advance(20_000);
    expect([a.election.isLeader, a.ended]).toEqual([true, undefined]);
  });

  test.each([
    [4_000, 4_000],
    [60_000, 5_000],
  ])("asked to wait %i ms, it tries again after %i and goes on leading", async (asked, waited) => {
    const { clock, start } = setUp();
    const { process, election } = start("a");
    await clock.advance(10_000);
    process.retryAfterMs = asked;
    const before = process.sentAt.length;
    while (process.sentAt.length === before) await clock.advance(10);
    process.retryAfterMs = undefined;
    await clock.advance(30_000);
    const [refused = 0, next = 0] = process.sentAt.slice(before);
    expect(next - refused).toBeGreaterThanOrEqual(waited);
    expect(next - refused).toBeLessThan(waited + 100);
    expect(election.isLeader).toBe(true);
  });

  test("ends when the lease could not be renewed for the renew deadline", async () => {
    const { clock, start } = setUp();
    const a = start("a");
    await clock.advance(10_000);
    a.process.network = "hanging";
    await clock.advance(10_100);
    expect([await a.end, a.ended, a.election.isLeader]).toEqual(["Lost", "Lost", false]);
  });

  test("refuses a mutation that could outlast the renew deadline, counted from before the renewal was sent", async () => {
    const { clock, start } = setUp();
    const a = start("a", { latencyMs: 500 });
    expect(mayMutate(a.election, 0)).toBe(false);
    // Two calls of a second each; the renewal counts from the first of them.
    await clock.advance(2_000);
    expect([mayMutate(a.election, 8_000), mayMutate(a.election, 8_001)]).toEqual([true, false]);
    a.process.network = "down";
    await clock.advance(3_000);
    expect([mayMutate(a.election, 5_000), mayMutate(a.election, 5_001)]).toEqual([true, false]);
  });

  test("never mutates again after a pause longer than the lease (F3)", async () => {
    const { clock, start } = setUp();
    const a = start("a");
    await clock.advance(1_000);
    const b = start("b");
    await clock.advance(10_000);
    a.process.pause();
    await clock.advance(30_000);
    expect(mayMutate(a.election)).toBe(false);
    a.process.resume();
    await clock.advance(10);
    expect([mayMutate(a.election), a.ended, b.election.isLeader]).toEqual([false, "Lost", true]);
  });

  test("pays no heed to wall clocks", async () => {
    const { clock, start } = setUp();
    const a = start("a", { skewMs: -3_600_000 });
    await clock.advance(1_000);
    const b = start("b", { skewMs: 86_400_000 });
    await clock.advance(60_000);
    expect([a.election.isLeader, b.started]).toEqual([true, false]);
  });

  test("waits for the holder even when somebody deletes the lease", async () => {
    const { clock, server, start } = setUp();
    const a = start("a");
    await clock.advance(1_000);
    const b = start("b");
    await clock.advance(10_000);
    a.process.network = "down";
    server.lease = undefined;
    await clock.advance(15_000);
    expect([a.ended, b.started]).toEqual(["Lost", false]);
    await clock.advance(2_100);
    expect(b.election.isLeader).toBe(true);
  });

  test("a leader whose lease was deleted goes on leading, whoever created it anew", async () => {
    const { clock, server, start } = setUp();
    const a = start("a");
    await clock.advance(1_000);
    const standby = start("b");
    await clock.advance(10_000);
    server.lease = undefined;
    const newcomer = start("c");
    await clock.advance(60_000);
    expect([a.election.isLeader, standby.started, newcomer.started]).toEqual([true, false, false]);
    expect(server.holders).toEqual(["a", UNKNOWN_HOLDER, "a"]);
  });

  test("who never saw a holder does not lead at once on a lease that vanished", async () => {
    const { clock, server, start } = setUp();
    const a = start("a");
    await clock.advance(10_000);
    a.process.network = "hanging";
    server.lease = undefined;
    const newcomer = start("b");
    await clock.advance(14_900);
    expect([a.ended, newcomer.started]).toEqual(["Lost", false]);
    await clock.advance(200);
    expect(newcomer.election.isLeader).toBe(true);
  });

  test("of two that find no lease, one leads, after the duration of a lease", async () => {
    const { clock, server, start } = setUp();
    server.lease = undefined;
    const both = [start("a"), start("b")];
    await clock.advance(14_900);
    expect([server.lease, both.map(({ started }) => started)]).toMatchObject([
      { spec: { holderIdentity: UNKNOWN_HOLDER } },
      [false, false],
    ]);
    await clock.advance(2_100);
    expect(both.filter(({ election }) => election.isLeader)).toHaveLength(1);
  });

  test("says once whom it waits for, and for how long at most", async () => {
    const { clock, start, lines } = setUp();
    start("a");
    await clock.advance(1_000);
    start("b");
    await clock.advance(10_000);
    expect(lines.filter(({ message }) => message === "waiting for the lease")).toEqual([
      {
        message: "waiting for the lease",
        fields: { lease: "iam/iam-operator", holder: "a", expiresInSeconds: 15 },
      },
    ]);
  });

  function startWithoutNamespace() {
    const { clock, server, start, lines } = setUp();
    server.lease = undefined;
    server.create = () => {
      throw new KubeError("NotFound", 'namespaces "iam" not found');
    };
    start("a");
    return { clock, lines };
  }

  test("names the command that creates a missing namespace", async () => {
    const { clock, lines } = startWithoutNamespace();
    await clock.advance(1_000);
    expect(lines).toContainEqual({
      message: "the operator's namespace does not exist",
      fields: { namespace: "iam", fix: "kubectl create namespace iam" },
    });
  });

  test("repeats the same failure once a minute", async () => {
    const { clock, lines } = startWithoutNamespace();
    await clock.advance(50_000);
    expect(lines).toHaveLength(1);
    await clock.advance(20_000);
    expect(lines).toHaveLength(2);
  });

  test("stops waiting when asked to", async () => {
    const { clock, server, start } = setUp();
    start("a");
    await clock.advance(1_000);
    const b = start("b");
    await clock.advance(1_000);
    b.stop.abort();
    await clock.settle();
    expect([await b.end, b.started, server.holders]).toEqual(["Stopped", false, ["a"]]);
  });
});

test("a leader that is told to stop while a renewal is under way may mutate nothing from then on", async () => {
  const { clock, start } = setUp();
  const a = start("a", { latencyMs: 1_000 });
  await clock.advance(30_000);
  expect([a.election.isLeader, mayMutate(a.election, 0)]).toEqual([true, true]);
  const renewals = a.process.sentAt.length;
  while (a.process.sentAt.length === renewals) await clock.advance(100);
  a.stop.abort();
  const allowed: boolean[] = [];
  for (let waited = 0; a.ended === undefined && waited < 100; waited += 1) {
    allowed.push(a.election.isLeader || mayMutate(a.election, 0));
    await clock.advance(100);
  }
  expect(allowed.length).toBeGreaterThan(10);
  expect(allowed).not.toContain(true);
  expect(a.ended).toBe("Stopped");
});

describe("without an election", () => {
  test("a process leads until it stops", async () => {
    const status: boolean[] = [];
    const election = noElection((leading) => status.push(leading));
    const stop = new AbortController();
    let led = false;
    const end = election.run({
      signal: stop.signal,
      onStartedLeading: () => {
        led = true;
      },
    });
    expect([led, election.isLeader, mayMutate(election)]).toEqual([true, true, true]);
    stop.abort();
    expect([await end, election.isLeader, mayMutate(election)]).toEqual(["Stopped", false, false]);
    expect(status).toEqual([true, false]);
  });
});

interface Trouble {
  readonly who: number;
  readonly what: "pause" | "down" | "answersLost" | "hanging" | "stop" | "delete";
  readonly afterMs: number;
  readonly forMs: number;
}

const trouble: fc.Arbitrary<Trouble> = fc.record({
  who: fc.nat(2),
  what: fc.constantFrom("pause", "down", "answersLost", "hanging", "stop", "delete"),
  afterMs: fc.integer({ min: 0, max: 12_000 }),
  forMs: fc.integer({ min: 100, max: 40_000 }),
});
const traits = fc.record({
  rate: fc.double({ min: 0.9, max: 1.1, noNaN: true }),
  skewMs: fc.integer({ min: -86_400_000, max: 86_400_000 }),
  latencyMs: fc.integer({ min: 1, max: 1_500 }),
});

interface Mutation {
  readonly who: number;
  readonly from: number;
  readonly to: number;
}

/** Three candidates that mutate whenever they may, and the record of it. */
class Watched {
  readonly #world = setUp();
  readonly #traits: readonly Required<ProcessTraits>[];
  readonly #candidates: readonly Candidate[];
  #mutations: readonly Mutation[] = [];

  constructor(each: readonly Required<ProcessTraits>[]) {
    this.#traits = each;
    this.#candidates = each.map((its, n) => this.#world.start(`candidate-${n}`, its));
  }

  async watch(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      await this.#world.clock.advance(500);
      for (const who of this.#candidates.keys()) this.#mutate(who);
    }
  }

  strike({ who, what, forMs }: Trouble): void {
    const { clock } = this.#world;
    const { process, stop } = this.#candidates[who]!;
    if (what === "stop") {
      // The operator ends its mutations before it lets the lease go.
      const now = clock.monotonic();
      this.#mutations = this.#mutations.map((each) =>
        each.who === who ? { ...each, to: Math.min(each.to, now) } : each,
      );
      stop.abort();
    } else if (what === "delete") {
      this.#world.server.lease = undefined;
    } else if (what === "pause") {
      process.pause();
      clock.setTimer(forMs, () => process.resume());
    } else {
      process.network = what;
      clock.setTimer(forMs, () => {
        process.network = "up";
      });
    }
  }

  /** Mutations of different candidates that overlap. */
  overlaps(): readonly Mutation[] {
    return this.#mutations.filter((a) =>
      this.#mutations.some((b) => b.who !== a.who && a.from < b.to && b.from < a.to),
    );
  }

  get total(): number {
    return this.#mutations.length;
  }

  #mutate(who: number): void {
    const { process, election } = this.#candidates[who]!;
    if (!process.awake || !mayMutate(election)) return;
    const from = this.#world.clock.monotonic();
    // Measured by the process's own clock.
    const to = from + MUTATION_MS / this.#traits[who]!.rate;
    this.#mutations = [...this.#mutations, { who, from, to }];
  }
}

test("whatever happens to clocks, processes and network, no mutations of two leaders overlap (S8)", async () => {
  let total = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(traits, traits, traits),
      fc.array(trouble, { maxLength: 8 }),
      async (each, troubles) => {
        const watched = new Watched(each);
        for (const one of troubles) {
          await watched.watch(one.afterMs);
          watched.strike(one);
        }
        await watched.watch(40_000);
        expect(watched.overlaps()).toEqual([]);
        total += watched.total;
      },
    ),
    { numRuns: 60 * effort },
  );
  expect(total).toBeGreaterThan(1_000);
});

describe("on a real API server", () => {
  let cluster: ControlPlane;

  beforeAll(async () => {
    cluster = await startControlPlane({ controllerManager: false });
  }, 900_000);
  afterAll(() => cluster?.stop());

  /** Half-second timings, so that a takeover is quick to see. */
  const timings = { leaseMs: 3_000, renewDeadlineMs: 2_000, retryMs: 500 };

  async function start(identity: string, log: string[]) {
    const { client, transport } = await connect(cluster.kubeconfig);
    const stop = new AbortController();
    const election = createLeaderElection({
      client,
      namespace: "default",
      name: "iam-operator",
      identity,
      timings,
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
    });
    const end = election.run({
      signal: stop.signal,
      onStartedLeading: () => log.push(`${identity} leads`),
    });
    void end.then((how) => log.push(`${identity} ${how}`));
    return { client, election, stop, end, close: () => transport.close() };
  }

  test("one leads, and another goes on when it stops or when its lease is taken away", async () => {
    const log: string[] = [];
    const a = await start("a", log);
    await vi.waitFor(() => expect(log).toEqual(["a leads"]), 10_000);
    const b = await start("b", log);
    await systemClock.sleep(2 * timings.leaseMs);
    expect([log, a.election.isLeader, b.election.isLeader]).toEqual([["a leads"], true, false]);

    a.stop.abort();
    expect(await a.end).toBe("Stopped");
    await vi.waitFor(() => expect(log.slice(1)).toEqual(["a Stopped", "b leads"]), 3_000);

    await b.client.mergePatch(
      leaseType,
      { namespace: "default", name: "iam-operator" },
      { spec: { holderIdentity: "thief" } },
    );
    expect(await b.end).toBe("Lost");
    expect(mayMutate(b.election, 0)).toBe(false);

    const c = await start("c", log);
    await vi.waitFor(() => expect(log.at(-1)).toBe("c leads"), 2 * timings.leaseMs);
    const lease = await c.client.get(leaseType, { namespace: "default", name: "iam-operator" });
    expect(lease?.spec).toMatchObject({ holderIdentity: "c", leaseDurationSeconds: 3 });
    c.stop.abort();
    await c.end;
    await Promise.all([a, b, c].map((each) => each.close()));
  });
});

describe("what a leader leaves to the next one", () => {
  test("is written with its renewals, and stays until the next one has taken it", async () => {
    const clock = createFakeClock();
    const server = new LeaseServer();
    const start = (identity: string, left: () => string | undefined) => {
      const process = new Process(clock, server, {});
      const taken: (string | undefined)[] = [];
      const stop = new AbortController();
      const election = createLeaderElection({
        client: process.client,
        namespace: "iam",
        name: "iam-operator",
        identity,
        clock: process.clock,
        random: systemRandom,
        log: silentLog,
        handover: {
          take: ({ note }) => taken.push(note),
          leave: () => ({ note: left() }),
        },
      });
      const end = election.run({ signal: stop.signal, onStartedLeading: () => undefined });
      return { taken, stop, end };
    };
    let note: string | undefined;
    const first = start("a", () => note);
    await clock.advance(60_000);
    expect(first.taken).toEqual([undefined]);
    note = "1";
    await clock.advance(5_000);
    const second = start("b", () => undefined);
    await clock.advance(5_000);
    expect(second.taken).toEqual([]);
    note = "2";
    first.stop.abort();
    await clock.advance(20_000);
    await first.end;
    expect(second.taken).toEqual(["2"]);
    await clock.advance(5_000);
    second.stop.abort();
    await clock.advance(1_000);
    await second.end;
    const third = start("c", () => undefined);
    await clock.advance(20_000);
    expect(third.taken).toEqual([undefined]);
    third.stop.abort();
    await clock.advance(1_000);
    await third.end;
  });
});
