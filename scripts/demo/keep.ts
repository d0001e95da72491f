/** Leaves the demo running: a process of its own does all of it, and this one shows what that prints until it is ready. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const EVERY_MS = 200;
/** In the environment of the process that is left running. */
export const KEPT = "IAM_OPERATOR_DEMO_KEPT";
/** The last line before the process waits for its end. */
export const READY = "The demo is ready.";

/** Rejects if the demo ends before it is ready; what it printed is shown. */
export async function keepRunning(demo: string, args: readonly string[]): Promise<void> {
  const log = join(mkdtempSync(join(tmpdir(), "iam-operator-demo-kept-")), "demo.log");
  const output = openSync(log, "a");
  const child = spawn(process.execPath, [demo, ...args], {
    detached: true,
    stdio: ["ignore", output, output],
    env: { ...process.env, [KEPT]: log },
  });
  closeSync(output);
  const stop = () => child.kill("SIGTERM");
  process.once("SIGINT", stop);
  try {
    await showUntilReady(log, child);
  } finally {
    process.removeListener("SIGINT", stop);
    child.unref();
  }
}

async function showUntilReady(log: string, child: ChildProcess): Promise<void> {
  const file = openSync(log, "r");
  const buffer = Buffer.alloc(65_536);
  let seen = "";
  try {
    for (;;) {
      const hasEnded = child.exitCode !== null || child.signalCode !== null;
      for (let size = readSync(file, buffer); size > 0; size = readSync(file, buffer)) {
        const text = buffer.toString("utf8", 0, size);
        process.stdout.write(text);
        seen += text;
      }
      if (seen.includes(READY)) return;
      if (hasEnded) throw new Error("it ended before it was ready; see above");
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  } finally {
    closeSync(file);
  }
}
