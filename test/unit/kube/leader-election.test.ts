import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isKubeError } from "../../../src/kube/errors.ts";
import {
  createLeaderElection,
  type ElectionOptions,
  type Handover,
  type LeaderElection,
  type LeadershipEnd,
  noElection,
  UNKNOWN_HOLDER,
} from "../../../src/kube/leader-election.ts";
import { type Lease, leaseType } from "../../../src/kube/resource-types.ts";
import { silentLog } from "../../../src/util/log.ts";
import { textAt, treeAt } from "../../../tools/api-server/tree.ts";
import type { CallFault } from "../../../tools/simulation/faults.ts";
import { effort } from "../../setup/effort.ts";
import { type KubeProcess, KubeWorld, type ProcessTraits } from "../../support/kube-world.ts";

const MUTATION_MS = 5_000;
const LEASE = { namespace: "iam", name: "iam-operator" };

const DOWN: CallFault = { kind: "Reset", when: "BeforeCommit" };
const HANGING: CallFault = { kind: "Silence", when: "BeforeCommit" };
const ANSWERS_LOST: CallFault = { kind: "Reset", when: "AfterCommit" };
const LATE: CallFault = { kind: "LateCommit", ms: 25_000 };

interface Candidate extends KubeProcess {
  readonly election: LeaderElection;
  readonly stop: AbortController;
  readonly end: Promise<LeadershipEnd>;
  started: boolean;
  ended: LeadershipEnd | undefined;
}

