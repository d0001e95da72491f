/** What only the control plane of the tests promises; the suites that use it notice the rest. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, test, vi } from "vitest";
import { startControlPlane } from "../cluster/control-plane.ts";

const patience = { timeout: 20_000, interval: 100 };

describe("a stopped control plane", () => {
  test("leaves no process and no directory", async () => {
    const cluster = await startControlPlane();
    await cluster.stop();
    expect(processesIn(cluster.directory)).toEqual([]);
    expect(existsSync(cluster.directory)).toBe(false);
  });
});

describe("a control plane that cannot start", () => {
  test("says why and keeps its logs", async () => {
    const cluster = startControlPlane({ users: [{ name: 'a "quoted name' }] });
    const error = await cluster.then(
      () => new Error("it started"),
      (reason: Error) => reason,
    );
    const directory = error.message.match(/kept in (.*)/)?.at(1) ?? "";
    expect(error.message).toContain("kube-apiserver.log:\n");
    expect(existsSync(join(directory, "kube-apiserver.log"))).toBe(true);
    expect(processesIn(directory)).toEqual([]);
    rmSync(directory, { recursive: true });
  });

  test("does not touch a directory that is in use", async () => {
    await expect(startControlPlane({ directory: import.meta.dirname })).rejects.toThrow(
      "not empty",
    );
  });
});

describe("the command line", () => {
  test("stops the control plane on SIGTERM", async () => {
    const { child, directory } = await startCli();
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
    expect(processesIn(directory)).toEqual([]);
    expect(existsSync(directory)).toBe(false);
  });

  // Only the programs of our own build watch their parent.
  test.skipIf(process.env.KUBEBUILDER_ASSETS)("takes its programs along when killed", async () => {
    const { child, directory } = await startCli();
    expect(processesIn(directory)).toHaveLength(3);
    child.kill("SIGKILL");
    await vi.waitFor(() => expect(processesIn(directory)).toEqual([]), patience);
    rmSync(directory, { recursive: true });
  });
});

async function startCli(): Promise<{ child: ChildProcess; directory: string }> {
  const directory = mkdtempSync(join(tmpdir(), "iam-operator-cli-"));
  const cli = join(import.meta.dirname, "../cluster/cli.ts");
  const child = spawn(process.execPath, [cli, "--directory", directory], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith("ready")) return { child, directory };
  }
  throw new Error("the command ended before it was ready");
}

/** Every program of a control plane works in that control plane's directory. */
function processesIn(directory: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`).startsWith(directory);
    } catch {
      return false;
    }
  });
}
