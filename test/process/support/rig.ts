/** Real servers for operator processes: a control plane with the CRDs and rights, and namespaces to work in. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createKubectl, type Kubectl } from "../../../scripts/demo/kubectl.ts";
import { GROUP, VERSION } from "../../../src/api/meta.ts";
import {
  apiKeyType,
  connectionType,
  namespaceType,
  secretType,
  serviceAccountType,
} from "../../../src/controllers/resource-types.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { createKubeClient } from "../../../src/kube/client/http-kube-client.ts";
import { loadKubeEndpoint } from "../../../src/kube/config/config.ts";
import { isKubeError } from "../../../src/kube/errors.ts";
import type { KubeObject, ResourceType } from "../../../src/kube/resource.ts";
import { type Lease, leaseType } from "../../../src/kube/resource-types.ts";
import { createKubeTransport } from "../../../src/kube/transport/transport.ts";
import { systemClock } from "../../../src/util/time.ts";
import type { ExtraCalls } from "../../../tools/iam-server/operations.ts";
import { DEFAULT_CREDENTIALS } from "../../../tools/iam-server/seed.ts";
import { type IamServer, startIamServer } from "../../../tools/iam-server/server.ts";
import { type ControlPlane, startControlPlane } from "../../cluster/control-plane.ts";
import { type Gate, openGate } from "./gate.ts";
import { type OperatorProcess, type StartOptions, startOperator } from "./program.ts";
import { until } from "./until.ts";

export const ROOT = join(import.meta.dirname, "../../..");
export const SYSTEM = "iam-operator-system";

/** What places need of a control plane. */
export type Servers = Pick<
  ControlPlane,
  "url" | "caFile" | "directory" | "kubectl" | "kubeconfig" | "kubeconfigFor"
>;

export interface Rig<Cluster extends Servers = ControlPlane> {
  readonly cluster: Cluster;
  readonly kubectl: Kubectl;
  /** With every right. */
  readonly kube: KubeClient;
  /** A namespace with a console of its own, a Connection to it, and a lease for its operators. */
  openPlace(options?: PlaceOptions): Promise<Place>;
  close(): Promise<void>;
}

export interface PlaceOptions {
  readonly latencyMs?: number;
  /** Calls to the console at once. */
  readonly concurrency?: number;
  /** What the console can do beyond its documentation, and the Connection names. None by default. */
  readonly extraCalls?: ExtraCalls;
}

/** Where operators of a test work, apart from those of any other test. */
export interface Place {
  readonly namespace: string;
  readonly iam: IamServer;
  /** Everything it says is kept in `outputs`. */
  start(options?: Partial<StartOptions> & { readonly via?: Gate }): Promise<OperatorProcess>;
  openGate(): Promise<Gate>;
  /** Another release of the operator for the same objects, with a lease of its own; answers its namespace. */
  openRelease(): Promise<string>;
  createAccounts(names: readonly string[]): Promise<void>;
  createKeys(keys: readonly KeySpec[]): Promise<void>;
  /** Who holds the lease; empty after a release. */
  leaseHolder(): Promise<string | undefined>;
  saIdOf(account: string): Promise<string>;
  outputs(): Readonly<Record<string, string>>;
  secrets(): readonly string[];
}

export interface KeySpec {
  readonly name: string;
  readonly account: string;
  readonly spec?: object;
}

const roleType: ResourceType = rbac("roles", "Role");
const roleBindingType: ResourceType = rbac("rolebindings", "RoleBinding");

function rbac(plural: string, kind: string): ResourceType {
  return { group: "rbac.authorization.k8s.io", version: "v1", plural, kind, namespaced: true };
}