function setUp({ hasNamespace = true } = {}) {
  const world = new KubeWorld();
  const { kernel, cluster, journal } = world;
  // Released, as by an operator that has stopped.
  const released = { holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 7 };
  if (hasNamespace) cluster.put(leaseType, { metadata: LEASE, spec: released });
  const holders: string[] = [];
  cluster.server.storage.subscribe(({ type, object }) => {
    const holder = textAt(treeAt(object, "spec"), "holderIdentity") ?? "";
    if (type !== "DELETED" && holder !== holders.at(-1)) holders.push(holder);
  });
  const lines: { readonly message: string; readonly fields: object }[] = [];
  const record = (fields: object, message: string) => void lines.push({ message, fields });
  const log = { ...silentLog, info: record, warn: record };
  const start = (
    identity: string,
    traits: ProcessTraits = {},
    options: Pick<ElectionOptions, "handover"> = {},
  ) => {
    const its = world.start(identity, traits);
    const { process, client } = its;
    const { clock, random } = process;
    const election = createLeaderElection({
      client,
      ...LEASE,
      identity,
      clock,
      random,
      log,
      ...options,
    });
    const stop = new AbortController();
    const candidate: Candidate = {
      ...its,
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
  return {
    kernel,
    start,
    lines,
    holders,
    lease: (): Lease | undefined => cluster.peek(leaseType, LEASE),
    takeLease: (holderIdentity: string) => {
      const { metadata: _, ...taken } = cluster.peek(leaseType, LEASE) ?? {};
      cluster.put(leaseType, {
        ...taken,
        metadata: LEASE,
        spec: { holderIdentity, leaseDurationSeconds: 15 },
      });
    },
    deleteLease: () => {
      if (cluster.peek(leaseType, LEASE) !== undefined) cluster.remove(leaseType, LEASE);
    },
    sentAt: (name: string) =>
      journal.calls.flatMap(({ process, sentAt }) => (process === name ? [sentAt] : [])),
  };
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
    const { kernel, start, holders, lease } = setUp();
    const a = start("a");
    await kernel.advance(100);
    const b = start("b");
    await kernel.advance(60_000);
    expect([a.election.isLeader, b.election.isLeader, b.started]).toEqual([true, false, false]);
    expect(holders).toEqual(["a"]);
    expect(lease()?.spec).toEqual({
      holderIdentity: "a",
      leaseDurationSeconds: 15,
      acquireTime: "2026-01-01T00:00:00.010000Z",
      renewTime: expect.stringMatching(/^2026-01-01T00:00:5\d\.\d{6}Z$|^2026-01-01T00:01:0/),
      leaseTransitions: 8,
    });
  });

  test("lets a standby act within 17 seconds of the leader's death (L4)", async () => {
    const { kernel, start } = setUp();
    const a = start("a");
    await kernel.advance(1_000);
    const b = start("b");
    await kernel.advance(30_000);
    a.process.pause();
    const diedAt = kernel.elapsed;
    while (!b.started) await kernel.advance(50);
    expect(kernel.elapsed - diedAt).toBeLessThanOrEqual(17_100);
    expect(kernel.elapsed - diedAt).toBeGreaterThan(13_000);
  });

  // The monotonic clock stands still while a machine is suspended, so the wall clock alone advances.
  test.each([5_000, 7_200_000])(
    "mutates nothing after %i ms of suspension until the lease is renewed (S8)",
    async (suspendedMs) => {
      const { kernel, start } = setUp();
      const a = start("a");
      await kernel.advance(30_000);
      expect(mayMutate(a.election)).toBe(true);
      a.process.clock.jump(suspendedMs);
      expect([a.election.isLeader, mayMutate(a.election)]).toEqual([true, false]);
      await kernel.advance(2_100);
      expect(mayMutate(a.election)).toBe(true);
    },
  );

  test("a lease that was taken during a suspension is lost without a mutation (S8)", async () => {
    const { kernel, start, takeLease } = setUp();
    const a = start("a");
    await kernel.advance(30_000);
    takeLease("b");
    a.process.clock.jump(3_600_000);
    let mutations = 0;
    for (let waited = 0; waited < 5_000; waited += 100) {
      if (mayMutate(a.election)) mutations += 1;
      await kernel.advance(100);
    }
    expect([mutations, await a.end]).toEqual([0, "Lost"]);
  });

  test.each([-7_200_000, -5_000, 900])("goes on after its clock was set by %i ms", async (ms) => {
    const { kernel, start } = setUp();
    const a = start("a");
    await kernel.advance(30_000);
    a.process.clock.jump(ms);
    expect(mayMutate(a.election)).toBe(true);
  });

  test("lets a standby act within 3 seconds of a graceful stop (L4)", async () => {
    const { kernel, start, holders, lease } = setUp();
    const a = start("a");
    await kernel.advance(1_000);
    const b = start("b");
    await kernel.advance(30_000);
    a.stop.abort();
    await kernel.advance(100);
    expect(lease()?.spec).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1 });
    await kernel.advance(2_900);
    expect([await a.end, a.election.isLeader, b.election.isLeader]).toEqual([
      "Stopped",
      false,
      true,
    ]);
    expect(holders).toEqual(["a", "", "b"]);
    expect(lease()?.spec?.leaseTransitions).toBe(9);
  });

  test("a release that arrives late takes the lease from no one", async () => {
    const { kernel, start, holders } = setUp();
    const a = start("a");
    const b = start("b");
    await kernel.advance(30_000);
    const [leader, standby] = a.election.isLeader ? [a, b] : [b, a];
    // The leader does not know the version of the lease after this.
    leader.faults.call = DOWN;
    await kernel.advance(2_100);
    leader.faults.call = LATE;
    leader.stop.abort();
    await kernel.advance(60_000);
    expect([standby.election.isLeader, standby.ended]).toEqual([true, undefined]);
    expect(holders).toHaveLength(2);
  });

  test.each<[string, number, ...CallFault[]]>([
    ["an outage that is shorter than the renew deadline", 6_000, DOWN],
    ["a single call that hangs, and a single lost answer", 2_100, HANGING, ANSWERS_LOST],
  ])("survives %s", async (_, forMs, ...faults) => {
    const { kernel, start } = setUp();
    const a = start("a");
    for (const fault of faults) {
      await kernel.advance(10_000);
      a.faults.call = fault;
      await kernel.advance(forMs);
      a.faults.call = undefined;
    }
    await kernel.advance(60_000);
    expect([a.election.isLeader, a.ended]).toEqual([true, undefined]);
  });

  test.each([
    [4_000, 4_000],
    [60_000, 5_000],
  ])("asked to wait %i ms, it tries again after %i and goes on leading", async (asked, waited) => {
    const { kernel, start, sentAt } = setUp();
    const { faults, election } = start("a");
    await kernel.advance(10_000);
    faults.call = { kind: "Refuse", status: 429, retryAfter: asked / 1_000 };
    const before = sentAt("a").length;
    while (sentAt("a").length === before) await kernel.advance(10);
    faults.call = undefined;
    await kernel.advance(30_000);
    const [refused = 0, next = 0] = sentAt("a").slice(before);
    expect(next - refused).toBeGreaterThanOrEqual(waited);
    expect(next - refused).toBeLessThan(waited + 100);
    expect(election.isLeader).toBe(true);
  });

  test("ends when the lease could not be renewed for the renew deadline", async () => {
    const { kernel, start } = setUp();
    const a = start("a");
    await kernel.advance(10_000);
    a.faults.call = HANGING;
    await kernel.advance(10_100);
    expect([await a.end, a.ended, a.election.isLeader]).toEqual(["Lost", "Lost", false]);
  });

  test("refuses a mutation that could outlast the renew deadline, counted from before the renewal was sent", async () => {
    const { kernel, start } = setUp();
    const a = start("a", { latencyMs: 500 });
    expect(mayMutate(a.election, 0)).toBe(false);
    // Two calls of a second each; the renewal counts from the first of them.
    await kernel.advance(2_000);
    expect([mayMutate(a.election, 8_000), mayMutate(a.election, 8_001)]).toEqual([true, false]);
    a.faults.call = DOWN;
    await kernel.advance(3_000);
    expect([mayMutate(a.election, 5_000), mayMutate(a.election, 5_001)]).toEqual([true, false]);
  });

  test("a leader whose lease was deleted goes on leading, whoever created it anew", async () => {
    const { kernel, start, holders, deleteLease } = setUp();
    const a = start("a");
    await kernel.advance(1_000);
    const standby = start("b");
    await kernel.advance(10_000);
    deleteLease();
    const newcomer = start("c");
    await kernel.advance(60_000);
    expect([a.election.isLeader, standby.started, newcomer.started]).toEqual([true, false, false]);
    expect(holders).toEqual(["a", UNKNOWN_HOLDER, "a"]);
  });

  test("of two that find no lease, one leads, after the duration of a lease", async () => {
    const { kernel, start, lease, deleteLease } = setUp();
    deleteLease();
    const both = [start("a"), start("b")];
    await kernel.advance(14_900);
    expect([lease(), both.map(({ started }) => started)]).toMatchObject([
      { spec: { holderIdentity: UNKNOWN_HOLDER } },
      [false, false],
    ]);
    await kernel.advance(2_100);
    expect(both.filter(({ election }) => election.isLeader)).toHaveLength(1);
  });

  test("says once whom it waits for, and for how long at most", async () => {
    const { kernel, start, lines } = setUp();
    start("a");
    await kernel.advance(1_000);
    start("b");
    await kernel.advance(10_000);
    expect(lines.filter(({ message }) => message === "waiting for the lease")).toEqual([
      {
        message: "waiting for the lease",
        fields: { lease: "iam/iam-operator", holder: "a", expiresInSeconds: 15 },
      },
    ]);
  });

  test("names the command that creates a missing namespace, once a minute", async () => {
    const { kernel, start, lines } = setUp({ hasNamespace: false });
    const line = {
      message: "the operator's namespace does not exist",
      fields: { namespace: "iam", fix: "kubectl create namespace iam" },
    };
    start("a");
    await kernel.advance(50_000);
    expect(lines).toEqual([line]);
    await kernel.advance(20_000);
    expect(lines).toEqual([line, line]);
  });

  test("stops waiting when asked to", async () => {
    const { kernel, start, holders } = setUp();
    start("a");
    await kernel.advance(1_000);
    const b = start("b");
    await kernel.advance(1_000);
    b.stop.abort();
    await kernel.advance(0);
    expect([await b.end, b.started, holders]).toEqual(["Stopped", false, ["a"]]);
  });
});

