import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

test("the generated files are up to date", () => {
  const script = join(import.meta.dirname, "../../../scripts/generate.ts");
  const { status, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
  expect(stderr).not.toContain("not up to date");
  expect(status).toBe(0);
});
