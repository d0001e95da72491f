/** Everything that is checked without running the program: format, lint, import rules, types, generated files. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const steps: readonly (readonly [name: string, ...command: string[]])[] = [
  ["format and lint", "node_modules/@biomejs/biome/bin/biome", "ci", "--diagnostic-level=error"],
  ["import rules", "scripts/check-imports.ts"],
  ["promises and switches", "node_modules/oxlint/bin/oxlint", "--type-aware"],
  ["English", "scripts/check-english.ts"],
  ["types", "node_modules/typescript/bin/tsc"],
  ["lookups of names from outside", "scripts/check-entries.ts"],
  ["bounds of process state", "scripts/check-state.ts"],
  ["stale snapshots", "scripts/check-snapshots.ts"],
  ["generated files", "scripts/generate.ts", "--check"],
];

const verdicts = steps.map(([name, ...command]) => {
  const startedAt = performance.now();
  console.log(`── ${name}`);
  const { status } = spawnSync(process.execPath, command, { cwd: root, stdio: "inherit" });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  return { name, seconds, passed: status === 0 };
});

console.log("");
for (const { name, seconds, passed } of verdicts)
  console.log(`${passed ? "ok    " : "FAILED"}  ${name} (${seconds} s)`);
const failed = verdicts.filter(({ passed }) => !passed).length;
const passed = verdicts.length - failed;
mkdirSync(join(root, "reports"), { recursive: true });
writeFileSync(join(root, "reports/checks.json"), JSON.stringify({ passed, failed }));
console.log(`${passed} checks passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
