/** The operator as its users run it: a process of its own, with everything it says kept. */
import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { freePorts } from "../cluster/ports.ts";
import { until } from "./until.ts";

export const ROOT = join(import.meta.dirname, "../..");
const SOURCE = join(ROOT, "src/main.ts");
const BUNDLE = join(ROOT, "dist/iam-operator.mjs");

/** The sources, unless another program is named, such as a bundle that is to be tested. */
let program = process.env.IAM_OPERATOR_PROGRAM ?? SOURCE;

/**
 * From now on starts a copy of the bundle, which a build during the run does not pull away. Answers the copy's
 * directory; `undefined` where there is no bundle or an older one than the sources, which are run then.
 */
export function preferBundle(): string | undefined {
  if (!existsSync(BUNDLE) || statSync(BUNDLE).mtimeMs < newestSource()) return undefined;
  const directory = mkdtempSync(join(tmpdir(), "iam-operator-bundle-"));
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  for (const file of readdirSync(dirname(BUNDLE)))
    if (file.endsWith(".mjs")) copyFileSync(join(dirname(BUNDLE), file), join(directory, file));
  program = join(directory, basename(BUNDLE));
  return directory;
}

function newestSource(): number {
  return readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
    .map((file) => statSync(join(ROOT, "src", file)).mtimeMs)
    .reduce((a, b) => Math.max(a, b), 0);
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface LogLine {
  readonly msg?: string;
  readonly level?: unknown;
  readonly [field: string]: unknown;
}

export interface OperatorProcess {
  readonly pid: number;
  readonly exit: Promise<Exit>;
  readonly isRunning: boolean;
  /** Everything that was printed. */
  output(): string;
  /** Lines of standard output that are JSON. */
  log(): readonly LogLine[];
  /** Answers of the HTTP servers; rejects where nobody listens. */
  get(path: "/healthz" | "/readyz" | "/metrics"): Promise<{ status: number; text: string }>;
  untilReady(timeoutMs?: number): Promise<void>;
  /** Whether it holds the lease, as its metrics say. */
  leads(): Promise<boolean>;
  signal(name: NodeJS.Signals): void;
  /** As `kill -9`; resolves when the process is gone. */
  kill(): Promise<void>;
  /** As `kill`; resolves with the exit. */
  stop(): Promise<Exit>;
}

const living = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of living) child.kill("SIGKILL");
});

export interface StartOptions {
  readonly kubeconfig: string;
  readonly args?: readonly string[];
  readonly nodeArgs?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

export async function startOperator(options: StartOptions): Promise<OperatorProcess> {
  const [metricsPort, probePort] = await freePorts(2);
  const flags = [
    `--kubeconfig=${options.kubeconfig}`,
    `--metrics-address=127.0.0.1:${metricsPort}`,
    `--probe-address=127.0.0.1:${probePort}`,
    // Consoles of tests are here, and so is the API server.
    "--connection-networks=127.0.0.1",
    ...(options.args ?? []),
  ];
  const { child, output, exit } = run(flags, options.nodeArgs, options.environment);
  const get: OperatorProcess["get"] = async (path) => {
    const port = path === "/metrics" ? metricsPort : probePort;
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      signal: AbortSignal.timeout(5_000),
    });
    return { status: response.status, text: await response.text() };
  };
  return {
    pid: child.pid ?? 0,
    exit,
    get isRunning() {
      return living.has(child);
    },
    output,
    log: () => toLines(output()),
    get,
    untilReady: (timeoutMs) =>
      until(
        () => `the operator to be ready\n${output().slice(-2_000)}`,
        async () => {
          if (!living.has(child))
            throw new Error(`the operator ended: ${lastLine(output())}\n${output().slice(-2_000)}`);
          return (await get("/readyz").catch(() => undefined))?.status === 200;
        },
        timeoutMs,
        20,
      ),
    async leads() {
      const page = await get("/metrics").catch(() => undefined);
      return /^leader_election_master_status\{[^}]*\} 1$/m.test(page?.text ?? "");
    },
    signal: (name) => void child.kill(name),
    async kill() {
      child.kill("SIGKILL");
      await exit;
    },
    stop() {
      child.kill("SIGTERM");
      return exit;
    },
  };
}

/** Runs the operator to its end. */
export async function runOperator(args: readonly string[]): Promise<Exit & { output: string }> {
  const { exit, output } = run(args);
  return { ...(await exit), output: output() };
}

function run(
  args: readonly string[],
  nodeArgs: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
) {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, [...nodeArgs, program, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH, HOME, ...environment },
  });
  living.add(child);
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => chunks.push(text));
  }
  const exit = new Promise<Exit>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      living.delete(child);
      resolve({ code, signal });
    });
  });
  return { child, exit, output: () => chunks.join("") };
}

/** What says in a list of failures, which has their first lines only, why it ended. */
function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}

function toLines(text: string): readonly LogLine[] {
  return text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line) as LogLine];
    } catch {
      return [];
    }
  });
}
