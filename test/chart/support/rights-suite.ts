/** With exactly the chart's rights the operator does all of its work, and uses every one of them: a suite for each scope. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEFAULT_CREDENTIALS } from "../../../tools/iam-server/seed.ts";
import { type IamServer, startIamServer } from "../../../tools/iam-server/server.ts";
import type { OperatorProcess } from "../../real-world/program.ts";
import { type Cluster, install, startCluster } from "./cluster.ts";
import { type OlderServer, startOlderServer } from "./older-server.ts";
import { startDeployed } from "./operator.ts";
import { callsOf, isUsed, type Right, rightsOf, text } from "./rights.ts";
import {
  cancel,
  connectionSpec,
  createLogin,
  manifest,
  order,
  rotate,
  spoil,
  type Tenant,
} from "./tenant.ts";
import { consume } from "./workloads.ts";

const WITHOUT_REQUEST = [
  // Checked by an admission plugin of some clusters when an owner reference is written.
  "update iam-operator.io/apikeys/finalizers",
  // For a PolicyBinding that changes while it is reconciled; a large one is listed with the others of its account.
  "get iam-operator.io/policybindings in ",
  // For Warnings about objects whose namespace is deleted.
  "create events.k8s.io/events in sys-",
];

/** Nobody asks for metrics here: the rights to judge their readers would not be used. */
const quick = [
  "--set=secretCheckInterval=5s",
  "--set=replicas=1",
  "--set=crds.install=false",
  "--set=metrics.secure.enabled=false",
];

/** An API server on a loopback address writes none. */
const ENDPOINTS = JSON.stringify({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: "kubernetes", namespace: "default" },
  addressType: "IPv4",
  endpoints: [{ addresses: ["192.0.2.10"] }],
});

export interface Scope {
  readonly title: string;
  readonly system: string;
  readonly settings: readonly string[];
  readonly shared: boolean;
  /** Whether the operator's Secrets are watched. */
  readonly isWatched: boolean;
  readonly tenants: readonly string[];
}

