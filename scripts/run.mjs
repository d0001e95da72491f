/**
 * Runs a task of this project on a machine that has nothing but Node 20 or later, Go and git.
 *
 *   node scripts/run.mjs <task> [arguments of the task]
 *
 * It installs the npm packages when they are not those of package-lock.json, makes sure that the control plane
 * of the tests is built where a task needs one, and then runs the task under the Node that came as a package.
 * This file is plain JavaScript without dependencies, since it runs before there is anything else.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = join(root, "node_modules");
const packagedNode = join(modules, "node", "bin", "node");
const oldestNode = 20;
/** From here on Node runs this project's TypeScript by itself. */
const ownNode = 24;
const newsEveryMs = 10_000;

const vitest = ["node_modules/vitest/vitest.mjs"];

/** @type {Record<string, { command: string[], cluster?: boolean, build?: boolean, env?: Record<string, string> }>} */
const tasks = {
  test: { command: [...vitest, "run"], cluster: true, build: true },
  "test:all": {
    command: [...vitest, "run"],
    cluster: true,
    build: true,
    env: { TEST_SUITE: "all" },
  },
  "test:oldest": {
    command: [...vitest, "run"],
    cluster: true,
    env: { TEST_SUITE: "oldest", TEST_KUBERNETES: "oldest" },
  },
  "test:process": {
    command: [...vitest, "run", "--project", "process"],
    cluster: true,
    build: true,
  },
  "test:watch": { command: [...vitest, "watch"], cluster: true },
  check: { command: ["scripts/check.ts"] },
  mutants: {
    command: ["tools/mutants/main.ts"],
    cluster: true,
    env: { TEST_SUITE: "mutants" },
  },
  fix: { command: ["node_modules/@biomejs/biome/bin/biome", "check", "--write"] },
  generate: { command: ["scripts/generate.ts"] },
  build: { command: ["scripts/build.ts"] },
  demo: { command: ["scripts/demo.ts"] },
  start: { command: ["src/main.ts"] },
  docs: { command: ["site/build.ts"] },
  "kubectl-iam": { command: ["src/kubectl-iam/main.ts"] },
  "iam-server": { command: ["tools/iam-server/main.ts"] },
  cluster: { command: ["test/cluster/cli.ts"], cluster: true },
  sim: { command: ["tools/simulation/sim.ts"] },
  fidelity: { command: ["tools/simulation/fidelity.ts"], cluster: true },
  chaos: { command: ["test/chaos/main.ts"], cluster: true, build: true },
  bench: { command: ["test/bench/main.ts"], cluster: true, build: true },
  soak: { command: ["test/bench/soak.ts"], cluster: true, build: true },
  "chart:test": { command: [...vitest, "run"], cluster: true, env: { TEST_SUITE: "chart" } },
  image: { command: ["scripts/image/run.ts"] },
  e2e: { command: ["test/e2e/main.ts"], cluster: true },
};

const [name = "", ...args] = process.argv.slice(2);
const task = tasks[name];
if (task === undefined) fail(`usage: node scripts/run.mjs <${Object.keys(tasks).join("|")}>`);

requireNode();
await installPackages();
const node = chooseNode();
const environment = {
  ...process.env,
  ...task.env,
  PATH: [join(modules, "node", "bin"), join(modules, ".bin"), process.env.PATH].join(delimiter),
};
if (task.cluster && !onlyUnitTests()) await buildControlPlane();
if (task.build && (await run(node, ["scripts/build.ts"], undefined, environment)) !== 0)
  fail("The operator cannot be bundled; see above.");
await become(node, [...task.command, ...args]);

function requireNode() {
  const major = Number(process.versions.node.split(".")[0]);
  if (major < oldestNode)
    fail(`Node ${oldestNode} or later is needed; this is Node ${process.versions.node}.`);
}

