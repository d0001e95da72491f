/** What is done to the operator and its surroundings while it issues. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { BINDING } from "../../scripts/demo/install.ts";
import { secretType } from "../../src/resources/resource-types.ts";
import { withServer } from "../real-world/gate.ts";
import { prepareLease } from "../real-world/lease.ts";
import { ROOT } from "../real-world/program.ts";
import { until } from "../real-world/until.ts";
import { backUp, restore } from "./etcd.ts";
import { ISSUE_MS, type Scene, type Size } from "./scene.ts";
import { supervise } from "./supervisor.ts";
import { startTcpProxy } from "./tcp-proxy.ts";

export interface Told {
  /** Pairs that cannot have been kept: their calls 5 were under way, or answered and unwritten, at a kill. */
  readonly lossesAtKills?: number;
  readonly postsOpenAtKills?: number;
  readonly kills?: number;
  /** From the end of the fault to order. */
  readonly healedSeconds?: number;
  /** Anything that went against the rules, in words. */
  readonly problems?: readonly string[];
  readonly notes?: readonly string[];
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly size: { readonly full: Size; readonly quick: Size };
  /** Whether a crash may cost keys here. */
  readonly mayLoseKeys: boolean;
  /** Plays it and leaves an operator at work; the books are made up afterwards. */
  play(scene: Scene, quick: boolean): Promise<Told & { readonly end: () => Promise<unknown> }>;
}

const few = {
  full: { accounts: 100, keysPerAccount: 5 },
  quick: { accounts: 20, keysPerAccount: 4 },
};
const ARGS = ["--concurrency=64"];
/** This many calls 5 at once, or one for every fourth account, count as the middle of the work. */
const BUSY = 16;
const IDLE = "there was no work left to disturb";
const HEAL_MS = 90_000;

export const scenarios: readonly Scenario[] = [
  {
    name: "kill",
    title: "SIGKILL in the middle of issuing, again and again",
    size: {
      full: { accounts: 100, keysPerAccount: 30 },
      quick: { accounts: 30, keysPerAccount: 10 },
    },
    mayLoseKeys: true,
    play: killAgainAndAgain,
  },
  {
    name: "terminate",
    title: "SIGTERM in the middle of issuing, five times",
    size: few,
    mayLoseKeys: false,
    play: terminate,
  },
  {
    name: "freeze",
    title: "two replicas; the leader is frozen past its lease and goes on",
    size: few,
    mayLoseKeys: true,
    play: freeze,
  },
  {
    name: "two-releases",
    title: "two releases with a lease each lead at once, for the same objects",
    size: few,
    mayLoseKeys: false,
    play: leadTwice,
  },
  {
    name: "lease",
    title: "two replicas; the Lease is deleted under the working leader, again and again",
    size: few,
    mayLoseKeys: false,
    play: deleteLease,
  },
  {
    name: "api-server",
    title: "API server killed and started, for 3 s and for 20 s",
    size: few,
    mayLoseKeys: true,
    play: killApiServer,
  },
  {
    name: "black-hole",
    title: "the API server becomes a black hole for 60 s",
    size: few,
    mayLoseKeys: true,
    play: blackHole,
  },
  {
    name: "rbac",
    title: "the operator's rights are taken away and given back",
    size: few,
    mayLoseKeys: true,
    play: takeRights,
  },
  {
    name: "crds",
    title: "CRDs are changed under load",
    size: few,
    mayLoseKeys: false,
    play: changeCrds,
  },
  {
    name: "etcd",
    title: "etcd is set back to an older snapshot",
    size: { full: { accounts: 40, keysPerAccount: 5 }, quick: { accounts: 10, keysPerAccount: 3 } },
    mayLoseKeys: true,
    play: setBackEtcd,
  },
];

/** What has not begun by then is done already: a stop lets everything that has begun come to its end. */
const PATIENCE_MS = 30_000;

function inTheMiddle(scene: Scene, timeoutMs?: number): Promise<boolean> {
  return scene.busy(Math.min(BUSY, Math.ceil(scene.size.accounts / 4)), timeoutMs);
}

async function killAgainAndAgain(scene: Scene, quick: boolean) {
  const { world, say } = scene;
  const rounds = quick ? 4 : 20;
  // Without a lease the next process starts at once, as a lone replica does after its lease has run out.
  const start = () => world.startProgram({ args: [...ARGS, "--leader-elect=false"] });
  let operator = await start();
  await scene.createAccounts();
  await scene.createKeys();
  let [kills, postsOpenAtKills, lossesAtKills] = [0, 0, 0];
  while (kills < rounds && (await inTheMiddle(scene))) {
    await sleep(Math.random() * 500);
    postsOpenAtKills += scene.openPosts();
    await operator.kill();
    kills += 1;
    // The console goes on with what has reached it.
    await sleep(ISSUE_MS + 200);
    scene.forgetOpenPosts();
    const lost = await unkept(scene);
    say(`kill ${kills}: ${world.iam.world.keys.size} keys issued, ${lost - lossesAtKills} lost`);
    lossesAtKills = lost;
    operator = await start();
  }
  const problems = kills < rounds ? [`only ${kills} of ${rounds} kills found work to disturb`] : [];
  return { kills, postsOpenAtKills, lossesAtKills, problems, end: () => operator.stop() };
}

