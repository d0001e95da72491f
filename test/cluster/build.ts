/** Builds the one Go binary of the test bed, once per machine, into a cache outside the tree. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { withLock } from "./lock.ts";

/** Takes one line of news for whoever is waiting. */
export type Progress = (line: string) => void;

const source = import.meta.dirname;
const hashedFiles = ["go.mod", "go.sum", "cmd/testbed/main.go"];
const programs = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubelet",
  "kube-proxy",
  "kubectl",
];
const version = "k8s.io/component-base/version";
const buildArguments = [
  "build",
  "-v",
  "-trimpath",
  "-buildvcs=false",
  `-ldflags=-s -w -X ${version}.gitVersion=v1.36.3 -X ${version}.gitMajor=1 -X ${version}.gitMinor=36`,
];
const progressEveryMs = 10_000;

/** The folder that holds the built programs, or will hold them once they are built. */
export function builtPrograms(): string {
  const hash = createHash("sha256");
  for (const file of hashedFiles) hash.update(readFileSync(join(source, file)));
  hash.update(JSON.stringify([buildArguments, programs, process.platform, process.arch]));
  return join(cacheFolder(), hash.digest("hex").slice(0, 16));
}

/** Makes sure that the programs are built, and returns their folder. Only one process builds. */
export async function buildPrograms(onProgress: Progress): Promise<string> {
  const folder = builtPrograms();
  if (existsSync(folder)) return folder;
  mkdirSync(cacheFolder(), { recursive: true });
  await withLock(`${folder}.lock`, onProgress, async () => {
    if (!existsSync(folder)) await buildInto(folder, onProgress);
  });
  return folder;
}

function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "iam-operator");
}

/** The folder appears complete or not at all; what a killed build left is thrown away. */
async function buildInto(folder: string, onProgress: Progress): Promise<void> {
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished);
  try {
    await compile(join(unfinished, "testbed"), onProgress);
    for (const program of programs) symlinkSync("testbed", join(unfinished, program));
    renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

async function compile(output: string, onProgress: Progress): Promise<void> {
  const startedAt = Date.now();
  const seconds = () => Math.round((Date.now() - startedAt) / 1000);
  onProgress("building the control plane from Go modules: about five minutes on two cores, once");
  const go = spawn("go", [...buildArguments, "-o", output, "./cmd/testbed"], {
    cwd: source,
    stdio: ["ignore", "ignore", "pipe"],
    env: goEnvironment(),
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    go.on("error", reject).on("close", resolve);
  });
  const log = readGoOutput(go.stderr);
  const stop = () => go.kill();
  process.once("exit", stop);
  const timer = setInterval(() => onProgress(`${seconds()} s: ${log.summary()}`), progressEveryMs);
  try {
    const code = await ended;
    if (code !== 0) throw new Error(`go build failed:\n${log.lastLines()}`);
  } catch (cause) {
    throw isMissing(cause)
      ? new Error("building the control plane needs Go 1.26 or later on PATH", { cause })
      : cause;
  } finally {
    clearInterval(timer);
    process.off("exit", stop);
  }
  onProgress(`built in ${seconds()} s`);
}

/** Without cgo there is no need for a C compiler, and the build is the same with and without one. */
function goEnvironment(): NodeJS.ProcessEnv {
  const { GOOS: _os, GOARCH: _architecture, ...rest } = process.env;
  return { ...rest, CGO_ENABLED: "0", GOFLAGS: "", GOWORK: "off" };
}

/** `go build -v` names each package as it is compiled, and each module as it is fetched. */
function readGoOutput(stream: NodeJS.ReadableStream) {
  const lines: string[] = [];
  let modules = 0;
  let packages = 0;
  createInterface({ input: stream }).on("line", (line) => {
    lines.push(line);
    if (line.startsWith("go: downloading ")) modules += 1;
    else packages += 1;
  });
  return {
    summary: () => `${modules} modules fetched, ${packages} packages compiled (${lines.at(-1)})`,
    lastLines: () => lines.slice(-15).join("\n"),
  };
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && cause.code === "ENOENT";
}
