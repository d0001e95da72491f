/** The life of the operator on a node, in the order of its steps. */
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parse, stringify } from "yaml";
import { CHART } from "../../scripts/chart/helm.ts";
import type { TraceReceiver } from "../support/trace-receiver.ts";
import type { Window } from "./audit.ts";
import {
  judgeQueries,
  judgeQuotas,
  judgeTargets,
  judgeTraces,
  memoryOf,
  startWatching,
  watchedBy,
} from "./observe.ts";
import type { Prometheus } from "./prometheus.ts";
import { replaceAccount, replacedCalls } from "./replace.ts";
import { restartedCalls, rotateAndRestart, startRestarted } from "./restarts.ts";
import {
  allReady,
  applyExamples,
  createNamespaces,
  RELEASE,
  type Stage,
  SYSTEM,
  TEAM,
} from "./stage.ts";
import type { Steps } from "./steps.ts";
import { until } from "./wait.ts";
import { type Call, isFailed, parseCalls, workloadManifests } from "./workloads.ts";

const operatorPods = `app.kubernetes.io/name=${RELEASE}`;

export interface Toured {
  /** When the operator was not installed. */
  readonly uninstalled: Window;
  /** Of every Pod at the end; nothing where this machine has no Prometheus. */
  readonly operatorMegabytes: readonly number[];
}

export async function tour(
  steps: Steps,
  stage: Stage,
  receiver: TraceReceiver,
  closers: (() => unknown)[],
): Promise<Toured> {
  const { kubectl, helm } = stage;
  const previous = previousChart(stage.directory);
  const settings = [
    `--namespace=${SYSTEM}`,
    "--wait",
    "--timeout=180s",
    `--set=image.repository=${stage.image.tag.split(":")[0]}`,
    `--set=image.tag=${stage.image.tag.split(":")[1]}`,
    "--set=consumers.mode=restart",
    ...watchedBy(receiver),
  ];
  await steps.run("Create namespaces that enforce Pod Security restricted, and the login", () =>
    createNamespaces(stage),
  );
  await steps.run("helm install of the previous chart", async () => {
    await helm("install", RELEASE, previous, ...settings);
  });
  const prometheus = await steps.run("Start a Prometheus that scrapes the operator", () =>
    startWatching(stage),
  );
  closers.push(() => prometheus?.stop());
  await steps.run("Apply deploy/examples and wait until all is ready", async () => {
    await applyExamples(stage);
    await allReady(stage);
  });
  await steps.run(
    "Start a workload with the key as files, and one with it as variables",
    async () => {
      const image = stage.image.bases.runtime;
      const manifests = workloadManifests({
        namespace: TEAM,
        image,
        consoleUrl: stage.console.url,
      });
      await kubectl(["apply", "-f", "-"], manifests);
      await kubectl([
        "wait",
        "pod",
        "--all",
        `-n=${TEAM}`,
        "--for=condition=Ready",
        "--timeout=60s",
      ]);
      const calls = await until("10 calls", 30_000, async () => {
        const lines = await callsOf(stage, "with-files", "--tail=20");
        return lines.length >= 10 ? lines : undefined;
      });
      const failed = calls.find(isFailed);
      if (failed) throw new Error(JSON.stringify(failed));
    },
  );
  for (const turn of [1, 2, 3])
    await steps.run(`Rotation ${turn}: the mounted files change`, () => rotate(stage));
  await steps.run("The Pod with files was never restarted", () => neverRestarted(stage));
  await steps.run("Start workloads that the operator may restart", () => startRestarted(stage));
  await steps.run("Rotation 4: the operator restarts them, and no call fails", () =>
    rotateAndRestart(stage, rotate),
  );
  await steps.run("Replace the account of a leaked key: no call of its workload fails", () =>
    replaceAccount(stage),
  );
  if (prometheus !== undefined) await seenBy(prometheus, steps, stage);
  await steps.run("Traces lead from an object to the console's calls", () =>
    judgeTraces(receiver, stage),
  );

  await steps.run("Kill the Pod of the leader: the other one takes over", () => killLeader(stage));
  await steps.run("Kill the process of the leader: its lease runs out", () => crashLeader(stage));
  await steps.run("Drain the node: one Pod of the operator is there at every moment", () =>
    drain(stage),
  );
  await steps.run("Rotation after the drain", () => rotate(stage));
  await steps.run("helm upgrade to this chart, with a changed CRD", async () => {
    const before = await columnsOf(stage);
    await helm("upgrade", RELEASE, CHART, ...settings);
    const after = await columnsOf(stage);
    if (after !== before + 1) throw new Error(`columns of the CRD: ${before}, then ${after}`);
    await kubectl(["rollout", "status", `deployment/${RELEASE}`, `-n=${SYSTEM}`, "--timeout=90s"]);
  });
  await steps.run("helm test", async () => {
    await helm("test", RELEASE, `--namespace=${SYSTEM}`, "--timeout=60s");
  });
  const before = await holdings(stage);
  const uninstalledFrom = Date.now();
  await steps.run("helm uninstall: objects, Secrets and keys stay", async () => {
    await helm("uninstall", RELEASE, `--namespace=${SYSTEM}`, "--wait", "--timeout=120s");
    await noPods(stage);
    await sleep(3_000);
    same(before, await holdings(stage));
  });
  stage.console.requests.clear();
  const uninstalled = { from: uninstalledFrom, to: Date.now() };
  await steps.run("helm install again: all is taken over and nothing is made anew", async () => {
    await helm("install", RELEASE, CHART, ...settings);
    await allReady(stage);
    await sleep(10_000);
    same(before, await holdings(stage));
    const made = stage.console.requests.all.filter(
      ({ method, operation }) => method !== "GET" && operation !== "login",
    );
    if (made.length > 0)
      throw new Error(made.map(({ method, path }) => `${method} ${path}`).join());
    return `${stage.console.requests.all.length} calls since, no POST but logins`;
  });
  await steps.run("Rotation by the new installation", () => rotate(stage));
  if (prometheus === undefined) return { uninstalled, operatorMegabytes: [] };
  await steps.run("Prometheus scrapes the new installation", () => judgeTargets(prometheus, stage));
  return { uninstalled, operatorMegabytes: await memoryOf(prometheus) };
}

