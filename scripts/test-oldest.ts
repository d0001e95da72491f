/** What depends on the API server, on the Kubernetes of TEST_KUBERNETES: the whole operator, and the chart. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const runs = [
  ["node_modules/vitest/vitest.mjs", "run", "--project", "cluster"],
  ["scripts/chart-test.ts", "test/chart/rights", "test/chart/release.test.ts"],
];
const failed = runs.filter((command) => {
  const { status } = spawnSync(process.execPath, command, {
    cwd: join(import.meta.dirname, ".."),
    stdio: "inherit",
  });
  return status !== 0;
});
process.exitCode = failed.length === 0 ? 0 : 1;
