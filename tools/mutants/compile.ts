/** Whether the compiler notices a mutant: some conditions only narrow a type. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import type { Verdict } from "./verdict.ts";

export function compile(root: string): Verdict {
  const command = [join(root, "node_modules/typescript/bin/tsc"), "--noEmit", "-p", root];
  const { stdout } = spawnSync(process.execPath, command, { cwd: root, encoding: "utf8" });
  const [error] = stdout.match(/error TS\d+.*/) ?? [];
  return error === undefined
    ? { kind: "Missed" }
    : { kind: "Noticed", test: `the compiler: ${error}` };
}