async function installPackages() {
  if (packagesAreInstalled()) return;
  say("installing the npm packages, with Node 24 among them: about a minute, once");
  // Under npm the very same npm is taken; it may not be on PATH.
  const npm = process.env.npm_execpath;
  const [file, ...start] = npm?.endsWith(".js") ? [process.execPath, npm] : ["npm"];
  // Keeps to the lock file as `npm ci` does, but puts up with registries that lack the binaries of other
  // platforms, which are optional. Warnings about the installing Node do not matter: it runs nothing.
  const install = ["install", "--no-save", "--include=dev", "--loglevel=error"];
  const environment = { ...process.env, NODE_ENV: "" };
  const code = await run(file, [...start, ...install], "npm install", environment);
  if (code !== 0) fail("npm install failed; see above. It needs a registry to install from.");
}

/** npm notes at the end of an installation what it has installed; that must be what the lock file asks for. */
function packagesAreInstalled() {
  const wanted = packagesOf(join(root, "package-lock.json"));
  const present = packagesOf(join(modules, ".package-lock.json"));
  if (wanted === undefined) fail("package-lock.json is missing or broken");
  if (present === undefined) return false;
  const isAsWanted = ([path, { version, optional }]) => {
    const found = present[path];
    // Binaries for other platforms are optional, and absent.
    return found === undefined ? optional === true : found.version === version;
  };
  return Object.entries(wanted)
    .filter(([path]) => path !== "")
    .every(isAsWanted);
}

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8")).packages;
  } catch {
    return undefined;
  }
}

/** The packaged Node, or, where its install script was not allowed to run, this one if it is new enough. */
function chooseNode() {
  if (existsSync(packagedNode)) return packagedNode;
  if (Number(process.versions.node.split(".")[0]) >= ownNode) return process.execPath;
  return fail(
    `The package node@${ownNode} is installed without its program (${packagedNode}): its install script did ` +
      "not run. Run `npm rebuild node --ignore-scripts=false`, or run this under " +
      `Node ${ownNode} or later.`,
  );
}

/** Tests that need no API server can do without Go. */
function onlyUnitTests() {
  const at = args.indexOf("--project");
  const projects = args.filter(
    (arg, index) => arg.startsWith("--project=") || (at >= 0 && index === at + 1),
  );
  return (
    name.startsWith("test") &&
    projects.length > 0 &&
    projects.every((arg) => ["unit", "simulation"].includes(arg.replace("--project=", "")))
  );
}

async function buildControlPlane() {
  const code = await run(node, ["test/cluster/cli.ts", "--build-only"], undefined, environment);
  if (code === 0) return;
  fail(
    "There is no Kubernetes control plane to run. It is built with Go 1.26 or later, which has to be on PATH " +
      "(an older Go fetches the newer one by itself if it is allowed to); test/cluster/README.md has more.",
  );
}

/** Runs a program to its end and answers its exit code; says every ten seconds that it is still at it. */
function run(file, argv, what, env) {
  const startedAt = Date.now();
  const news = () => say(`${what}: ${Math.round((Date.now() - startedAt) / 1000)} s`);
  const timer = what === undefined ? undefined : setInterval(news, newsEveryMs);
  return new Promise((resolve) => {
    const stdio = ["ignore", what === undefined ? "ignore" : "inherit", "inherit"];
    const child = spawn(file, argv, { cwd: root, env, stdio });
    child.on("error", (error) => {
      say(`${file}: ${error.message}`);
      resolve(127);
    });
    child.on("close", (code) => resolve(code ?? 1));
  }).finally(() => clearInterval(timer));
}

/** Hands over to the task: its streams, its signals and its end are those of this process. */
async function become(file, argv) {
  const child = spawn(file, argv, { cwd: root, env: environment, stdio: "inherit" });
  const forward = (signal) => child.kill(signal);
  // Ctrl-C in a terminal reaches the whole group, so the task gets it without help, and only once.
  process.on("SIGINT", process.stdin.isTTY ? () => {} : forward);
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, forward);
  const [code, signal] = await new Promise((resolve, reject) => {
    child.on("error", reject).on("exit", (...end) => resolve(end));
  });
  if (signal === null) process.exit(code ?? 1);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

function say(line) {
  process.stderr.write(`[setup] ${line}\n`);
}

/** @returns {never} */
function fail(message) {
  say(message);
  process.exit(1);
}
