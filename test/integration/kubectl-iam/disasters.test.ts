/** Disasters after `backup`, and `restore` after them: none costs an account or a key. */
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { kinds } from "../../../src/api/kinds.ts";
import { GROUP } from "../../../src/api/meta.ts";
import { namespaceType } from "../../../src/kube/resource-types.ts";
import { MINUTE } from "../../../src/util/time.ts";
import { ROOT } from "../../real-world/program.ts";
import { connectShared, useServers } from "../../real-world/use-servers.ts";
import type { World } from "../../real-world/world.ts";
import { runAlone, servingAll } from "../../tenants/support/cluster-connection.ts";
import { runInProcess } from "../../unit/kubectl-iam/support/in-process.ts";
import type { Ended } from "../../unit/kubectl-iam/support/plugin.ts";

const servers = useServers();
runAlone();

const KEYS = ["ci-key", "own-key"];
const SUMMARY =
  "ApiKeys Ready with a key of the backup: 2 of 2. Accounts created: 0. Keys issued: 0.";
const folder = mkdtempSync(join(tmpdir(), "disasters-"));
let world: World;

/** An account of a ClusterConnection that grants no import, and an account of a Connection, both with a rotated key. */
beforeAll(async () => {
  world = await servers().openWorld({ config: servingAll });
  const { namespace } = world;
  const { spec } = await world.get("Connection", "console");
  const grant = { name: "team", namespaces: { names: [namespace] }, policyIds: ["*"] };
  await world.apply("ClusterConnection", namespace, { ...spec, grants: [grant] });
  await world.start();
  await world.serviceAccount("ci", {
    connectionRef: { kind: "ClusterConnection", name: namespace },
  });
  await world.serviceAccount("own");
  const ref = { serviceAccountRef: { name: "ci" } };
  await world.apply("PolicyBinding", "ci", { ...ref, policyIds: ["pol-read", "pol-deploy"] });
  await world.apiKey("ci-key", ref, { labels: { team: "a" } });
  await world.apiKey("own-key", { serviceAccountRef: { name: "own" } });
  const connectionRef = { kind: "Connection", name: "console" };
  await world.apply("ResourceQuotaExport", "cluster-7", { connectionRef, clusterId: 7 });
  for (const name of KEYS) {
    await world.ready("ApiKey", name);
    const first = await currentId(name);
    await world.rotate(name, "before the backup");
    await world.until(`another key of ${name}`, async () => (await currentId(name)) !== first);
    await world.ready("ApiKey", name);
  }
  await world.ready("PolicyBinding", "ci");
}, 2 * MINUTE);
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await world.close();
});

async function iam(here: World, kubeconfig: string, words: readonly string[]): Promise<Ended> {
  const home = ["--operator-namespace", here.namespace, "--kubeconfig", kubeconfig];
  const ended = await runInProcess([...words, ...home]);
  here.logs.push(ended.output, ended.notes);
  return ended;
}

async function backUp(name: string): Promise<string> {
  const file = join(folder, name);
  const words = ["backup", file, "-n", world.namespace];
  const ended = await iam(world, servers().cluster.kubeconfig, words);
  expect(ended, ended.notes).toMatchObject({ code: 0, output: "" });
  expect(ended.notes).toContain(
    `${file} holds secrets: Secrets with key pairs: ${name === "lost.yaml" ? 3 : 2}, Secrets of connections: 1.`,
  );
  expect(statSync(file).mode & 0o777).toBe(0o600);
  return file;
}

async function currentId(name: string): Promise<string | undefined> {
  return (await world.find("ApiKey", name))?.status?.current?.keyId;
}

/** What a disaster must not change: the console's accounts and keys, and the key of each ApiKey. */
async function readBooks() {
  const { accounts, keys } = world.iam.world;
  const ids = await Promise.all(KEYS.map(currentId));
  const { saId, tpn = "" } = (await world.get("ServiceAccount", "ci")).status ?? {};
  return { accounts: accounts.size, keys: keys.size, ids, saId, tpn };
}

