/**
 * Kills, freezes and cuts of real operator processes. The tests run side by side, each in a namespace with a
 * console and a lease of its own, since most of their time is spent on leases and recoveries that take what
 * they take.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, test } from "vitest";
import type { Gate, GateRequest } from "../real-world/gate.ts";
import { isInOrder, type Stock, takeStock } from "../real-world/ledger.ts";
import type { OperatorProcess } from "../real-world/program.ts";
import { until } from "../real-world/until.ts";
import { useSharedServers } from "../real-world/use-servers.ts";
import type { World } from "../real-world/world.ts";

/** A lease of 15 s and a try every 2 s, as the operator has them, with room for a busy machine. */
const TAKEOVER_MS = 17_000 + 8_000;

const servers = useSharedServers();

async function settled(world: World, timeoutMs = 120_000): Promise<Stock> {
  let stock = await takeStock(world);
  await until(
    () => `every key to be in order; stuck: ${stock.stuck.join("; ")}`,
    async () => {
      stock = await takeStock(world);
      return stock.stuck.length === 0;
    },
    timeoutMs,
    250,
  );
  return stock;
}

interface Moment {
  readonly name: string;
  /** Whether the pair is lost with the process. */
  readonly losesKey: boolean;
  /** Stops the issue at this moment; resolves when it is there. */
  arm(trap: Trap): { readonly reached: Promise<unknown>; release(): void };
}

interface Trap {
  readonly gate: Gate;
  readonly world: World;
  readonly saId: string;
  readonly name: string;
}

const atConsole =
  (operation: "issueKey" | "getServiceAccount", when: "BeforeCommit" | "AfterCommit") =>
  ({ world, saId }: Trap) =>
    world.iam.faults.add({
      operation,
      pathIncludes: saId,
      fault: { kind: "Hold", when },
    });

const atServer =
  (when: "before" | "after", matches: (request: GateRequest, name: string) => boolean) =>
  ({ gate, name }: Trap) =>
    gate.hold(when, (request) => !request.isDryRun && matches(request, name));

function createsSecret({ method, path, body }: GateRequest, name: string): boolean {
  return method === "POST" && path.includes("/secrets") && JSON.parse(body).metadata.name === name;
}

const recordsIntent = ({ path, body }: GateRequest, name: string) =>
  path.includes(`/apikeys/${name}?`) && body.includes('"iam-operator.io/intent":');
const stages = (request: GateRequest, name: string) => createsSecret(request, `${name}-next`);
const switches = createsSecret;
const commits = ({ path, body }: GateRequest, name: string) =>
  path.includes(`/apikeys/${name}/status`) && body.includes('"current":{');
const cleansUp = ({ method, path }: GateRequest, name: string) =>
  method === "DELETE" && path.includes(`/secrets/${name}-next`);

const moments: readonly Moment[] = [
  { name: "precheck", losesKey: false, arm: atConsole("getServiceAccount", "AfterCommit") },
  { name: "intent-unsent", losesKey: false, arm: atServer("before", recordsIntent) },
  { name: "intent-unheard", losesKey: false, arm: atServer("after", recordsIntent) },
  { name: "issue-uncommitted", losesKey: true, arm: atConsole("issueKey", "BeforeCommit") },
  { name: "issue-unheard", losesKey: true, arm: atConsole("issueKey", "AfterCommit") },
  { name: "pending-unsent", losesKey: true, arm: atServer("before", stages) },
  { name: "pending-unheard", losesKey: false, arm: atServer("after", stages) },
  { name: "switch-unsent", losesKey: false, arm: atServer("before", switches) },
  { name: "switch-unheard", losesKey: false, arm: atServer("after", switches) },
  { name: "commit-unsent", losesKey: false, arm: atServer("before", commits) },
  { name: "commit-unheard", losesKey: false, arm: atServer("after", commits) },
  { name: "clean-up-unsent", losesKey: false, arm: atServer("before", cleansUp) },
  { name: "clean-up-unheard", losesKey: false, arm: atServer("after", cleansUp) },
];