async function seenBy(prometheus: Prometheus, steps: Steps, stage: Stage): Promise<void> {
  await steps.run("Prometheus scrapes every Pod, over HTTPS and with a token", () =>
    judgeTargets(prometheus, stage),
  );
  await steps.run("Every query of dashboard and alerts has data", () => judgeQueries(prometheus));
  await steps.run("The quota metrics are what the console lists", () =>
    judgeQuotas(prometheus, stage),
  );
}

/** All calls so far, but for those of Pods that are gone. */
export async function allCalls(stage: Stage): Promise<readonly Call[]> {
  return [
    ...(await callsOf(stage, "with-files")),
    ...(await callsOf(stage, "with-variables")),
    ...(await restartedCalls(stage)),
    ...(await replacedCalls(stage)),
  ];
}

async function callsOf({ node }: Stage, pod: string, ...flags: readonly string[]) {
  return parseCalls(await node.podLogs(TEAM, pod, ...flags));
}

/** Asks for a rotation; resolves when the workload's calls are made with the new key. */
async function rotate(stage: Stage): Promise<string> {
  const { kubectl, console: iam } = stage;
  const old = await keyInSecret(stage);
  const startedAt = performance.now();
  const mark = `iam-operator.io/rotate-requested-at=${new Date().toISOString()}`;
  await kubectl(["annotate", "iamkey", "ci-bot-key", `-n=${TEAM}`, "--overwrite", mark]);
  const now = await until("a new key in the Secret", 60_000, async () => {
    const keyId = await keyInSecret(stage);
    return keyId === old ? undefined : keyId;
  });
  const issued = performance.now() - startedAt;
  await until("a call with the new key", 90_000, async () =>
    (await callsOf(stage, "with-files", "--tail=5")).some(({ keyId }) => keyId === now)
      ? true
      : undefined,
  );
  const mounted = performance.now() - startedAt;
  if (iam.requests.unknownCalls.length > 0) throw new Error("a call beyond the documented ones");
  return `Secret after ${seconds(issued)}, files after ${seconds(mounted)}`;
}

