/** Whether the compiler notices a mutant: some conditions only narrow a type. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Verdict } from "./verdict.ts";

/** `if (false)`, which the mutants themselves write, says nothing about their bugs. */
const UNREACHABLE_CODE = "TS7027";

/** Only errors in the changed file count: a copy of the sources lacks what other files import. */
export async function compile(root: string, file: string): Promise<Verdict> {
  const command = [join(root, "node_modules/typescript/bin/tsc"), "--noEmit", "-p", root];
  const child = spawn(process.execPath, command, {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const errors = (await text(child.stdout))
    .split("\n")
    .filter((line) => line.startsWith(`${file}(`));
  const found = errors.find((line) => !line.includes(UNREACHABLE_CODE));
  return found === undefined
    ? { kind: "Missed" }
    : { kind: "Noticed", test: `the compiler: ${found}` };
}