/** A rig with a control plane of its own. */
export async function openRig(onProgress?: (line: string) => void): Promise<Rig> {
  const cluster = await startControlPlane(onProgress === undefined ? {} : { onProgress });
  try {
    await install(createKubectl(cluster.kubectl, cluster.kubeconfig));
    await cluster.restartControllerManager();
    return await openRigOn(cluster, () => cluster.stop());
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** A rig on servers that have the CRDs and the operator's rights. `stop` is called when all else is closed. */
export async function openRigOn<Cluster extends Servers>(
  cluster: Cluster,
  stop: () => Promise<void>,
): Promise<Rig<Cluster>> {
  const { kube, closeClient } = await connectAs(cluster.kubeconfig);
  const closers: (() => Promise<unknown>)[] = [stop, closeClient];
  return {
    cluster,
    kubectl: createKubectl(cluster.kubectl, cluster.kubeconfig),
    kube,
    async close() {
      for (const one of closers.splice(0).reverse()) await one();
    },
    openPlace: (options = {}) => openPlace({ cluster, kube, closers }, options),
  };
}

async function install(kubectl: Kubectl): Promise<void> {
  await kubectl(["apply", "--server-side", "-f", join(ROOT, "crds")]);
  await kubectl(["create", "namespace", SYSTEM]);
  await kubectl(["apply", "-f", join(ROOT, "deploy/rbac")]);
  const binding = ["create", "clusterrolebinding", "op", "--clusterrole=iam-operator"];
  await kubectl([...binding, "--user=operator"]);
  await kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
}

/** A client as whoever the kubeconfig names. */
export async function connectAs(kubeconfig: string, connections = 32) {
  const endpoint = await loadKubeEndpoint({ kubeconfig, clock: systemClock });
  const transport = createKubeTransport({ endpoint, clock: systemClock, connections });
  const kube = createKubeClient({
    baseURL: endpoint.server,
    send: transport.send,
    clock: systemClock,
    userAgent: "test",
    fieldManager: "test",
  });
  return { kube, closeClient: () => transport.close() };
}

interface Ground {
  readonly cluster: Servers;
  readonly kube: KubeClient;
  readonly closers: (() => Promise<unknown>)[];
}

async function openPlace(ground: Ground, options: PlaceOptions): Promise<Place> {
  const { cluster, kube, closers } = ground;
  const namespace = `p-${randomBytes(4).toString("hex")}`;
  const { latencyMs = 0, concurrency = 64, extraCalls = {} } = options;
  const iam = await startIamServer({ latencyMs, extraCalls });
  closers.push(() => iam.close());
  await kube.create(namespaceType, object("v1", "Namespace", undefined, namespace));
  await grantLease(kube, namespace);
  await releaseLease(kube, namespace);
  await connect(kube, namespace, iam, { concurrency, extraCalls });
  const started: OperatorProcess[] = [];
  const operatorConfig = cluster.kubeconfigFor("operator");
  return {
    namespace,
    iam,
    async start({ via, args = [], ...rest } = {}) {
      const operator = await startOperator({
        kubeconfig: via?.kubeconfig ?? operatorConfig,
        ...rest,
        args: [`--namespaces=${namespace}`, `--operator-namespace=${namespace}`, ...args],
      });
      started.push(operator);
      closers.push(() => operator.kill());
      return operator;
    },
    async openGate() {
      const { url, caFile, directory } = cluster;
      const gate = await openGate({ url, caFile, directory, kubeconfig: operatorConfig });
      closers.push(() => gate.close());
      return gate;
    },
    async openRelease() {
      const release = `${namespace}-release`;
      await kube.create(namespaceType, object("v1", "Namespace", undefined, release));
      await grantLease(kube, release);
      await releaseLease(kube, release);
      return release;
    },
    async createAccounts(names) {
      await inParallel(names, 16, (name) =>
        patiently(() =>
          kube.create(serviceAccountType, {
            ...ours("ServiceAccount", namespace, name),
            spec: { connectionRef: { kind: "Connection", name: "console" } },
          } as never),
        ),
      );
    },
    async createKeys(keys) {
      await inParallel(keys, 16, ({ name, account, spec }) =>
        patiently(() =>
          kube.create(apiKeyType, {
            ...ours("ApiKey", namespace, name),
            spec: { serviceAccountRef: { name: account }, ...spec },
          } as never),
        ),
      );
    },
    async leaseHolder() {
      const lease = await kube.get(leaseType, { namespace, name: "iam-operator" });
      return lease?.spec?.holderIdentity;
    },
    async saIdOf(name) {
      let saId: string | undefined;
      await until(`ServiceAccount ${name} to have an id`, async () => {
        const account = await kube.get(serviceAccountType, { namespace, name });
        saId = account?.status?.saId;
        return saId !== undefined;
      });
      return saId ?? "";
    },
    outputs: () =>
      Object.fromEntries(started.map((operator) => [`process ${operator.pid}`, operator.output()])),
    secrets: () => [...iam.world.issuedSecrets(), DEFAULT_CREDENTIALS.password],
  };
}

async function grantLease(kube: KubeClient, namespace: string): Promise<void> {
  const name = "iam-operator";
  const apiGroup = "rbac.authorization.k8s.io";
  await kube.create(roleType, {
    ...object(`${apiGroup}/v1`, "Role", namespace, name),
    rules: [
      {
        apiGroups: ["coordination.k8s.io"],
        resources: ["leases"],
        verbs: ["get", "create", "update"],
      },
    ],
  } as KubeObject);
  await kube.create(roleBindingType, {
    ...object(`${apiGroup}/v1`, "RoleBinding", namespace, name),
    roleRef: { apiGroup, kind: "Role", name },
    subjects: [{ apiGroup, kind: "User", name: "operator" }],
  } as KubeObject);
}

/** As an operator leaves it that has stopped: who finds no lease at all waits for its duration. */
async function releaseLease(kube: KubeClient, namespace: string): Promise<void> {
  await kube.create(leaseType, {
    ...object("coordination.k8s.io/v1", "Lease", namespace, "iam-operator"),
    spec: { holderIdentity: "", leaseDurationSeconds: 1 },
  } as Lease);
}

async function connect(
  kube: KubeClient,
  namespace: string,
  iam: IamServer,
  { concurrency, extraCalls }: Pick<PlaceOptions, "concurrency" | "extraCalls">,
): Promise<void> {
  const { username, password, domain } = DEFAULT_CREDENTIALS;
  await kube.create(secretType, {
    ...object("v1", "Secret", namespace, "console-login"),
    stringData: { username, password, domain },
  } as KubeObject);
  await kube.create(connectionType, {
    ...ours("Connection", namespace, "console"),
    spec: {
      baseURL: iam.url,
      insecureHTTP: true,
      orgId: "org-1",
      projectId: "prj-1",
      domainName: "acme",
      credentials: { login: { secretRef: { name: "console-login" } } },
      limits: { requestsPerSecond: 1_000, burst: 10_000, concurrency },
      extraCalls,
    },
  } as never);
}

function ours(kind: string, namespace: string, name: string): KubeObject {
  return object(`${GROUP}/${VERSION}`, kind, namespace, name);
}

function object(
  apiVersion: string,
  kind: string,
  namespace: string | undefined,
  name: string,
): KubeObject {
  return {
    apiVersion,
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  } as KubeObject;
}

/** On a machine that is busy to the limit, calls time out; one that had arrived in spite of it is done. */
export async function patiently(work: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (true) {
    try {
      return void (await work());
    } catch (error) {
      if (isKubeError(error, "AlreadyExists")) return;
      if (performance.now() > deadline) throw error;
      await sleep(500);
    }
  }
}

/** Does the same with many things, so many at once. */
export async function inParallel<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = items.values();
  const lane = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: width }, lane));
}
