/** Two clusters with one console: the same manifests in both, and accounts that move, as docs/several-clusters.md shows. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { MINUTE } from "../../../src/util/time.ts";
import { ROOT } from "../../real-world/program.ts";
import { connectShared, useServers } from "../../real-world/use-servers.ts";
import type { World } from "../../real-world/world.ts";
import { runAlone, servingAll } from "../../tenants/support/cluster-connection.ts";
import { runInProcess } from "../../unit/kubectl-iam/support/in-process.ts";

const servers = useServers();
runAlone();

const page = readFileSync(join(ROOT, "docs/several-clusters.md"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "clusters-"));
let blue: World;
let green: World;

beforeAll(async () => {
  blue = await servers().openWorld({ config: { ...servingAll, clusterName: "blue" } });
  green = blue.on(await connectShared());
}, MINUTE);
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await green.close();
  await green.patch("ClusterConnection", green.namespace, { metadata: { finalizers: null } });
  await green.delete("ClusterConnection", green.namespace);
});

/** Runs what the page shows for namespace team-a. */
async function follow(command: string, kubeconfig: string): Promise<string> {
  expect(page).toContain(command);
  const words = command
    .replaceAll("team-a", blue.namespace)
    .replaceAll("move.yaml", join(folder, "move.yaml"));
  const [program, plugin, ...args] = words.split(" ");
  expect([program, plugin]).toEqual(["kubectl", "iam"]);
  const where = ["--kubeconfig", kubeconfig, "--operator-namespace", blue.namespace];
  const { code, output, notes } = await runInProcess([...args, ...where]);
  expect(code, notes).toBe(0);
  return output;
}

/** Runs the shell commands of the page that begin like this. */
async function followScript(start: string, kubeconfig: string): Promise<void> {
  const blocks = page.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm);
  const scripts = [...blocks].map(([, text = ""]) => text.trim());
  const script = scripts.find((text) => text.startsWith(start)) ?? "";
  expect(script).not.toBe("");
  const PATH = `${join(servers().cluster.kubectl, "..")}:${process.env.PATH}`;
  const env = { ...process.env, PATH, KUBECONFIG: kubeconfig };
  const told = script.replaceAll("team-a", blue.namespace);
  await promisify(execFile)("bash", ["-euo", "pipefail", "-c", told], { env });
}

/** Looks at the console all the time; the result ends that, and returns what was missing at any moment. */
function watchFor(isIn: () => Readonly<Record<string, boolean>>): () => Promise<readonly string[]> {
  const missing = new Set<string>();
  const timer = setInterval(() => {
    for (const [what, isThere] of Object.entries(isIn())) if (!isThere) missing.add(what);
  }, 2);
  return async () => {
    clearInterval(timer);
    return [...missing];
  };
}

function createAccount(cluster: World, name: string): Promise<unknown> {
  const connectionRef = { kind: "ClusterConnection", name: cluster.namespace };
  return cluster.serviceAccount(name, { connectionRef });
}

test("an account and its key move to another cluster: no key is issued, and nothing is missing at any moment", {
  timeout: 3 * MINUTE,
}, async () => {
  const { accounts, keys } = blue.iam.world;
  const { namespace } = blue;
  const { spec } = await blue.get("Connection", "console");
  // Without importServiceAccounts and retainPolicies.
  const grants = [{ name: "team", namespaces: { names: [namespace] }, policyIds: ["*"] }];
  const connection = { ...spec, grants, accountNamePrefix: "blue-" };
  await blue.apply("ClusterConnection", namespace, connection);
  await blue.start();
  await createAccount(blue, "ci");
  const ref = { serviceAccountRef: { name: "ci" } };
  await blue.apply("PolicyBinding", "read", { ...ref, policyIds: ["pol-read"] });
  await blue.apiKey("ci-key");
  await blue.ready("ApiKey", "ci-key");
  await blue.ready("PolicyBinding", "read");
  const { saId = "", tpn = "" } = (await blue.get("ServiceAccount", "ci")).status ?? {};
  expect(accounts.get(saId)).toMatchObject({
    name: `blue-${namespace}-ci`,
    description: expect.stringContaining(`k8s@blue ${namespace}/ci#`),
  });
  const pair = await blue.entries("ci-key");
  const { keyId = "" } = (await blue.get("ApiKey", "ci-key")).status?.current ?? {};
  const stopWatching = watchFor(() => ({
    "the key": blue.iam.world.whyKeyIsRefused(keyId) === undefined,
    "the policy": blue.iam.world.boundTo(tpn).includes("pol-read"),
  }));

  const here = servers().cluster.kubeconfig;
  const there = inject("controlPlane").kubeconfig;
  await follow("kubectl iam backup move.yaml -n team-a", here);
  await follow("kubectl iam suspend --all -n team-a", here);
  await green.start({ clusterName: "green" });
  const summary = "1 of 1. Accounts created: 0. Keys issued: 0.";
  expect(await follow("kubectl iam restore -f move.yaml --yes", there)).toContain(summary);
  await green.ready("ApiKey", "ci-key");
  await green.ready("PolicyBinding", "read");
  await followScript("kubectl delete iamkey", here);
  for (const [kind, name] of [
    ["ApiKey", "ci-key"],
    ["PolicyBinding", "read"],
    ["ServiceAccount", "ci"],
  ] as const)
    await blue.isGone(kind, name);
  // The managers look at everything again.
  await green.reconcile("ServiceAccount", "ci", "moved");
  await green.reconcile("ApiKey", "ci-key", "moved");
  expect(await stopWatching()).toEqual([]);
  expect({ accounts: accounts.size, keys: keys.size }).toEqual({ accounts: 1, keys: 1 });
  expect(await green.entries("ci-key")).toEqual(pair);

  await green.rotate("ci-key", "in its new home");
  const current = async () => (await green.get("ApiKey", "ci-key")).status?.current?.keyId ?? "";
  await green.until("another key", async () => (await current()) !== keyId);
  expect(keys.get(await current())?.description).toContain(`k8s@green ${namespace}/ci-key#`);
  await green.reconcile("ServiceAccount", "ci", "rotated");
  await green.condition("ServiceAccount", "ci", "KeysManaged", "True", "NoUnmanagedKeys");
});

test("with the same names, the second cluster names the first one, and a prefix gives it its own account", {
  timeout: 2 * MINUTE,
}, async () => {
  const nameOf = async (cluster: World) => {
    const { saId = "" } = (await cluster.ready("ServiceAccount", "twin")).status ?? {};
    return blue.iam.world.accounts.get(saId)?.name;
  };
  await createAccount(blue, "twin");
  expect(await nameOf(blue)).toBe(`blue-${blue.namespace}-twin`);
  // The restored connection has the prefix of the other cluster.
  await createAccount(green, "twin");
  await green.condition("ServiceAccount", "twin", "Ready", "False", "AccountExists");
  const message = await green.message("ServiceAccount", "twin");
  expect(message).toContain("The description names cluster blue.");
  await green.patch("ClusterConnection", green.namespace, {
    spec: { accountNamePrefix: "green-" },
  });
  expect(await nameOf(green)).toBe(`green-${blue.namespace}-twin`);
  expect(await nameOf(blue)).toBe(`blue-${blue.namespace}-twin`);
});
