/** The workflows of GitHub, as actionlint reads them. Needs Go. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";

const workflows = join(import.meta.dirname, "../../.github/workflows");
const folder = mkdtempSync(join(tmpdir(), "iam-operator-workflows-"));
afterAll(() => rmSync(folder, { recursive: true }));

function actionlint(...files: readonly string[]) {
  const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly", GOWORK: "off" };
  const args = ["tool", "actionlint", "-no-color", "-oneline", ...files];
  return spawnSync("go", args, { cwd: import.meta.dirname, env, encoding: "utf8" });
}

test("actionlint finds nothing in the workflows", () => {
  const files = readdirSync(workflows).map((name) => join(workflows, name));
  expect(files.length).toBeGreaterThan(1);
  expect(actionlint(...files)).toMatchObject({ stdout: "", stderr: "", status: 0 });
});

test("actionlint finds an output that no step has", () => {
  const text = readFileSync(join(workflows, "release.yml"), "utf8");
  const file = join(folder, "broken.yml");
  writeFileSync(file, text.replace("steps.version.outputs", "steps.versions.outputs"));
  expect(actionlint(file).stdout).toContain('property "versions" is not defined');
});
