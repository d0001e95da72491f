/** Pods and workloads as a cluster without nodes has them: what a kubelet would report, the test reports. */
import { contentAnnotation } from "../../../src/api/meta.ts";
import type { KubeObject, ResourceType } from "../../../src/kube/resource.ts";
import {
  podType,
  rolloutType,
  type Workload,
  workloadTypes,
} from "../../../src/kube/resource-types.ts";
import { toIso8601 } from "../../../src/util/time.ts";
import { rolloutCrd } from "../../support/rollout-crd.ts";
import type { World } from "./world.ts";

export type WorkloadKind = keyof typeof workloadTypes;

const rbac = { group: "rbac.authorization.k8s.io", version: "v1", namespaced: true } as const;
const roleType: ResourceType = { ...rbac, plural: "roles", kind: "Role" };
const bindingType: ResourceType = { ...rbac, plural: "rolebindings", kind: "RoleBinding" };
const accountType: ResourceType = {
  group: "",
  version: "v1",
  plural: "serviceaccounts",
  kind: "ServiceAccount",
  namespaced: true,
};

/** What the chart's `consumers.mode: restart` adds, for one namespace; and `consumers.argoRollouts`. */
export async function grantConsumers(
  { kube, namespace }: World,
  { argoRollouts = false } = {},
): Promise<void> {
  const metadata = { name: "consumers", namespace };
  await kube.create(roleType, {
    metadata,
    rules: [
      { apiGroups: [""], resources: ["pods"], verbs: ["list"] },
      {
        apiGroups: ["apps"],
        resources: ["deployments", "statefulsets", "daemonsets"],
        verbs: ["get", "list", "patch"],
      },
      ...(argoRollouts
        ? [{ apiGroups: ["argoproj.io"], resources: ["rollouts"], verbs: ["get", "patch"] }]
        : []),
    ],
  } as KubeObject);
  await kube.create(bindingType, {
    metadata,
    roleRef: { apiGroup: rbac.group, kind: "Role", name: "consumers" },
    subjects: [{ apiGroup: rbac.group, kind: "User", name: "operator" }],
  } as KubeObject);
}

function podSpec(secret: string): object {
  return {
    containers: [{ name: "app", image: "app", envFrom: [{ secretRef: { name: secret } }] }],
  };
}

/** A Pod that runs since it was created. */
export async function runPod(world: World, name: string, secret = "key"): Promise<void> {
  const { kube, namespace } = world;
  const key = { name: "default", namespace };
  await world.until("the namespace's service account", async () =>
    kube.get(accountType, key).then((found) => found !== undefined),
  );
  const metadata = { name, namespace, labels: { app: name.split("-")[0] } };
  const pod = await kube.create(podType, {
    metadata,
    spec: podSpec(secret),
  } as KubeObject);
  const startedAt = pod.metadata.creationTimestamp ?? toIso8601(Date.now());
  const status = {
    phase: "Running",
    containerStatuses: [
      {
        name: "app",
        image: "app",
        imageID: "app",
        ready: true,
        restartCount: 0,
        state: { running: { startedAt } },
      },
    ],
  };
  await kube.apply(podType, { metadata: { name, namespace }, status } as KubeObject, {
    subresource: "status",
  });
}

export async function endPod({ kube, namespace }: World, name: string): Promise<void> {
  await kube.delete(podType, { namespace, name }, {});
}

export async function createWorkload(
  { kube, namespace }: World,
  kind: WorkloadKind,
  name: string,
  labels: Readonly<Record<string, string>>,
): Promise<void> {
  const selected = { app: name };
  await kube.create(workloadTypes[kind], {
    metadata: { name, namespace, labels },
    spec: {
      selector: { matchLabels: selected },
      template: { metadata: { labels: selected }, spec: podSpec("key") },
      ...(kind === "StatefulSet" ? { serviceName: name } : {}),
    },
  } as KubeObject);
}

const crdType: ResourceType = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
};

/** Runs `act` while the cluster, which others share, knows Rollouts. */
export async function withRollouts(world: World, act: () => Promise<void>): Promise<void> {
  const { kube, namespace } = world;
  const key = { namespace: "", name: rolloutCrd.metadata.name };
  await kube.create(crdType, rolloutCrd);
  try {
    const list = () => kube.collect(rolloutType, (each) => each, { namespace });
    await world.until("Rollouts to be served", () =>
      list().then(
        () => true,
        () => false,
      ),
    );
    await act();
  } finally {
    await kube.delete(crdType, key, {});
    await world.until(
      "the definition to go",
      async () => (await kube.get(crdType, key)) === undefined,
    );
  }
}

export async function createRollout({ kube, namespace }: World, name: string): Promise<void> {
  const selected = { app: name };
  await kube.create(rolloutType, {
    metadata: { name, namespace },
    spec: {
      replicas: 1,
      selector: { matchLabels: selected },
      template: { metadata: { labels: selected }, spec: podSpec("key") },
    },
  } as KubeObject);
}

export function rollout({ kube, namespace }: World, name: string): Promise<Workload | undefined> {
  return kube.get(rolloutType, { namespace, name });
}

export function workload(
  { kube, namespace }: World,
  kind: WorkloadKind,
  name: string,
): Promise<Workload | undefined> {
  return kube.get(workloadTypes[kind], { namespace, name });
}

/** The content that a workload was last restarted for. */
export async function restartedFor(
  world: World,
  kind: WorkloadKind,
  name: string,
  apiKey = "key",
): Promise<string | undefined> {
  const found = await workload(world, kind, name);
  return found?.spec?.template?.metadata?.annotations?.[contentAnnotation(apiKey)];
}
