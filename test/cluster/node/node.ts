/**
 * A whole Kubernetes of one node on this machine, for tests: scheduler, kubelet, kube-proxy and containerd beside
 * the control plane, in network, mount and process namespaces of their own.
 */
import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { run } from "../../../scripts/image/execute.ts";
import { type Progress, provideTools, type Tools, Unable } from "../../../scripts/image/tools.ts";
import { buildPrograms } from "../build.ts";
import { lastLines } from "../program.ts";
import { addresses, links } from "./addresses.ts";
import { writeConfiguration } from "./configuration.ts";
import { serveDns } from "./dns.ts";
import { pauseImage } from "./pause-image.ts";

/** A running node. */
export interface Node {
  /** Path of the admin's kubeconfig. */
  readonly kubeconfig: string;
  readonly kubectl: string;
  readonly auditLog: string;
  /** Holds state and logs. */
  readonly directory: string;
  /** Where servers of the test have to listen so that Pods reach them. */
  readonly hostAddress: string;
  /** Gives the node an image; there is no registry. `archive` is a docker-archive. */
  importImage(archive: string): Promise<void>;
  podLogs(namespace: string, pod: string, ...flags: readonly string[]): Promise<string>;
  /** Ends everything; nothing remains of the node but its folder, and that only with `keep`. */
  stop(options?: { keep?: boolean }): Promise<void>;
}

export interface NodeOptions {
  readonly onProgress?: Progress;
}

const readyWithinMs = 120_000;

/** Starts a node and waits until it is ready. Throws Unable where this machine cannot run one. */
export async function startNode({ onProgress = () => undefined }: NodeOptions = {}): Promise<Node> {
  const tools = await provideTools(onProgress);
  const programs = await buildPrograms(onProgress);
  await removeLeftovers();
  const directory = mkdtempSync(join(tmpdir(), "iam-operator-node-"));
  const kubectl = join(programs, "kubectl");
  const kubeconfig = await writeConfiguration(directory, tools);
  mkdirSync(join(directory, "cni"));
  mkdirSync(join(directory, "log"));
  renameSync(join(directory, "network.conflist"), join(directory, "cni/10-testbed.conflist"));
  const namespaces = await enterNamespaces(directory, tools, programs);
  let endDns: () => void = () => undefined;
  const stop = async ({ keep = false } = {}) => {
    endDns();
    await namespaces.end();
    await removeLeftovers();
    if (!keep) rmSync(directory, { recursive: true, force: true });
  };
  const inside = (file: string, args: readonly string[]) =>
    run("nsenter", ["--target", `${namespaces.pid}`, "--mount", "--net", "--", file, ...args]);
  const ask = (args: readonly string[]) =>
    run(kubectl, ["--kubeconfig", kubeconfig, "--cache-dir", join(directory, "kubectl"), ...args]);
  const importImage = async (archive: string) => {
    await inside("ctr", ["--namespace=k8s.io", "images", "import", resolve(archive)]);
  };
  try {
    await connect(namespaces.pid);
    endDns = await serveDns(addresses.host, async (namespace, name) => {
      const show = ["--ignore-not-found", "-o=jsonpath={.spec.clusterIP}"];
      return (
        (await ask(["get", "service", name, `--namespace=${namespace}`, ...show])) || undefined
      );
    });
    await untilReady(() => ask(["wait", "node/node1", "--for=condition=Ready", "--timeout=5s"]), {
      isAlive: namespaces.isAlive,
      directory,
    });
    await importImage(await pauseImage(join(directory, "pause")));
  } catch (error) {
    await stop({ keep: true });
    throw error;
  }
  return {
    kubeconfig,
    kubectl,
    directory,
    auditLog: join(directory, "audit.log"),
    hostAddress: addresses.host,
    importImage,
    podLogs: (namespace, pod, ...flags) => ask(["logs", "--namespace", namespace, pod, ...flags]),
    stop,
  };
}

interface Namespaces {
  /** Process 1 of the namespaces, as the machine numbers it. */
  readonly pid: number;
  readonly isAlive: () => boolean;
  end(): Promise<void>;
}

