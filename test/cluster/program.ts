/** A child process with a log file, which never outlives this process. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, closeSync, openSync, readFileSync } from "node:fs";

const living = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of living) child.kill("SIGKILL");
});

/** What it takes to run a program. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly directory: string;
  readonly log: string;
  /** Beyond that of this process. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** A started program. */
export interface Program {
  readonly log: string;
  isRunning(): boolean;
  /** Ends the program at once and resolves when it is gone. Harmless when it has ended already. */
  kill(): Promise<void>;
}

/** Starts a program in a session of its own, so that Ctrl-C reaches only its parent. */
export function startProgram({ file, args, directory, log, environment }: Command): Program {
  const output = openSync(log, "a");
  const child = spawn(file, args, {
    cwd: directory,
    detached: true,
    stdio: ["ignore", output, output],
    env: { ...process.env, ...environment, TESTBED_PARENT_PID: String(process.pid) },
  });
  closeSync(output);
  living.add(child);
  const gone = once(child, "exit")
    .catch((error) => appendFileSync(log, `${error}\n`))
    .finally(() => living.delete(child));
  return {
    log,
    isRunning: () => living.has(child),
    kill: async () => {
      child.kill("SIGKILL");
      await gone;
    },
  };
}

/** The end of a program's log, for an error message. */
export function lastLines(log: string, count = 15): string {
  return readFileSync(log, "utf8").trimEnd().split("\n").slice(-count).join("\n");
}