async function keyInSecret({ kubectl }: Stage): Promise<string> {
  const path = "-o=jsonpath={.data.keyId}";
  const text = await kubectl(["get", "secret", "ci-bot-key", `-n=${TEAM}`, path]);
  return Buffer.from(text, "base64").toString();
}

async function neverRestarted({ kubectl }: Stage): Promise<string> {
  const path = "-o=jsonpath={.items[*].status.containerStatuses[*].restartCount}";
  const counts = await kubectl(["get", "pods", `-n=${TEAM}`, path]);
  if (counts.trim() !== "0 0") throw new Error(`restarts: ${counts}`);
  return "restarts: 0";
}

async function leader({ kubectl }: Stage): Promise<string> {
  const path = "-o=jsonpath={.spec.holderIdentity}";
  const holder = await kubectl(["get", "lease", "iam-operator", `-n=${SYSTEM}`, path]);
  const pods = await podNames({ kubectl });
  const pod = pods.find((name) => holder.includes(name));
  if (pod === undefined) throw new Error(`no Pod holds the lease: ${holder}`);
  return pod;
}

async function podNames({ kubectl }: Pick<Stage, "kubectl">): Promise<readonly string[]> {
  const path = "-o=jsonpath={.items[*].metadata.name}";
  const text = await kubectl(["get", "pods", `-n=${SYSTEM}`, `-l=${operatorPods}`, path]);
  return text.split(" ").filter(Boolean);
}

async function noPods(stage: Stage): Promise<void> {
  await until("no Pod of the operator", 90_000, async () =>
    (await podNames(stage)).length === 0 ? true : undefined,
  );
}

async function killLeader(stage: Stage): Promise<string> {
  const { kubectl } = stage;
  const old = await leader(stage);
  const startedAt = performance.now();
  await kubectl(["delete", "pod", old, `-n=${SYSTEM}`, "--grace-period=0", "--force"]);
  await until("another leader", 60_000, async () =>
    (await leader(stage)) === old ? undefined : true,
  );
  const taken = seconds(performance.now() - startedAt);
  await kubectl(["rollout", "status", `deployment/${RELEASE}`, `-n=${SYSTEM}`, "--timeout=90s"]);
  return `taken over after ${taken}`;
}

/** Without a farewell the lease stays taken until it has run out. */
async function crashLeader(stage: Stage): Promise<string> {
  const { kubectl } = stage;
  const lease = ["get", "lease", "iam-operator", `-n=${SYSTEM}`];
  const transitions = () => kubectl([...lease, "-o=jsonpath={.spec.leaseTransitions}"]);
  const old = await transitions();
  const startedAt = performance.now();
  killProcessOf(await leader(stage));
  await until("a new term", 60_000, async () => ((await transitions()) === old ? undefined : true));
  const taken = seconds(performance.now() - startedAt);
  await kubectl(["rollout", "status", `deployment/${RELEASE}`, `-n=${SYSTEM}`, "--timeout=90s"]);
  return `taken over after ${taken}`;
}

/** Process 1 of a Pod, as the machine numbers it, knows the name of the Pod. */
function killProcessOf(pod: string): void {
  const found = readdirSync("/proc").filter((pid) => {
    try {
      return (
        readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`POD_NAME=${pod}`) &&
        readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("/app/iam-operator.mjs")
      );
    } catch {
      return false;
    }
  });
  if (found.length !== 1) throw new Error(`${found.length} processes of ${pod}`);
  process.kill(Number(found[0]), "SIGKILL");
}