/** The scopes share an API server, one after the other. */
export function describeRights(scopes: readonly Scope[]): void {
  let cluster: Cluster;
  let iam: IamServer;
  let older: OlderServer;

  beforeAll(async () => {
    cluster = await startCluster();
    iam = await startIamServer();
    older = await startOlderServer(cluster);
    await cluster.asAdmin(["apply", "--server-side", "-f", "crds"]);
    await cluster.asAdmin(["wait", "--for=condition=Established", "crd", "--all", "--timeout=20s"]);
    await cluster.restartControllerManager();
    await cluster.asAdmin(["apply", "-f", "-"], ENDPOINTS);
  });
  afterAll(async () => {
    older?.close();
    await iam?.close();
    await cluster?.stop();
  });

  describe.each(scopes)("$title", ({ system, settings, shared, isWatched, tenants }) => {
    let operator: OperatorProcess | undefined;
    let rights: readonly Right[];
    const account = { namespace: system, name: system };
    const user = `system:serviceaccount:${system}:${system}`;

    afterAll(async () => {
      await operator?.stop();
      // Its admission policies would refuse the statuses of the next one.
      await cluster.helmDo("uninstall", "keys", `--namespace=${system}`);
    });

    test("issues, rotates, repairs, exports and lets go", async () => {
      const kubectl = cluster.asAdmin;
      await cluster.createNamespaces(system, ...tenants);
      const sets = [`fullnameOverride=${system}`, ...settings].map((each) => `--set=${each}`);
      await cluster.helmDo(...install("keys", system, ...quick, ...sets));
      rights = await rightsOf(kubectl, account);
      const kubeconfig = await cluster.kubeconfigOf(system, system);
      const beforeUpgrade = older.kubeconfigFrom(kubeconfig);
      await (await startDeployed(kubectl, { ...account, kubeconfig: beforeUpgrade })).stop();
      operator = await startDeployed(kubectl, { ...account, kubeconfig });
      if (shared) {
        await createLogin(kubectl, system);
        const grants = [{ name: "tenants", namespaces: { names: tenants }, policyIds: ["*"] }];
        const spec = { ...connectionSpec(iam), grants };
        await kubectl(["apply", "-f", "-"], manifest("ClusterConnection", system, undefined, spec));
      }
      try {
        for (const namespace of tenants) await live(namespace);
      } catch (error) {
        const objects = await kubectl(["get", "iam", "-A", "-o", "yaml"]);
        throw new Error(`${error}\n${objects}\n${operator.output()}`);
      }
      if (shared) await endConnection();
      await operator.stop();
    }, 300_000);

    /** Before its end it fails twice, so that it has an event to repeat. */
    async function endConnection(): Promise<void> {
      const kubectl = cluster.asAdmin;
      const turn = async (password: string, ready: boolean, token: string) => {
        const data = { password: Buffer.from(password).toString("base64") };
        const patch = `-p=${JSON.stringify({ data })}`;
        await kubectl(["patch", "secret", "console-login", `-n=${system}`, "--type=merge", patch]);
        const request = `iam-operator.io/reconcile-requested-at=${token}`;
        await kubectl(["annotate", "iamcconn", system, "--overwrite", request]);
        await kubectl([
          "wait",
          `--for=condition=Ready=${ready}`,
          `iamcconn/${system}`,
          "--timeout=60s",
        ]);
      };
      for (const token of ["one", "two"]) {
        await turn("", false, `${token}-broken`);
        await turn(DEFAULT_CREDENTIALS.password, true, `${token}-mended`);
      }
      await kubectl(["delete", "iamcconn", system, "--timeout=30s"]);
    }

    async function live(namespace: string): Promise<void> {
      const kubectl = cluster.asAdmin;
      await createLogin(kubectl, namespace);
      await kubectl(
        ["apply", "-f", "-"],
        manifest("Connection", "own", namespace, connectionSpec(iam)),
      );
      await kubectl([
        "wait",
        "--for=condition=Ready",
        "iamconn/own",
        `-n=${namespace}`,
        "--timeout=60s",
      ]);
      const connection: Tenant["connection"] = shared
        ? { kind: "ClusterConnection", name: system }
        : { kind: "Connection", name: "own" };
      await order(kubectl, { namespace, connection });
      await rotate(kubectl, namespace);
      if (settings.includes("consumers.mode=restart")) await consume(kubectl, namespace);
      await spoil(kubectl, namespace);
      await cancel(kubectl, namespace);
    }

    test("is refused nothing", () => {
      const calls = callsOf(cluster.auditLog, user);
      const refused = calls.filter(({ decision, code }) => decision === "forbid" || code === 403);
      expect(refused).toEqual([]);
      expect(calls.length).toBeGreaterThan(100);
    });

    test("uses every right that it has", () => {
      const calls = callsOf(cluster.auditLog, user);
      const unused = rights
        .filter((right) => !isUsed(right, calls))
        .map(text)
        .filter((right) => !WITHOUT_REQUEST.some((each) => right.startsWith(each)));
      expect(unused).toEqual([]);
    });

    test("has of ConfigMaps the right to read them by name, where it may read Secrets", () => {
      const onConfigMaps = rights.filter(({ resource }) => resource === "configmaps");
      expect(onConfigMaps.map(({ verb }) => verb)).toEqual(onConfigMaps.map(() => "get"));
      const readable = rights.filter(
        ({ resource, verb }) => resource === "secrets" && verb === "get",
      );
      const places = (from: readonly Right[]) =>
        [
          ...new Set(from.map(({ namespace, name }) => `${namespace} ${name !== undefined}`)),
        ].sort();
      expect(places(onConfigMaps)).toEqual(places(readable));
    });

    test("has no right on Secrets beyond its scope", () => {
      const onSecrets = rights.filter(({ resource }) => resource === "secrets");
      const verbs = new Set(onSecrets.map(({ verb }) => verb));
      expect([verbs.has("list"), verbs.has("watch")]).toEqual([isWatched, isWatched]);
      expect(verbs.has("update")).toBe(false);
      const everywhere = onSecrets.some(({ namespace }) => namespace === "*");
      expect(everywhere).toBe(settings.length === 0);
    });
  });
}