/** Issued keys that stand in no Secret. */
async function unkept({ servers, world }: Scene): Promise<number> {
  const { namespace } = world;
  const list = () => servers.kube.list(secretType, { namespace });
  const secrets = await list().catch(list);
  const kept = new Set(
    secrets.map(({ data }) => Buffer.from(data?.keyId ?? "", "base64").toString()),
  );
  return [...world.iam.world.keys.keys()].filter((keyId) => !kept.has(keyId)).length;
}

async function terminate(scene: Scene) {
  const { world, say } = scene;
  const problems: string[] = [];
  let operator = await world.startProgram({ args: ARGS });
  await scene.createAccounts();
  await scene.createKeys();
  for (let round = 1; round <= 5 && (await inTheMiddle(scene, PATIENCE_MS)); round += 1) {
    const open = scene.openPosts();
    const at = performance.now();
    const { code, signal } = await operator.stop();
    const lost = await unkept(scene);
    say(`stop ${round}: ${open} calls 5 under way; ended after ${seconds(at)} s with code ${code}`);
    if (code !== 0) problems.push(`stop ${round} ended with ${code ?? signal}`);
    if (lost > 0) problems.push(`stop ${round} lost ${lost} keys`);
    operator = await world.startProgram({ args: ARGS });
  }
  return { problems, end: () => operator.stop() };
}

async function freeze(scene: Scene) {
  const { world, say } = scene;
  const problems: string[] = [];
  const leader = await world.startProgram({ args: ARGS });
  await leader.untilReady();
  await until("the first to lead", () => leader.leads());
  const standby = await world.startProgram({ args: ARGS });
  await standby.untilReady();
  await scene.createAccounts();
  await scene.createKeys();
  if (!(await inTheMiddle(scene))) problems.push(IDLE);
  leader.signal("SIGSTOP");
  const frozenAt = performance.now();
  const postsOpenAtKills = scene.openPosts();
  // What it has sent reaches the console; the answers are lost, and so is what it was told and has not written yet.
  await sleep(ISSUE_MS + 200);
  const lossesAtKills = await unkept(scene);
  await until("the standby to lead", () => standby.leads(), 40_000);
  say(`the standby leads ${seconds(frozenAt)} s after the freeze`);
  scene.forgetOpenPosts();
  leader.signal("SIGCONT");
  const exit = await Promise.race([leader.exit, sleep(15_000)]);
  if (exit?.code !== 1) problems.push(`the frozen leader did not exit with 1: ${exit?.code}`);
  return { kills: 1, postsOpenAtKills, lossesAtKills, problems, end: () => standby.stop() };
}

async function leadTwice(scene: Scene) {
  const { world, servers, say } = scene;
  const { namespace: other } = await servers.openWorld();
  await prepareLease(servers.kube, other);
  const operators = [
    await world.startProgram({ args: ARGS }),
    await world.startProgram({ args: [...ARGS, `--operator-namespace=${other}`] }),
  ];
  for (const operator of operators) await until("both to lead", () => operator.leads());
  await scene.createAccounts();
  await scene.createKeys();
  const problems = (await inTheMiddle(scene)) ? [] : [IDLE];
  await scene.settle();
  const leading = await Promise.all(operators.map((operator) => operator.leads()));
  say(`${leading.filter(Boolean).length} of 2 lead after ${scene.posts.length} calls of issueKey`);
  if (leading.includes(false)) problems.push("one of the two ceased to lead");
  return { problems, end: () => Promise.all(operators.map((operator) => operator.stop())) };
}

async function deleteLease(scene: Scene) {
  const { world, servers, say } = scene;
  const operators = [await world.startProgram({ args: ARGS })];
  await until("the first to lead", () => operators[0]?.leads() ?? false);
  operators.push(await world.startProgram({ args: ARGS }));
  await operators[1]?.untilReady();
  await scene.createAccounts();
  await scene.createKeys();
  const problems: string[] = [];
  let deletions = 0;
  for (; deletions < 5 && (await inTheMiddle(scene, PATIENCE_MS)); deletions += 1) {
    await servers.kubectl(["delete", "lease", "iam-operator", "--namespace", world.namespace]);
    await sleep(1_000 + Math.random() * 2_000);
    const leading = await Promise.all(operators.map((operator) => operator.leads()));
    if (leading.every(Boolean)) problems.push(`both lead after deletion ${deletions + 1}`);
  }
  say(`the Lease was deleted ${deletions} times`);
  if (deletions < 2) problems.push(IDLE);
  return { problems, end: () => Promise.all(operators.map((operator) => operator.stop())) };
}

