/** A lock between processes: a file that names the process holding it. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const pollEveryMs = 500;

/**
 * Runs `work` while no other living process on this machine does so under the same file.
 *
 * *Caveat*: a lock whose holder has died is taken over, and two processes that do so in the same
 * instant may both run. The work must therefore be safe, if wasteful, when done twice.
 */
export async function withLock(
  file: string,
  onProgress: (line: string) => void,
  work: () => Promise<void>,
): Promise<void> {
  let announced = false;
  while (!tryLock(file)) {
    const holder = holderOf(file);
    if (!isAlive(holder)) {
      rmSync(file, { force: true });
      continue;
    }
    if (!announced) onProgress(`waiting for process ${holder}, which holds ${file}`);
    announced = true;
    await sleep(pollEveryMs);
  }
  try {
    await work();
  } finally {
    rmSync(file, { force: true });
  }
}

function tryLock(file: string): boolean {
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

function holderOf(file: string): number | undefined {
  try {
    // An empty file belongs to a process that is about to write its id.
    const text = readFileSync(file, "utf8");
    return text === "" ? process.pid : Number(text);
  } catch {
    return undefined;
  }
}

function isAlive(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
