/** Tests the chart on real API servers; `--json FILE` also writes the results there. Other arguments are vitest's. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";

const root = join(import.meta.dirname, "..");
const args = process.argv.slice(2);
const { values } = parseArgs({
  args,
  options: { json: { type: "string" } },
  strict: false,
  allowPositionals: true,
});
const isOurs = (arg: string, index: number) =>
  arg.startsWith("--json") || args[index - 1] === "--json";
const report =
  typeof values.json === "string"
    ? ["--reporter=default", "--reporter=json", `--outputFile.json=${values.json}`]
    : [];
const { status } = spawnSync(
  process.execPath,
  [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--config=test/chart/vitest.config.ts",
    ...report,
    ...args.filter((arg, index) => !isOurs(arg, index)),
  ],
  { cwd: root, stdio: "inherit" },
);
process.exitCode = status ?? 1;
