/** The demo: in an existing cluster, and left running. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKubectl, type Kubectl } from "../../scripts/demo/kubectl.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";

const root = join(import.meta.dirname, "../..");
let cluster: ControlPlane;
let kubectl: Kubectl;

beforeAll(async () => {
  cluster = await startControlPlane();
  kubectl = createKubectl(cluster.kubectl, cluster.kubeconfig);
});
afterAll(() => cluster?.stop());

interface Ended {
  readonly code: number;
  readonly output: string;
}

function runDemo(...options: readonly string[]): Promise<Ended> {
  return run(process.execPath, ["scripts/demo.ts", ...options], process.env);
}

function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: root, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr }),
    );
  });
}

/** What a demo could leave behind. */
async function inventory(): Promise<string> {
  const kinds = "crd,namespace,clusterrole,clusterrolebinding";
  return kubectl(["get", kinds, "-o", "name"]);
}

test("leaves a cluster as it was", async () => {
  const before = await inventory();
  const { code, output } = await runDemo("--once", "--kubeconfig", cluster.kubeconfig);
  expect(code, output).toBe(0);
  expect(output).toContain("Rotate the key on request");
  expect(await inventory()).toBe(before);
});

test("does not touch a cluster that has a namespace of its own by that name", async () => {
  await kubectl(["create", "namespace", "team-a"]);
  const { code, output } = await runDemo("--once", "--kubeconfig", cluster.kubeconfig);
  expect(code).not.toBe(0);
  expect(output).toContain("this cluster has already: namespace/team-a");
  expect(await kubectl(["get", "namespace", "team-a", "-o", "name"])).toBe("namespace/team-a\n");
});

test("--keep leaves everything running until its process is ended", async () => {
  const { code, output } = await runDemo("--keep");
  const pid = Number(/kill (\d+)/.exec(output)?.[1]);
  const [, kubeconfig = ""] = /^ *export KUBECONFIG=(.*)$/m.exec(output) ?? [];
  const [, bin = ""] = /^ *export PATH=(.*):\$PATH$/m.exec(output) ?? [];
  try {
    expect(code, output).toBe(0);
    const env = { ...process.env, KUBECONFIG: kubeconfig, PATH: `${bin}:${process.env.PATH}` };
    const status = await run("kubectl", ["iam", "status"], env);
    expect(status.output).toMatch(/^iamkey\/ci-bot-key +True +KeyDelivered/m);
    expect(status.code).toBe(0);
    const { output: findings } = await run("kubectl", ["iam", "doctor"], env);
    expect(findings).toMatch(/^ok +Leader +/m);
  } finally {
    if (pid > 0) process.kill(pid, "SIGTERM");
  }
  await expect.poll(() => isRunning(pid), { timeout: 30_000 }).toBe(false);
  expect([kubeconfig, dirname(bin)].filter(existsSync)).toEqual([]);
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