describe.concurrent("a process that fails", () => {
  test("SIGKILL at every moment of an issue leaves no key unaccounted for", async ({ expect }) => {
    const world = await servers().openWorld();
    const gate = await world.openGate();
    const first = await world.startProgram({ via: gate });
    await first.untilReady();
    await world.createAccounts(moments.map(({ name }) => name));
    const traps = await Promise.all(
      moments.map(async ({ name, arm }) =>
        arm({ gate, world, name, saId: await world.saIdOf(name) }),
      ),
    );
    await world.createKeys(moments.map(({ name }) => ({ name, account: name })));
    await Promise.all(traps.map(({ reached }) => reached));
    await first.kill();
    for (const trap of traps) trap.release();

    const second = await world.startProgram({ args: ["--leader-elect=false"] });
    await second.untilReady();
    const stock = await settled(world);
    expect(isInOrder(stock), JSON.stringify({ ...stock, keyIdsOf: undefined })).toBe(true);
    const orphansOf = Object.fromEntries(
      moments.map(({ name }) => [name, stock.keyIdsOf.get(name)?.orphaned.length]),
    );
    expect(orphansOf).toEqual(
      Object.fromEntries(moments.map(({ name, losesKey }) => [name, losesKey ? 1 : 0])),
    );
    const lost = moments.filter(({ losesKey }) => losesKey).length;
    expect(stock).toMatchObject({ issued: moments.length + lost, surplus: lost });
    expect(await second.stop()).toEqual({ code: 0, signal: null });
  });

  test("of two replicas one works; when it is killed the other takes over", async ({ expect }) => {
    const world = await servers().openWorld();
    const { leader, standby, standbyGate } = await startPair(world);
    await world.createAccounts(["ci"]);
    await world.createKeys([{ name: "one", account: "ci" }]);
    await settled(world);
    expect(standbyGate.mutations()).toEqual([]);
    expect((await standby.get("/readyz")).status).toBe(200);

    const killedAt = performance.now();
    await leader.kill();
    await until("the standby to lead", () => standby.leads(), TAKEOVER_MS);
    expect(performance.now() - killedAt).toBeLessThan(TAKEOVER_MS);
    await world.createKeys([{ name: "two", account: "ci" }]);
    const stock = await settled(world);
    expect(stock).toMatchObject({ issued: 2, surplus: 0, unaccounted: [] });

    // After a clean stop nobody has to wait for the lease to run out.
    const third = await world.startProgram();
    await third.untilReady();
    const stoppedAt = performance.now();
    expect(await standby.stop()).toEqual({ code: 0, signal: null });
    await until("the third to lead", () => third.leads());
    expect(performance.now() - stoppedAt).toBeLessThan(8_000);
  });

  test("a leader frozen past its lease writes nothing when it goes on, and exits", async ({
    expect,
  }) => {
    const world = await servers().openWorld();
    const { leader, leaderGate, standby } = await startPair(world);
    await world.createAccounts(["ci"]);
    await world.saIdOf("ci");
    const fault = world.iam.faults.add({
      operation: "issueKey",
      fault: { kind: "Hold", when: "AfterCommit" },
    });
    await world.createKeys([{ name: "one", account: "ci" }]);
    await fault.reached;
    leader.signal("SIGSTOP");
    await until("the standby to lead", () => standby.leads(), TAKEOVER_MS);
    // The frozen one finds an answer that it would love to write down.
    fault.release();
    await sleep(200);
    const continuedAt = performance.now();
    leader.signal("SIGCONT");
    expect(await leader.exit).toEqual({ code: 1, signal: null });
    expect(leaderGate.mutations(continuedAt)).toEqual([]);
    const stock = await settled(world);
    expect(stock).toMatchObject({ issued: 2, surplus: 1, orphaned: 1, unaccounted: [] });
    expect(isInOrder(stock)).toBe(true);
  });

  test("a leader cut off from the API server exits before its lease can be taken", async ({
    expect,
  }) => {
    const world = await servers().openWorld();
    const gate = await world.openGate();
    const operator = await world.startProgram({ via: gate });
    await operator.untilReady();
    await world.createAccounts(["ci"]);
    await world.createKeys([{ name: "one", account: "ci" }]);
    await settled(world);
    const posts = world.iam.requests.count("issueKey");
    gate.goDark();
    const darkAt = performance.now();
    await world.createKeys([{ name: "two", account: "ci" }]);
    expect(await operator.exit).toEqual({ code: 1, signal: null });
    expect(performance.now() - darkAt).toBeLessThan(15_000);
    expect(operator.output()).toContain("lost the lease");
    expect(world.iam.requests.count("issueKey")).toBe(posts);
  });
});

async function startPair(world: World): Promise<{
  readonly leader: OperatorProcess;
  readonly leaderGate: Gate;
  readonly standby: OperatorProcess;
  readonly standbyGate: Gate;
}> {
  const [leaderGate, standbyGate] = [await world.openGate(), await world.openGate()];
  const leader = await world.startProgram({ via: leaderGate });
  await leader.untilReady();
  await until("the first to lead", () => leader.leads());
  const standby = await world.startProgram({ via: standbyGate });
  await standby.untilReady();
  return { leader, leaderGate, standby, standbyGate };
}
