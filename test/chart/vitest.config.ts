/** The chart's own suite: it needs helm, and API servers of its own. Run by scripts/chart-test.ts. */
import { defineConfig } from "vitest/config";

const minute = 60_000;

// biome-ignore lint/style/noDefaultExport: vitest wants it so
export default defineConfig({
  test: {
    include: ["test/chart/**/*.test.ts"],
    root: new URL("../..", import.meta.url).pathname,
    // On two cores: they wait for real servers in real time.
    maxWorkers: 3,
    pool: "forks",
    testTimeout: 2 * minute,
    hookTimeout: 30 * minute,
    reporters: ["default"],
  },
});
