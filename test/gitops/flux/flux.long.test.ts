/** Flux applies manifests, waits until all is ready, and prunes everything at the end. Needs Go. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { stringify } from "yaml";
import { installOperator, SYSTEM } from "../../../scripts/demo/install.ts";
import { createKubectl, type Kubectl } from "../../../scripts/demo/kubectl.ts";
import { findCondition, isTrue } from "../../../src/api/conditions.ts";
import { API_VERSION } from "../../../src/api/meta.ts";
import { DEFAULT_CREDENTIALS } from "../../../tools/iam-server/seed.ts";
import { type IamServer, startIamServer } from "../../../tools/iam-server/server.ts";
import { type ControlPlane, startControlPlane } from "../../cluster/control-plane.ts";
import { startOperator } from "../../real-world/program.ts";
import { FLUX, type Flux, startFlux } from "./flux.ts";

vi.setConfig({ testTimeout: 10 * 60_000 });
const root = join(import.meta.dirname, "../../..");

let cluster: ControlPlane;
let kubectl: Kubectl;
let iam: IamServer;
let flux: Flux;
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  cluster = await startControlPlane();
  closers.push(() => cluster.stop());
  kubectl = createKubectl(cluster.kubectl, cluster.kubeconfig);
  iam = await startIamServer();
  closers.push(() => iam.close());
  await installOperator(kubectl, root);
  flux = await startFlux(cluster, kubectl);
  closers.push(() => flux.stop());
  await cluster.restartControllerManager();
  const kubeconfig = cluster.kubeconfigFor("operator");
  const operator = await startOperator({ kubeconfig, args: ["--leader-elect=false"] });
  closers.push(() => operator.kill());
  await operator.untilReady();
});
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

/** A Kustomization of the files in `folder`, when Flux says that all of them are ready, or that they are not. */
async function applied(name: string, folder: string, spec: object, ready = true): Promise<void> {
  await flux.offer(name, folder);
  const kustomization = {
    apiVersion: "kustomize.toolkit.fluxcd.io/v1",
    kind: "Kustomization",
    metadata: { name, namespace: FLUX },
    spec: {
      interval: "10m",
      timeout: "3m",
      prune: true,
      wait: true,
      sourceRef: { kind: "GitRepository", name },
      ...spec,
    },
  };
  await kubectl(["apply", "-f", "-"], JSON.stringify(kustomization));
  const verdict = [`--for=condition=Ready=${ready}`, `--namespace=${FLUX}`, "--timeout=4m"];
  await kubectl(["wait", `kustomization/${name}`, ...verdict]);
}

async function deleted(name: string, namespace: string): Promise<void> {
  await kubectl(["delete", "kustomization", name, `--namespace=${FLUX}`, "--timeout=3m"]);
  await kubectl(["wait", "--for=delete", `namespace/${namespace}`, "--timeout=3m"]);
}

async function objects(...args: readonly string[]) {
  const { items } = JSON.parse(await kubectl(["get", ...args, "-o", "json"]));
  return items as readonly { kind: string; status: { conditions: never[] } }[];
}

async function secretData(namespace: string, name: string): Promise<Record<string, string>> {
  const { data } = JSON.parse(
    await kubectl(["get", "secret", name, `--namespace=${namespace}`, "-o", "json"]),
  );
  const decode = (text: unknown) => Buffer.from(String(text), "base64").toString();
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, decode(value)]));
}

function policiesOf(accountName: string): readonly string[] | undefined {
  const account = [...iam.world.accounts.values()].find(({ name }) => name === accountName);
  return account && iam.world.boundTo(account.tpn);
}

const login = Object.entries(DEFAULT_CREDENTIALS);

