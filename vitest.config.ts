import { defineConfig } from "vitest/config";
import { ClosingWords } from "./test/setup/closing-words.ts";
import { MixedSequencer } from "./test/setup/sequencer.ts";

/**
 * Tests that start an API server of their own, since they crash it, or need other users; and those of other programs
 * in Go.
 */
const withOwnServer = ["test/server/**/*.test.ts", "test/gitops/**/*.test.ts"];
/** Tests in namespaces of the one API server that the global setup starts. */
const withSharedServer = ["test/integration/**/*.test.ts"];
/** The program as a process of its own, killed and cut off; most of them in namespaces of the shared API server too. */
const withProcesses = ["test/process/**/*.test.ts"];
/** No Kubernetes: what mirrors src/, attacks of tenants, and the tests of programs beside what they test. */
const withoutServers = [
  "test/{cluster,image,release,scripts,support,tenants,unit}/**/*.test.ts",
  "tools/**/*.test.ts",
];
/** Thousands of simulated worlds, on all cores: nothing else runs meanwhile. */
const simulations = ["tools/simulation/{campaign,years}*.test.ts"];
/** Part of `npm run test:all` only. */
const long = ["{test,tools}/**/*.long.test.ts"];
/** The helm chart: it needs helm, and API servers of its own. */
const chart = ["test/chart/**/*.test.ts"];
/** Of the chart, what depends on the version of the API server. */
const chartOnServers = ["test/chart/rights*.test.ts", "test/chart/release.test.ts"];
/** What TEST_SUITE names runs; `scripts/run.mjs` sets it. */
const suite = process.env.TEST_SUITE ?? "";
const all = suite === "all";
const controlPlane = "test/setup/control-plane.ts";
const minute = 60_000;

function project(name: string, include: readonly string[], exclude: readonly string[] = []) {
  const left = [...exclude, ...(all ? [] : long)];
  return { name, include: [...include], exclude: left };
}

const unit = {
  extends: true as const,
  test: {
    ...project("unit", withoutServers, simulations),
    setupFiles: ["test/setup/fuzz-seed.ts"],
    // A random test takes seconds; on a machine that is busy with other things, ten times as many.
    testTimeout: all ? 10 * minute : 2 * minute,
    hookTimeout: minute,
  },
};

const server = {
  extends: true as const,
  test: {
    ...project("server", withOwnServer),
    testTimeout: minute,
    // A first run builds the API server in here, unless scripts/run.mjs has done so before.
    hookTimeout: 30 * minute,
  },
};

const processes = {
  extends: true as const,
  test: {
    ...project("process", withProcesses),
    globalSetup: controlPlane,
    testTimeout: 10 * minute,
    hookTimeout: 30 * minute,
  },
};

const simulation = {
  extends: true as const,
  test: {
    ...project("simulation", simulations),
    sequence: { groupOrder: 1 },
    maxWorkers: 1,
  },
};

const cluster = {
  extends: true as const,
  test: {
    ...project("cluster", withSharedServer),
    globalSetup: controlPlane,
    testTimeout: all ? 10 * minute : 2 * minute,
    hookTimeout: 2 * minute,
  },
};

function chartProject(include: readonly string[]) {
  return {
    extends: true as const,
    test: {
      ...project("chart", include),
      setupFiles: ["test/setup/fuzz-seed.ts"],
      testTimeout: all ? 10 * minute : 2 * minute,
      hookTimeout: 30 * minute,
    },
  };
}

function projectsOfSuite() {
  if (suite === "chart") return [chartProject(chart)];
  if (suite === "mutants") return [unit, chartProject(chart)];
  if (suite === "oldest") return [cluster, chartProject(chartOnServers)];
  return [unit, server, processes, simulation, cluster];
}

export default defineConfig({
  test: {
    // On two cores: most of these wait for real servers in real time.
    maxWorkers: 5,
    sequence: { sequencer: MixedSequencer },
    pool: "forks",
    // Files of one process share their modules: to load them for each file costs a minute of CPU time.
    isolate: false,
    // A shortened name of a test cannot be searched for.
    taskTitleValueFormatTruncate: 0,
    reporters: [
      "default",
      ["json", { outputFile: suite === "chart" ? "reports/chart.json" : "reports/tests.json" }],
      new ClosingWords(import.meta.dirname),
    ],
    coverage: {
      provider: "v8",
      include: ["src/**"],
      reporter: ["text-summary", "json-summary"],
    },
    projects: projectsOfSuite(),
  },
});