async function expectRestored(here: World, before: Awaited<ReturnType<typeof readBooks>>) {
  const { accounts, keys, boundTo } = world.iam.world;
  expect({ accounts: accounts.size, keys: keys.size }).toEqual({
    accounts: before.accounts,
    keys: before.keys,
  });
  for (const [index, name] of KEYS.entries()) {
    expect((await here.ready("ApiKey", name)).status?.current?.keyId).toBe(before.ids[index]);
    expect(await here.holdsLivePair(name)).toBe(true);
  }
  expect(boundTo.call(world.iam.world, before.tpn).toSorted()).toEqual(["pol-deploy", "pol-read"]);
  const account = await here.ready("ServiceAccount", "ci");
  expect(account.spec).toMatchObject({ saId: before.saId, deletionPolicy: "Revoke" });
  expect((await here.get("ApiKey", "ci-key")).metadata.labels).toEqual({ team: "a" });
  await here.ready("ResourceQuotaExport", "cluster-7");
}

test("a namespace deleted by mistake", { timeout: 3 * MINUTE }, async () => {
  const before = await readBooks();
  const file = await backUp("namespace.yaml");
  const { kube, cluster } = servers();
  const key = { namespace: "", name: world.namespace };
  await kube.delete(namespaceType, key, {});
  const isGone = async () => (await kube.get(namespaceType, key)) === undefined;
  await world.until("the namespace to be gone", isGone, MINUTE);
  expect(world.iam.world.boundTo(before.tpn)).toEqual([]);

  const { code, output, notes } = await iam(world, cluster.kubeconfig, [
    "restore",
    "-f",
    file,
    "--yes",
  ]);
  expect({ code, notes }).toEqual({ code: 0, notes: "" });
  expect(output).toContain(`iamcconn/${world.namespace} has grant restored-accounts\n`);
  expect(output).toContain(`${SUMMARY}\n`);
  await expectRestored(world, before);
});

test("the CRDs deleted, and all objects with them", { timeout: 3 * MINUTE }, async () => {
  const before = await readBooks();
  const file = await backUp("crds.yaml");
  const { kubectl, cluster } = servers();
  const crds = kinds.map(({ plural }) => `${plural}.${GROUP}`);
  await kubectl(["delete", "crd", ...crds, "--timeout=60s"]);
  expect(await world.secret("ci-key")).toBeUndefined();

  await world.manager?.stop();
  await kubectl(["apply", "--server-side", "-f", join(ROOT, "crds")]);
  await kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
  // A running operator notices new definitions as well, within half a minute.
  await world.start();
  const { code, output } = await iam(world, cluster.kubeconfig, ["restore", "-f", file, "--yes"]);
  expect(code).toBe(0);
  expect(output).toContain(`${SUMMARY}\n`);
  await expectRestored(world, before);
});

test("the cluster lost while a new key was pending", { timeout: 3 * MINUTE }, async () => {
  const fault = world.iam.faults.add({
    operation: "searchActions",
    fault: { kind: "Refuse", status: 502 },
    times: "always",
  });
  await world.rotate("ci-key", "before the loss");
  let pending: string | undefined;
  await world.until("a pending key", async () => {
    pending = (await world.get("ApiKey", "ci-key")).status?.pending?.keyId;
    return pending !== undefined;
  });
  await world.manager?.stop();
  const before = { ...(await readBooks()), ids: [pending, await currentId("own-key")] };
  const file = await backUp("lost.yaml");
  fault.remove();
  for (const dropped of [
    "rotate-requested-at",
    "iam-operator.io/intent",
    "uid:",
    "resourceVersion:",
    "finalizers:",
    "status:",
  ])
    expect(readFileSync(file, "utf8")).not.toContain(dropped);

  const other = await connectShared();
  const there = world.on(other);
  const { kubeconfig } = inject("controlPlane");
  await there.start();
  const dry = await iam(there, kubeconfig, ["restore", "-f", file, "--dry-run"]);
  expect(dry.output).toContain(`iamkey/ci-key in namespace ${there.namespace} created (dry run)\n`);
  expect(
    await other.kube.get(namespaceType, { namespace: "", name: there.namespace }),
  ).toBeUndefined();
  const { code, output, notes } = await iam(there, kubeconfig, ["restore", "-f", file, "--yes"]);
  expect({ code, notes }).toEqual({ code: 0, notes: "" });
  expect(output).toContain(`${SUMMARY}\n`);
  await expectRestored(there, before);

  const again = await iam(there, kubeconfig, ["restore", "-f", file, "--yes"]);
  const repeated = `Nothing to create: every object exists.\n${SUMMARY}\n`;
  expect(again).toEqual({ code: 0, output: repeated, notes: "" });
  await expectRestored(there, before);
  await there.close();
  await there.patch("ClusterConnection", there.namespace, { metadata: { finalizers: null } });
  await there.delete("ClusterConnection", there.namespace);
});