async function killApiServer(scene: Scene) {
  const { world, servers, say } = scene;
  const operator = await supervise(() => world.startProgram({ args: ARGS }));
  await scene.createAccounts();
  await scene.createKeys();
  const problems: string[] = [];
  for (const outageMs of [3_000, 20_000]) {
    if (!(await inTheMiddle(scene))) problems.push(IDLE);
    await servers.cluster.killApiServer();
    await sleep(outageMs);
    await servers.cluster.startApiServer();
    say(`the API server is back after ${outageMs / 1_000} s; ${operator.exits.length} restarts`);
  }
  return { problems, notes: [`${operator.exits.length} restarts`], end: () => operator.stop() };
}

async function blackHole(scene: Scene) {
  const { world, servers, say } = scene;
  const proxy = await startTcpProxy(new URL(servers.cluster.url));
  const kubeconfig = join(servers.cluster.directory, "proxy.kubeconfig");
  const direct = readFileSync(servers.cluster.kubeconfigFor("operator"), "utf8");
  writeFileSync(kubeconfig, withServer(direct, `https://127.0.0.1:${proxy.port}`));
  // Without a lease the process survives, and has to notice by itself that its connections are dead.
  const args = [...ARGS, "--leader-elect=false"];
  const operator = await supervise(() => world.startProgram({ kubeconfig, args }));
  await scene.createAccounts();
  await scene.createKeys();
  const wasBusy = await inTheMiddle(scene);
  proxy.swallow();
  say("nothing passes any more");
  await sleep(60_000);
  proxy.heal();
  const healedAt = performance.now();
  const stock = await scene.settle(HEAL_MS * 2);
  const healedSeconds = Number(seconds(healedAt));
  const problems =
    healedSeconds * 1_000 > HEAL_MS
      ? [`healed after ${healedSeconds} s; ${stock.stuck.length} objects were not in order`]
      : [];
  if (operator.exits.length > 0) problems.push("the process ended");
  if (!wasBusy) problems.push(IDLE);
  const end = async () => {
    await operator.stop();
    await proxy.close();
  };
  return { healedSeconds, problems, end };
}

async function takeRights(scene: Scene) {
  const { world, servers, say } = scene;
  const operator = await supervise(() => world.startProgram({ args: ARGS }));
  await scene.createAccounts();
  await scene.createKeys();
  const problems = (await inTheMiddle(scene)) ? [] : [IDLE];
  await servers.kubectl(["delete", "clusterrolebinding", BINDING]);
  say("the rights are gone");
  await sleep(15_000);
  await servers.kubectl([
    "create",
    "clusterrolebinding",
    BINDING,
    "--clusterrole=iam-operator",
    "--user=operator",
  ]);
  const backAt = performance.now();
  await scene.settle();
  const healedSeconds = Number(seconds(backAt));
  return {
    healedSeconds,
    problems,
    notes: [`${operator.exits.length} restarts`],
    end: () => operator.stop(),
  };
}

async function changeCrds(scene: Scene) {
  const { world, servers, say } = scene;
  const operator = await supervise(() => world.startProgram({ args: ARGS }));
  await scene.createAccounts();
  await scene.createKeys(0, 1);
  const crds = readdirSync(join(ROOT, "crds"))
    .filter((file) => file.endsWith(".yaml"))
    .map((file) => readFileSync(join(ROOT, "crds", file), "utf8"));
  for (let round = 1; round < scene.size.keysPerAccount; round += 1) {
    const creating = scene.createKeys(round, round + 1);
    await scene.busy(1, 10_000);
    // Another description is another schema: the server rebuilds the storage and ends every watch.
    const changed = crds.map((crd) =>
      crd.replaceAll(/^( +description: )(The Secret's name)/gm, `$1Change ${round}. $2`),
    );
    await servers.kubectl(
      ["apply", "--server-side", "--force-conflicts", "-f", "-"],
      changed.join("\n---\n"),
    );
    await creating;
    say(`change ${round} is applied`);
  }
  const problems = operator.exits.length > 0 ? ["the process ended"] : [];
  return { problems, end: () => operator.stop() };
}

async function setBackEtcd(scene: Scene) {
  const { world, servers, say } = scene;
  const operator = await supervise(() => world.startProgram({ args: ARGS }));
  const { keysPerAccount } = scene.size;
  await scene.createAccounts();
  await scene.createKeys(0, keysPerAccount - 1);
  await scene.settle();
  // The last round is caught by the snapshot in the middle of its work.
  await scene.createKeys(keysPerAccount - 1);
  const problems = (await inTheMiddle(scene)) ? [] : [IDLE];
  await backUp(servers.cluster);
  const before = world.iam.world.keys.size;
  await scene.settle();
  say(`${world.iam.world.keys.size - before} keys were issued after the snapshot`);
  const stopServers = await restore(servers.cluster, servers.kube);
  say("the snapshot is back");
  const end = async () => {
    await operator.stop();
    await stopServers();
  };
  return { problems, notes: [`${operator.exits.length} restarts`], end };
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1_000).toFixed(1);
}