test("a leader that is told to stop while a renewal is under way may mutate nothing from then on", async () => {
  const { kernel, start, sentAt } = setUp();
  const a = start("a", { latencyMs: 1_000 });
  await kernel.advance(30_000);
  expect([a.election.isLeader, mayMutate(a.election, 0)]).toEqual([true, true]);
  const renewals = sentAt("a").length;
  while (sentAt("a").length === renewals) await kernel.advance(100);
  a.stop.abort();
  const allowed: boolean[] = [];
  for (let waited = 0; a.ended === undefined && waited < 100; waited += 1) {
    allowed.push(a.election.isLeader || mayMutate(a.election, 0));
    await kernel.advance(100);
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
  readonly what: CallFault | "pause" | "stop" | "delete";
  readonly afterMs: number;
  readonly forMs: number;
}

const trouble: fc.Arbitrary<Trouble> = fc.record({
  who: fc.nat(2),
  what: fc.constantFrom<Trouble["what"]>(
    DOWN,
    ANSWERS_LOST,
    HANGING,
    LATE,
    "pause",
    "stop",
    "delete",
  ),
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
      await this.#world.kernel.advance(500);
      for (const who of this.#candidates.keys()) this.#mutate(who);
    }
  }

  strike({ who, what, forMs }: Trouble): void {
    const { kernel, deleteLease } = this.#world;
    const { process, faults, stop } = this.#candidates[who]!;
    if (what === "stop") {
      // The operator ends its mutations before it lets the lease go.
      const now = kernel.elapsed;
      this.#mutations = this.#mutations.map((each) =>
        each.who === who ? { ...each, to: Math.min(each.to, now) } : each,
      );
      stop.abort();
    } else if (what === "delete") {
      deleteLease();
    } else if (what === "pause") {
      process.pauseFor(forMs);
    } else {
      faults.call = what;
      kernel.schedule(forMs, () => {
        faults.call = undefined;
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
    if (process.paused || !mayMutate(election)) return;
    const from = this.#world.kernel.elapsed;
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

test("what a leader leaves is written with its renewals, and stays until the next one has taken it", async () => {
  const { kernel, start } = setUp();
  const lead = (identity: string, left: () => string | undefined) => {
    const taken: (string | undefined)[] = [];
    const handover: Handover = {
      take: ({ note }) => taken.push(note),
      leave: () => ({ note: left() }),
    };
    return { taken, ...start(identity, {}, { handover }) };
  };
  let note: string | undefined;
  const first = lead("a", () => note);
  await kernel.advance(60_000);
  expect(first.taken).toEqual([undefined]);
  note = "1";
  await kernel.advance(5_000);
  const second = lead("b", () => undefined);
  await kernel.advance(5_000);
  expect(second.taken).toEqual([]);
  note = "2";
  first.stop.abort();
  await kernel.advance(20_000);
  expect(second.taken).toEqual(["2"]);
  await kernel.advance(5_000);
  second.stop.abort();
  const third = lead("c", () => undefined);
  await kernel.advance(20_000);
  expect(third.taken).toEqual([undefined]);
});