/** The namespaces end with this process, however it ends. */
async function enterNamespaces(
  directory: string,
  { folder }: Tools,
  programs: string,
): Promise<Namespaces> {
  const log = openSync(join(directory, "log/inside.log"), "a");
  const { node, host, services } = addresses;
  const script = join(import.meta.dirname, "inside.sh");
  const child = spawn(
    "setpriv",
    [
      ...["--pdeathsig", "KILL", "unshare"],
      ...["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"],
      ...["sh", script, directory, folder, programs, node, host, links.inside, services],
    ],
    { detached: true, stdio: ["ignore", log, log] },
  );
  const gone = new Promise<void>((done) =>
    child.once("exit", () => done()).once("error", () => done()),
  );
  let alive = true;
  void gone.then(() => {
    alive = false;
  });
  const pid = await waitFor(() => (alive ? firstChildOf(child.pid ?? 0) : 0), 10_000);
  if (!pid) throw new Unable(`no namespaces: ${readFileSync(join(directory, "log/inside.log"))}`);
  return {
    pid,
    isAlive: () => alive,
    end: async () => {
      child.kill("SIGKILL");
      await gone;
      await waitFor(() => (existsSync(`/proc/${pid}`) ? undefined : true), 10_000);
    },
  };
}

function firstChildOf(pid: number): number | undefined {
  const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  const child = Number(first);
  // Until the fork is complete the child still has the namespaces of its parent.
  const own = readlinkSync("/proc/self/ns/net");
  return child > 0 && readlinkSync(`/proc/${child}/ns/net`) !== own ? child : undefined;
}

async function connect(pid: number): Promise<void> {
  const ip = (...args: readonly string[]) => run("ip", args);
  const { outside, inside } = links;
  await ip("link", "add", outside, "type", "veth", "peer", "name", inside, "netns", `${pid}`);
  await ip("addr", "add", `${addresses.host}/24`, "dev", outside);
  await ip("link", "set", outside, "up");
  for (const range of [addresses.pods, addresses.services])
    await ip("route", "add", range, "via", addresses.node);
}

/** What namespaces do not take with them: control groups, and at times the link. Also after a crash. */
async function removeLeftovers(): Promise<void> {
  if (existsSync(`/sys/class/net/${links.outside}`)) {
    if (processesOfNodes().length > 0)
      throw new Unable(`another node runs on this machine: the link ${links.outside} exists`);
    await run("ip", ["link", "delete", links.outside]);
  }
  for (const root of ["/sys/fs/cgroup", ...foldersIn("/sys/fs/cgroup")])
    for (const name of ["k8s.io", "kubepods"]) removeGroups(join(root, name));
}

function processesOfNodes(): readonly string[] {
  const script = join(import.meta.dirname, "inside.sh");
  return readdirSync("/proc").filter((pid) => {
    if (!/^[0-9]+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(script);
    } catch {
      return false;
    }
  });
}

function removeGroups(group: string): void {
  if (!existsSync(group)) return;
  for (const child of foldersIn(group)) removeGroups(child);
  try {
    rmdirSync(group);
  } catch {
    // Somebody else's containers are in there.
  }
}

function foldersIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name));
}

async function untilReady(
  check: () => Promise<unknown>,
  { isAlive, directory }: { isAlive: () => boolean; directory: string },
): Promise<void> {
  const deadline = Date.now() + readyWithinMs;
  let last: unknown;
  while (Date.now() < deadline && isAlive()) {
    try {
      await check();
      return;
    } catch (error) {
      last = error;
      await sleep(300);
    }
  }
  const logs = readdirSync(join(directory, "log")).map(
    (name) => `${name}:\n${lastLines(join(directory, "log", name), 4)}`,
  );
  throw new Error(
    `the node is not ready; all is kept in ${directory}\n${last}\n${logs.join("\n")}`,
  );
}

/** The first answer that is not undefined, or undefined when the time is over. */
async function waitFor<T>(poll: () => T | undefined, withinMs: number): Promise<T | undefined> {
  const deadline = Date.now() + withinMs;
  while (Date.now() < deadline) {
    try {
      const answer = poll();
      if (answer !== undefined) return answer;
    } catch {
      // Not there yet.
    }
    await sleep(20);
  }
  return undefined;
}
