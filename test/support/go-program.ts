/** Builds Go programs once per machine, into a cache outside the tree. */
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

export interface GoProgram {
  /** For people. */
  readonly name: string;
  /** The folder of its module. */
  readonly source: string;
  /** What it is built from, below `source`: it is built anew when one of them changes. */
  readonly files: readonly string[];
  /** The package to build, and the name of its executable. */
  readonly main: string;
  readonly executable: string;
  /** Other names that the executable goes by. */
  readonly links: readonly string[];
  readonly linkerFlags: string;
  /** Build tags. */
  readonly tags?: string;
  /** In place of go.mod; its sums are in a file beside it. */
  readonly modfile?: string;
}

const progressEveryMs = 5_000;
/** About what a core takes for a package, on average. */
const secondsPerPackage = 0.25;

/** The folder that holds the executable, or will hold it once it is built. */
export function builtFolder(program: GoProgram): string {
  const { source, files, links } = program;
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(join(source, file)));
  hash.update(JSON.stringify([argumentsFor(program), links, process.platform, process.arch]));
  return join(cacheFolder(), hash.digest("hex").slice(0, 16));
}

/** Makes sure that the program is built, and returns its folder. Only one process builds. */
export async function buildGoProgram(program: GoProgram, onProgress: Progress): Promise<string> {
  const folder = builtFolder(program);
  if (existsSync(folder)) return folder;
  mkdirSync(cacheFolder(), { recursive: true });
  await withLock(`${folder}.lock`, onProgress, async () => {
    if (!existsSync(folder)) await buildInto(folder, program, onProgress);
  });
  return folder;
}

function argumentsFor({ linkerFlags, tags, modfile }: GoProgram): readonly string[] {
  return [
    "-trimpath",
    "-buildvcs=false",
    `-ldflags=${linkerFlags}`,
    ...(tags === undefined ? [] : [`-tags=${tags}`]),
    ...(modfile === undefined ? [] : [`-modfile=${modfile}`]),
  ];
}

/** Outside the tree. */
export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "iam-operator");
}

/** The folder appears complete or not at all; what a killed build left is thrown away. */
async function buildInto(folder: string, program: GoProgram, onProgress: Progress): Promise<void> {
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished);
  try {
    await compile(program, join(unfinished, program.executable), onProgress);
    for (const link of program.links) symlinkSync(program.executable, join(unfinished, link));
    renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

async function compile(program: GoProgram, output: string, onProgress: Progress): Promise<void> {
  const startedAt = Date.now();
  const seconds = () => Math.round((Date.now() - startedAt) / 1000);
  onProgress(`this machine has no ${program.name}: building from Go modules, once`);
  const packages = await orNeedsGo(program, countStalePackages(program));
  const cores = availableParallelism();
  const minutes = Math.ceil((packages * secondsPerPackage) / cores / 60);
  onProgress(`${packages} packages to compile on ${cores} cores: about ${minutes} min`);
  const go = spawn("go", ["build", "-v", ...argumentsFor(program), "-o", output, program.main], {
    cwd: program.source,
    stdio: ["ignore", "ignore", "pipe"],
    env: goEnvironment(),
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    go.on("error", reject).on("close", resolve);
  });
  const log = readGoOutput(go.stderr);
  const stop = () => go.kill();
  process.once("exit", stop);
  const tell = () => onProgress(`${log.share(packages)}, ${seconds()} s`);
  const timer = setInterval(tell, progressEveryMs);
  try {
    if ((await orNeedsGo(program, ended)) !== 0)
      throw new Error(`go build failed:\n${log.lastLines()}`);
  } finally {
    clearInterval(timer);
    process.off("exit", stop);
  }
  onProgress(`built in ${seconds()} s`);
}

/** How many packages a build has to compile. Fetches the modules that are not there yet. */
async function countStalePackages(program: GoProgram): Promise<number> {
  const format = "-f={{if .Stale}}{{.ImportPath}}{{end}}";
  const { stdout } = await promisify(execFile)(
    "go",
    ["list", "-deps", format, ...argumentsFor(program), program.main],
    { cwd: program.source, env: goEnvironment(), maxBuffer: 2 ** 24 },
  );
  return stdout.split("\n").filter((line) => line !== "").length;
}

/** Says what is missing where there is no Go. */
function orNeedsGo<T>({ name }: GoProgram, running: Promise<T>): Promise<T> {
  return running.catch((cause) => {
    throw isMissing(cause)
      ? new Error(`building ${name} needs Go 1.26 or later on PATH`, { cause })
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
