import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";
import { createNamespace } from "../cluster/namespace.ts";

/** The first start on a machine builds the binary. */
const buildTimeoutMs = 900_000;
const patience = { timeout: 20_000, interval: 100 };
const run = promisify(execFile);

describe("a control plane", () => {
  let cluster: ControlPlane;
  let namespace: string;

  beforeAll(async () => {
    cluster = await startControlPlane({ users: [{ name: "auditor", groups: ["auditors"] }] });
    namespace = await createNamespace(cluster, "test");
  }, buildTimeoutMs);
  afterAll(() => cluster?.stop());

  const kubectl = async (...args: string[]) => {
    const { stdout } = await run(cluster.kubectl, ["--kubeconfig", cluster.kubeconfig, ...args]);
    return stdout.trim();
  };

  const createOwned = async (name: string, owner: Record<string, string>) => {
    const patch = JSON.stringify({ metadata: { ownerReferences: [owner] } });
    await kubectl("-n", namespace, "create", "configmap", name);
    await kubectl("-n", namespace, "patch", "configmap", name, "--type=merge", "-p", patch);
  };
  const whenGone = (name: string) =>
    vi.waitFor(async () => {
      expect(await kubectl("-n", namespace, "get", "configmaps", "-o", "name")).not.toContain(name);
    }, patience);

  test("is Kubernetes v1.36", async () => {
    const version = JSON.parse(await kubectl("get", "--raw", "/version"));
    expect(version.gitVersion).toMatch(/^v1\.36\./);
  });

  test("keeps what it is given", async () => {
    await kubectl("-n", namespace, "create", "configmap", "kept", "--from-literal=a=1");
    const data = await kubectl(
      "-n",
      namespace,
      "get",
      "configmap",
      "kept",
      "-o",
      "jsonpath={.data}",
    );
    expect(data).toBe('{"a":"1"}');
  });

  test("collects what belonged to a deleted owner", async () => {
    const here = (...args: string[]) => kubectl("-n", namespace, ...args);
    await here("create", "configmap", "owner");
    const uid = await here("get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}");
    await createOwned("owned", { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid });
    await here("delete", "configmap", "owner");
    await whenGone("owned");
  });

  test("collects what belonged to an object of a new kind after a restart of the controllers", async () => {
    const file = join(cluster.directory, "crd.json");
    writeFileSync(file, JSON.stringify(widgets));
    await kubectl("apply", "-f", file);
    await kubectl("wait", "--for=condition=Established", "-f", file);
    await cluster.restartControllerManager();

    writeFileSync(file, JSON.stringify(widget));
    const uid = await kubectl(
      "-n",
      namespace,
      "create",
      "-f",
      file,
      "-o",
      "jsonpath={.metadata.uid}",
    );
    await createOwned("part", { apiVersion: widget.apiVersion, kind: "Widget", name: "w", uid });
    await kubectl("-n", namespace, "delete", "-f", file);
    await whenGone("part");
  });

  test("deletes a namespace", async () => {
    const doomed = await createNamespace(cluster, "doomed");
    await kubectl("delete", "namespace", doomed, "--timeout=20s");
    expect(await kubectl("get", "namespaces")).not.toContain(doomed);
  });

  test("knows its users and allows them nothing by itself", async () => {
    for (const user of ["operator", "alice", "mallory", "auditor"]) {
      const as = ["--kubeconfig", cluster.kubeconfigFor(user)];
      await expect(kubectl(...as, "get", "secrets")).rejects.toThrow(
        `User "${user}" cannot list resource "secrets"`,
      );
    }
    expect(() => cluster.kubeconfigFor("nobody")).toThrow("no user nobody");
  });

  test("refuses an unknown user", async () => {
    await expect(kubectl("--token=wrong", "get", "secrets")).rejects.toThrow("Unauthorized");
  });

  test("writes who did what to the audit log", async () => {
    const lines = readFileSync(cluster.auditLog, "utf8").trimEnd().split("\n");
    const events = lines.map((line) => JSON.parse(line));
    expect(events).toContainEqual(
      expect.objectContaining({
        verb: "create",
        user: expect.objectContaining({ username: "admin" }),
        objectRef: expect.objectContaining({ resource: "namespaces", name: namespace }),
        responseStatus: expect.objectContaining({ code: 201 }),
      }),
    );
  });

  test("has its data and its controllers again after a crash of the API server", async () => {
    await kubectl("-n", namespace, "create", "configmap", "survivor");
    await cluster.killApiServer();
    await expect(kubectl("get", "namespaces")).rejects.toThrow("refused");
    await cluster.startApiServer();
    expect(await kubectl("-n", namespace, "get", "configmaps")).toContain("survivor");
    const younger = await createNamespace(cluster, "younger");
    await vi.waitFor(() => kubectl("-n", younger, "get", "serviceaccount", "default"), patience);
  });
});

describe("a stopped control plane", () => {
  test("leaves no process and no directory", async () => {
    const cluster = await startControlPlane();
    await cluster.stop();
    expect(processesIn(cluster.directory)).toEqual([]);
    expect(existsSync(cluster.directory)).toBe(false);
  });

  test("leaves its logs when asked to", async () => {
    const cluster = await startControlPlane({ controllerManager: false });
    await cluster.stop({ keep: true });
    await cluster.stop({ keep: true });
    expect(readdirSync(cluster.directory)).toEqual(
      expect.arrayContaining(["audit.log", "etcd.log", "kube-apiserver.log"]),
    );
    rmSync(cluster.directory, { recursive: true });
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

const widget = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "w" } };
const widgets = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [
      { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
    ],
  },
};

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
