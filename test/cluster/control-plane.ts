/** A real Kubernetes control plane (etcd, API server, controller manager) on loopback, for tests. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Binaries, findBinaries, type Wanted } from "./binaries.ts";
import { readAuthority, writeServiceAccountKeys } from "./certificates.ts";
import {
  apiServerCommand,
  controllerManagerCommand,
  etcdCommand,
  type Layout,
  layoutOf,
  writeAuditPolicy,
} from "./commands.ts";
import { get } from "./get.ts";
import { freePorts } from "./ports.ts";
import { lastLines, type Program, startProgram } from "./program.ts";
import {
  type Account,
  createAccounts,
  kubeconfigPath,
  type User,
  writeKubeconfig,
  writeTokenFile,
} from "./users.ts";

/** A running control plane. */
export interface ControlPlane {
  readonly url: string;
  /** Path of the admin's kubeconfig. */
  readonly kubeconfig: string;
  readonly caFile: string;
  /** Holds state and logs. */
  readonly directory: string;
  readonly auditLog: string;
  /** A kubectl that keeps its caches in `directory`. It needs --kubeconfig or KUBECONFIG. */
  readonly kubectl: string;
  /** Path of the kubeconfig of a default user or of one given in `users`. */
  kubeconfigFor(user: string): string;
  /** For tests that need more objects than the API server could create in their time. */
  readonly etcdUrl: string;
  /** Ends the API server as a crash would. The rest stays up. */
  killApiServer(): Promise<void>;
  /** Starts the API server again, at the same address, on the same data. Resolves when ready. */
  startApiServer(): Promise<void>;
  /** Makes new CRDs known to garbage collection and quota at once, not within 30 seconds. */
  restartControllerManager(): Promise<void>;
  /** Ends every process and removes the directory unless it is to be kept. May be called twice. */
  stop(options?: { keep?: boolean }): Promise<void>;
}

export interface ControlPlaneOptions extends Wanted {
  /** An empty or missing directory; a new one among the temporary files by default. */
  readonly directory?: string;
  /** Users besides `admin` (a cluster administrator), `operator`, `alice` and `mallory`. */
  readonly users?: readonly User[];
  /** Whether garbage collection, namespace deletion and quota work. True where there is the program for it. */
  readonly controllerManager?: boolean;
  readonly onProgress?: (line: string) => void;
}

const readyWithinMs = 60_000;
const attempts = 3;

/** Starts a control plane; the programs are found or built first (see `binaries.ts`). */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const onProgress = options.onProgress ?? ((line) => process.stderr.write(`${line}\n`));
  const binaries = await findBinaries(onProgress, options);
  const directory = emptyDirectory(options.directory);
  const accounts = createAccounts(options.users ?? []);
  return withFreshPorts(attempts, async (ports) => {
    for (const entry of readdirSync(directory)) rmSync(join(directory, entry), { recursive: true });
    const layout = layoutOf(directory, ports);
    return startIn(layout, binaries, accounts, options.controllerManager ?? true);
  });
}

async function withFreshPorts<T>(
  tries: number,
  start: (ports: readonly number[]) => Promise<T>,
): Promise<T> {
  try {
    return await start(await freePorts(3));
  } catch (error) {
    if (error instanceof PortTaken && tries > 1) return withFreshPorts(tries - 1, start);
    throw error;
  }
}

async function startIn(
  layout: Layout,
  binaries: Binaries,
  accounts: ReadonlyMap<string, Account>,
  withControllerManager: boolean,
): Promise<ControlPlane> {
  const { directory, url } = layout;
  const adminToken = accounts.get("admin")?.token ?? "";
  const caFile = join(directory, "ca.crt");
  writeServiceAccountKeys(directory);
  writeAuditPolicy(directory);
  writeTokenFile(layout.tokens, accounts.values());

  const etcd = startProgram(etcdCommand(binaries, layout));
  let apiServer = startProgram(apiServerCommand(binaries, layout));
  let controllerManager: Program | undefined;

  const whenReady = () => waitUntilReady(layout, adminToken, [etcd, apiServer]);
  const startControllerManager = () => {
    const program = withControllerManager ? binaries.controllerManager : undefined;
    if (program !== undefined && !controllerManager?.isRunning()) {
      controllerManager = startProgram(controllerManagerCommand(program, layout));
    }
  };
  const stop = async ({ keep = false } = {}) => {
    await controllerManager?.kill();
    await apiServer.kill();
    await etcd.kill();
    if (!keep) rmSync(directory, { recursive: true, force: true });
  };

  try {
    const authority = await whenReady();
    writeFileSync(caFile, authority);
    for (const account of accounts.values()) {
      writeKubeconfig(kubeconfigPath(directory, account.name), { url, authority }, account);
    }
    startControllerManager();
  } catch (error) {
    await stop({ keep: true });
    throw error;
  }

  return {
    url,
    caFile,
    directory,
    kubeconfig: kubeconfigPath(directory, "admin"),
    auditLog: layout.auditLog,
    etcdUrl: layout.etcdUrl,
    kubectl: writeKubectl(directory, binaries.kubectl),
    kubeconfigFor(user) {
      if (!accounts.has(user)) throw new Error(`the control plane has no user ${user}`);
      return kubeconfigPath(directory, user);
    },
    killApiServer: () => apiServer.kill(),
    async startApiServer() {
      if (apiServer.isRunning()) return;
      apiServer = startProgram(apiServerCommand(binaries, layout));
      await whenReady();
      startControllerManager();
    },
    async restartControllerManager() {
      await controllerManager?.kill();
      startControllerManager();
    },
    stop,
  };
}

/** Resolves with the API server's authority when the server says that it is ready. */
async function waitUntilReady(
  layout: Layout,
  token: string,
  programs: readonly Program[],
): Promise<string> {
  const deadline = Date.now() + readyWithinMs;
  while (Date.now() < deadline) {
    const dead = programs.find((program) => !program.isRunning());
    if (dead) throw failure("ended before it was ready", layout, dead);
    const authority = readAuthority(layout.certificates);
    if (authority && (await isReady({ url: layout.url, authority, token }))) return authority;
    await sleep(50);
  }
  throw failure("is not ready", layout, ...programs);
}

async function isReady(endpoint: Parameters<typeof get>[0]): Promise<boolean> {
  return get(endpoint, "/readyz").then(
    ({ status }) => status === 200,
    () => false,
  );
}

class PortTaken extends Error {}

function failure(what: string, { directory }: Layout, ...programs: readonly Program[]): Error {
  const logs = programs.map(({ log }) => `${log}:\n${lastLines(log)}`).join("\n\n");
  const message = `the control plane ${what}; everything is kept in ${directory}\n\n${logs}`;
  return logs.includes("address already in use") ? new PortTaken(message) : new Error(message);
}

/** Discovery caches are named by address, and addresses come back with other contents. */
function writeKubectl(directory: string, kubectl: string): string {
  const file = join(directory, "kubectl");
  const cache = join(directory, "kubectl-cache");
  writeFileSync(file, `#!/bin/sh\nKUBECACHEDIR='${cache}' exec '${kubectl}' "$@"\n`, {
    mode: 0o755,
  });
  return file;
}

function emptyDirectory(wanted: string | undefined): string {
  if (wanted === undefined) return mkdtempSync(join(tmpdir(), "iam-operator-control-plane-"));
  const directory = resolve(wanted);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (readdirSync(directory).length > 0) throw new Error(`${directory} is not empty`);
  return directory;
}
