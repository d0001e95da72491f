/** Pods and workloads as a cluster without nodes has them: what a kubelet would report, the test reports. */
import { contentAnnotation } from "../../../src/api/meta.ts";
import type { KubeObject, ResourceType } from "../../../src/kube/resource.ts";
import { podType, type Workload, workloadTypes } from "../../../src/kube/resource-types.ts";
import { toIso8601 } from "../../../src/util/time.ts";
import type { World } from "./world.ts";

export type WorkloadKind = keyof typeof workloadTypes;
export type Reading = "variables" | "files";

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

/** What the chart's `consumers.mode: restart` adds, for one namespace. */
export async function grantConsumers({ kube, namespace }: World): Promise<void> {
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
    ],
  } as KubeObject);
  await kube.create(bindingType, {
    metadata,
    roleRef: { apiGroup: rbac.group, kind: "Role", name: "consumers" },
    subjects: [{ apiGroup: rbac.group, kind: "User", name: "operator" }],
  } as KubeObject);
}

function podSpec(secret: string, reading: Reading): object {
  const files = reading === "files";
  return {
    containers: [
      {
        name: "app",
        image: "app",
        ...(files
          ? { volumeMounts: [{ name: "key", mountPath: "/key" }] }
          : { envFrom: [{ secretRef: { name: secret } }] }),
      },
    ],
    volumes: files ? [{ name: "key", secret: { secretName: secret } }] : [],
  };
}

/** A Pod that runs since it was created. */
export async function runPod(
  world: World,
  name: string,
  secret = "key",
  reading: Reading = "variables",
): Promise<void> {
  const { kube, namespace } = world;
  const key = { name: "default", namespace };
  await world.until("the namespace's service account", async () =>
    kube.get(accountType, key).then((found) => found !== undefined),
  );
  const metadata = { name, namespace, labels: { app: name.split("-")[0] } };
  const pod = await kube.create(podType, {
    metadata,
    spec: podSpec(secret, reading),
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
  { secret = "key", reading = "variables" as Reading, labels = {} } = {},
): Promise<void> {
  const selected = { app: name };
  await kube.create(workloadTypes[kind], {
    metadata: { name, namespace, labels },
    spec: {
      selector: { matchLabels: selected },
      template: { metadata: { labels: selected }, spec: podSpec(secret, reading) },
      ...(kind === "StatefulSet" ? { serviceName: name } : {}),
    },
  } as KubeObject);
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
