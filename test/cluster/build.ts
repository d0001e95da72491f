/** Builds the one Go binary of a control plane, once per machine, into a cache outside the tree. */
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { availableParallelism, homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { withLock } from "./lock.ts";

/** Takes one line of news for whoever is waiting. */
export type Progress = (line: string) => void;

const source = import.meta.dirname;
const hashedFiles = ["go.mod", "go.sum", "cmd/testbed/main.go", "cmd/testbed/whole.go"];
const minimal = ["etcd", "kube-apiserver", "kubectl"];
/** What may be built: all that the tests use, or no more than what serves the API. */
const programs = {
  whole: [...minimal, "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"],
  minimal,
};
export type ProgramSet = keyof typeof programs;
const version = "k8s.io/component-base/version";
const buildFlags = [
  "-trimpath",
  "-buildvcs=false",
  `-ldflags=-s -w -X ${version}.gitVersion=v1.36.3 -X ${version}.gitMajor=1 -X ${version}.gitMinor=36`,
];
const progressEveryMs = 5_000;
/** About what a core takes for a package, on average: the whole set takes five to eight minutes on two cores. */
const secondsPerPackage = 0.25;

/** The folder that holds the built programs, or will hold them once they are built. */
export function builtPrograms(set: ProgramSet = "whole"): string {
  const hash = createHash("sha256");
  for (const file of hashedFiles) hash.update(readFileSync(join(source, file)));
  hash.update(JSON.stringify([buildFlags, programs[set], process.platform, process.arch]));
  return join(cacheFolder(), hash.digest("hex").slice(0, 16));
}

/** Makes sure that the programs are built, and returns their folder. Only one process builds. */
export async function buildPrograms(
  onProgress: Progress,
  set: ProgramSet = "whole",
): Promise<string> {
  const folder = builtPrograms(set);
  if (existsSync(folder)) return folder;
  mkdirSync(cacheFolder(), { recursive: true });
  await withLock(`${folder}.lock`, onProgress, async () => {
    if (!existsSync(folder)) await buildInto(folder, set, onProgress);
  });
  return folder;
}

function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "iam-operator");
}

/** The folder appears complete or not at all; what a killed build left is thrown away. */
async function buildInto(folder: string, set: ProgramSet, onProgress: Progress): Promise<void> {
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished);
  try {
    await compile(join(unfinished, "testbed"), set, onProgress);
    for (const program of programs[set]) symlinkSync("testbed", join(unfinished, program));
    renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

async function compile(output: string, set: ProgramSet, onProgress: Progress): Promise<void> {
  const startedAt = Date.now();
  const seconds = () => Math.round((Date.now() - startedAt) / 1000);
  onProgress(`this machine has no ${programs[set].join(", ")}: building them from source, once`);
  const flags = set === "minimal" ? [...buildFlags, "-tags=minimal"] : buildFlags;
  const packages = await orNeedsGo(countStalePackages(flags));
  const cores = availableParallelism();
  const minutes = Math.ceil((packages * secondsPerPackage) / cores / 60);
  onProgress(
    `${packages} packages to compile on ${cores} cores, then to link: about ${minutes} min`,
  );
  const go = spawn("go", ["build", "-v", ...flags, "-o", output, "./cmd/testbed"], {
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
  const timer = setInterval(
    () => onProgress(`${log.share(packages)}, ${seconds()} s`),
    progressEveryMs,
  );
  try {
    if ((await orNeedsGo(ended)) !== 0) throw new Error(`go build failed:\n${log.lastLines()}`);
  } finally {
    clearInterval(timer);
    process.off("exit", stop);
  }
  onProgress(`built in ${seconds()} s`);
}

/** How many packages a build has to compile. Fetches the modules that are not there yet. */
async function countStalePackages(flags: readonly string[]): Promise<number> {
  const format = "-f={{if .Stale}}{{.ImportPath}}{{end}}";
  const { stdout } = await promisify(execFile)(
    "go",
    ["list", "-deps", format, ...flags, "./cmd/testbed"],
    { cwd: source, env: goEnvironment(), maxBuffer: 2 ** 24 },
  );
  return stdout.split("\n").filter((line) => line !== "").length;
}

/** Says what is missing where there is no Go. */
function orNeedsGo<T>(running: Promise<T>): Promise<T> {
  return running.catch((cause) => {
    throw isMissing(cause)
      ? new Error("building the control plane needs Go 1.26 or later on PATH", { cause })
      : cause;
  });
}

/** Without cgo there is no need for a C compiler, and the build is the same with and without one. */
function goEnvironment(): NodeJS.ProcessEnv {
  const { GOOS: _os, GOARCH: _architecture, ...rest } = process.env;
  return { ...rest, CGO_ENABLED: "0", GOFLAGS: "", GOWORK: "off" };
}

/** `go build -v` names each package as its compilation begins. */
function readGoOutput(stream: NodeJS.ReadableStream) {
  const lines: string[] = [];
  createInterface({ input: stream }).on("line", (line) => lines.push(line));
  return {
    share: (packages: number) =>
      lines.length < packages
        ? `${Math.floor((lines.length / packages) * 100)} % (${lines.length} of ${packages} packages)`
        : "linking",
    lastLines: () => lines.slice(-15).join("\n"),
  };
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && cause.code === "ENOENT";
}
