import { defineConfig } from "vitest/config";
import { ClosingWords } from "./test/setup/closing-words.ts";

/**
 * Tests that start an API server of their own, since they crash it, or need other users; and those of other programs
 * in Go.
 */
const withOwnServer = ["test/server/**/*.test.ts", "test/gitops/**/*.test.ts"];
/** Tests in namespaces of the one API server that the global setup starts. */
const withSharedServer = ["test/integration/**/*.test.ts", "test/**/*.cluster.test.ts"];
/** The program as a process of its own, killed and cut off. */
const withProcesses = ["test/process/**/*.test.ts"];
/** Thousands of simulated worlds, on all cores: nothing else runs meanwhile. */
const simulations = ["test/simulation/{campaign,years}*.test.ts"];
/** Part of `npm run test:all` only. */
const long = ["test/**/*.long.test.ts"];
/** Has a configuration of its own; see `npm run chart:test`. */
const elsewhere = ["test/chart/**"];
const all = process.env.TEST_SUITE === "all";
const notUnit = [...withOwnServer, ...withSharedServer, ...withProcesses, ...simulations];
const minute = 60_000;
/** Tests that wait for real servers in real time may lose a race against a busy machine, once. */
const retry = process.env.CI === undefined ? 0 : 1;

function project(name: string, include: readonly string[], exclude: readonly string[] = []) {
  const left = [...exclude, ...elsewhere, ...(all ? [] : long)];
  return { name, include: [...include], exclude: left };
}

export default defineConfig({
  test: {
    // On two cores: many tests wait for real servers in real time.
    maxWorkers: 3,
    pool: "forks",
    reporters: [
      "default",
      ["json", { outputFile: "reports/tests.json" }],
      new ClosingWords(import.meta.dirname),
    ],
    coverage: {
      provider: "v8",
      include: ["src/**"],
      reporter: ["text-summary", "json-summary"],
    },
    projects: [
      {
        extends: true,
        test: {
          ...project("unit", ["test/**/*.test.ts"], notUnit),
          setupFiles: ["test/setup/fuzz-seed.ts"],
          testTimeout: all ? 10 * minute : minute / 2,
          hookTimeout: minute,
        },
      },
      {
        extends: true,
        test: {
          ...project("server", withOwnServer),
          retry,
          testTimeout: minute,
          // A first run builds the API server in here, unless scripts/run.mjs has done so before.
          hookTimeout: 30 * minute,
        },
      },
      {
        extends: true,
        test: {
          ...project("process", withProcesses),
          retry,
          testTimeout: 10 * minute,
          hookTimeout: 30 * minute,
        },
      },
      {
        extends: true,
        test: {
          ...project("simulation", simulations),
          sequence: { groupOrder: 1 },
          maxWorkers: 1,
        },
      },
      {
        extends: true,
        test: {
          ...project("cluster", withSharedServer),
          retry,
          globalSetup: "test/setup/control-plane.ts",
          testTimeout: all ? 10 * minute : minute,
          hookTimeout: 2 * minute,
        },
      },
    ],
  },
});