/**
 * A node alone cannot take back what it loses in a drain, so the drain has to stop at the last Pod, until the
 * node takes Pods again.
 */
async function drain(stage: Stage): Promise<string> {
  const { kubectl } = stage;
  const fewest = { ready: Number.POSITIVE_INFINITY };
  let draining = true;
  const drained = kubectl(["drain", "node1", `--pod-selector=${operatorPods}`, "--timeout=180s"]);
  const watching = (async () => {
    while (draining) {
      const path = "-o=jsonpath={.status.readyReplicas}";
      const ready = await kubectl(["get", "deployment", RELEASE, `-n=${SYSTEM}`, path]);
      fewest.ready = Math.min(fewest.ready, Number(ready || 0));
      await sleep(200);
    }
  })();
  try {
    await until("a Pod that finds no node", 60_000, async () => {
      const pending = ["get", "pods", `-n=${SYSTEM}`, "--field-selector=status.phase=Pending"];
      return (await kubectl([...pending, "-o=name"])) === "" ? undefined : true;
    });
    await sleep(6_000);
    await kubectl(["uncordon", "node1"]);
    await drained;
  } finally {
    draining = false;
    await watching;
    await kubectl(["uncordon", "node1"]);
  }
  await kubectl(["rollout", "status", `deployment/${RELEASE}`, `-n=${SYSTEM}`, "--timeout=120s"]);
  if (fewest.ready < 1) throw new Error("there was a moment without a ready Pod");
  return `at least ${fewest.ready} ready`;
}

/** What must survive: by name and uid, with the content of Secrets, and the console's side. */
async function holdings({ kubectl, console: iam }: Stage): Promise<string> {
  const path =
    "-o=jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid} {.data}{'\\n'}{end}";
  const objects = await kubectl(["get", "iam,secrets", `-n=${TEAM}`, path]);
  const connections = await kubectl(["get", "iamcconn", path]);
  const accounts = [...iam.world.accounts.values()].map(({ saId, name, tpn }) =>
    [saId, name, iam.world.keysOf(saId).map(({ keyId }) => keyId), iam.world.boundTo(tpn)].join(),
  );
  return [objects, connections, ...accounts].join("\n");
}

function same(before: string, after: string): void {
  if (before === after) return;
  const lines = (text: string) => new Set(text.split("\n"));
  const [old, now] = [lines(before), lines(after)];
  const lost = [...old].filter((line) => !now.has(line)).map((line) => `- ${line.slice(0, 120)}`);
  const come = [...now].filter((line) => !old.has(line)).map((line) => `+ ${line.slice(0, 120)}`);
  throw new Error([...lost, ...come].join("\n"));
}

/** The chart as it could have been before: another version, and a CRD with one printed column less. */
function previousChart(directory: string): string {
  const folder = join(directory, "previous-chart");
  cpSync(CHART, folder, { recursive: true });
  edit(join(folder, "Chart.yaml"), (chart) => ({ ...chart, version: "0.0.1" }));
  edit(join(folder, "files/crds/iam-operator.io_apikeys.yaml"), (crd) => {
    crd.spec.versions[0].additionalPrinterColumns.pop();
    return crd;
  });
  return folder;
}

// biome-ignore lint/suspicious/noExplicitAny: a document of any shape
function edit(file: string, change: (document: any) => unknown): void {
  writeFileSync(file, stringify(change(parse(readFileSync(file, "utf8")))));
}

async function columnsOf({ kubectl }: Stage): Promise<number> {
  const path = "-o=jsonpath={.spec.versions[0].additionalPrinterColumns[*].name}";
  const names = await kubectl(["get", "crd", "apikeys.iam-operator.io", path]);
  return names.split(" ").length;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
