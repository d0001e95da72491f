/** The demo in a cluster that somebody has. */
import { execFile } from "node:child_process";
import { join } from "node:path";
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

function runDemo(): Promise<Ended> {
  const args = ["scripts/demo.ts", "--once", "--kubeconfig", cluster.kubeconfig];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: root }, (error, stdout, stderr) =>
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
  const { code, output } = await runDemo();
  expect(output).toContain("Rotate the key on request");
  expect(code).toBe(0);
  expect(await inventory()).toBe(before);
});

test("does not touch a cluster that has a namespace of its own by that name", async () => {
  await kubectl(["create", "namespace", "team-a"]);
  const { code, output } = await runDemo();
  expect(code).not.toBe(0);
  expect(output).toContain("this cluster has already: namespace/team-a");
  expect(await kubectl(["get", "namespace", "team-a", "-o", "name"])).toBe("namespace/team-a\n");
});
