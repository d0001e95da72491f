/** The simulation against a copy of the sources: in a process of its own, since each mutant needs all modules again. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Verdict } from "./verdict.ts";

/** A run that does not end is as good as a violation. The process itself stops between two runs, long before this. */
const PATIENCE_MS = 480_000;

/** In place of an area: nothing but the run that is known. */
export const ONLY_KNOWN = "-";

/** First the run that noticed the mutant the last time. */
export async function simulate(root: string, area: string, known = ""): Promise<Verdict> {
  const command = [join(root, "tools/simulation/first-violation.ts"), known, area];
  const child = spawn(process.execPath, command, {
    cwd: root,
    timeout: PATIENCE_MS,
    killSignal: "SIGKILL",
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NODE_COMPILE_CACHE: join(root, ".compiled") },
  });
  const [found, errors, signal] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<NodeJS.Signals | null>((resolve) => {
      child.on("close", (_, by) => resolve(by));
    }),
  ]);
  if (signal !== null) return { kind: "Noticed", test: "seed 0 | a run does not end" };
  const result = /^(?:NOTICED (?<test>.+)|MISSED)$/m.exec(found);
  if (result === null) return { kind: "Broken", why: errors.slice(0, 2_000) };
  const test = result.groups?.test;
  return test === undefined ? { kind: "Missed" } : { kind: "Noticed", test };
}