test("the examples come and go as one Kustomization", async () => {
  const literals = login.map(([key, value]) => `--from-literal=${key}=${value}`);
  await kubectl(["create", "secret", "generic", "console-login", `-n=${SYSTEM}`, ...literals]);
  const address = [
    { op: "replace", path: "/spec/baseURL", value: iam.url },
    { op: "add", path: "/spec/insecureHTTP", value: true },
  ];
  await applied("examples", join(root, "deploy/examples"), {
    patches: [{ target: { kind: "ClusterConnection" }, patch: JSON.stringify(address) }],
  });

  const all = [...(await objects("iam", "-A")), ...(await objects("iamcconn"))];
  const states = all.map(({ kind, status }) => [kind, isTrue(status.conditions, "Ready")]);
  expect(states.toSorted()).toEqual([
    ["ApiKey", true],
    ["ApiKey", true],
    ["ClusterConnection", true],
    ["PolicyBinding", true],
    ["ResourceQuotaExport", true],
    ["ServiceAccount", true],
  ]);
  const { keyId = "", secret = "" } = await secretData("team-a", "ci-bot-key");
  expect(iam.world.isPair(keyId, secret)).toBe(true);
  expect(policiesOf("team-a-ci-bot")).toEqual(["pol-read", "pol-deploy"]);

  await deleted("examples", "team-a");
  await kubectl(["wait", "--for=delete", "iamcconn/default", "--timeout=1m"]);
  expect(await objects("iam", "-A")).toEqual([]);
  expect(policiesOf("team-a-ci-bot")).toEqual([]);
});

const namespace = "team-b";
const accountRef = { serviceAccountRef: { name: "bot" } };
const home = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
const ours = (kind: string, spec: object, annotations = {}) => ({
  apiVersion: API_VERSION,
  kind,
  metadata: { name: "bot", namespace, annotations },
  spec,
});
const pairSpec = { ...accountRef, secret: { data: { pair: "${keyId}:${secret}" } } };

function folderOf(...manifests: readonly object[]): string {
  const folder = mkdtempSync(join(tmpdir(), "iam-operator-flux-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const text = manifests.map((manifest) => stringify(manifest)).join("---\n");
  writeFileSync(join(folder, "all.yaml"), text);
  return folder;
}

test("a team comes and goes with the login that it cleans up with", async () => {
  const folder = folderOf(
    home,
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "login", namespace },
      stringData: DEFAULT_CREDENTIALS,
    },
    ours("Connection", {
      baseURL: iam.url,
      insecureHTTP: true,
      orgId: "org-1",
      projectId: "prj-1",
      domainName: "acme",
      credentials: { login: { secretRef: { name: "login" } } },
    }),
    ours("ServiceAccount", { connectionRef: { kind: "Connection", name: "bot" } }),
    ours("PolicyBinding", { ...accountRef, policyIds: ["${policy}"] }),
    ours("ApiKey", pairSpec, { "kustomize.toolkit.fluxcd.io/substitute": "disabled" }),
  );
  await applied("team", folder, {
    deletionPolicy: "WaitForTermination",
    postBuild: { substitute: { policy: "pol-read" } },
  });

  const { pair = "" } = await secretData(namespace, "bot");
  const [keyId = "", secret = ""] = pair.split(":");
  expect(iam.world.isPair(keyId, secret)).toBe(true);
  expect(policiesOf("team-b-bot")).toEqual(["pol-read"]);

  await deleted("team", namespace);
  expect(await objects("iam", "-A")).toEqual([]);
  expect(policiesOf("team-b-bot")).toEqual([]);
});

test("a key whose variables Flux has replaced by nothing is refused", async () => {
  const substitute = { postBuild: { substitute: { policy: "pol-read" } } };
  const data = { keyId: "${keyId}", secret: "${secret}" };
  const folder = folderOf(home, ours("ApiKey", { ...accountRef, secret: { data } }));
  await applied("replaced", folder, substitute, false);
  const [kustomization] = await objects("kustomizations", `--namespace=${FLUX}`);
  const { message } = findCondition(kustomization?.status.conditions, "Ready") ?? {};
  expect(message).toContain("spec.secret.data.secret in body must be of type string");
});
