/** Workloads that read a key as variables, with Pods that a kubelet would run. */
import type { Kubectl } from "../../../scripts/demo/kubectl.ts";
import { until } from "../../real-world/until.ts";
import { rotate } from "./tenant.ts";

export const workloadKinds = ["Deployment", "StatefulSet", "DaemonSet"] as const;

export function workloadManifest(
  kind: (typeof workloadKinds)[number],
  name: string,
  namespace: string,
): object {
  const labels = { app: name, reads: "key" };
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name, namespace, labels },
    spec: {
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels }, spec: podSpec },
      ...(kind === "StatefulSet" ? { serviceName: name } : {}),
    },
  };
}

const podSpec = {
  containers: [{ name: "app", image: "app", envFrom: [{ secretRef: { name: "key" } }] }],
};

/** Has the ApiKey restart one workload of every kind: found by label, then by name. */
export async function consume(kubectl: Kubectl, namespace: string): Promise<void> {
  const create = (object: object) => kubectl(["create", "-f", "-"], JSON.stringify(object));
  for (const kind of workloadKinds) {
    const name = kind.toLowerCase();
    await create(workloadManifest(kind, name, namespace));
    await runPod(kubectl, namespace, name);
  }
  const byLabel = { selector: { matchLabels: { reads: "key" } }, workloadRefs: null };
  const refs = workloadKinds.map((kind) => ({ kind, name: kind.toLowerCase() }));
  for (const rollout of [byLabel, { selector: null, workloadRefs: refs }]) {
    const patch = JSON.stringify({ spec: { rollout: { minInterval: "0s", ...rollout } } });
    await kubectl(["patch", "iamkey", "key", `-n=${namespace}`, "--type=merge", `-p=${patch}`]);
    const before = await restarts(kubectl, namespace);
    // A Pod is older than a content that comes in a later second.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await rotate(kubectl, namespace);
    await until("a restart of every workload", async () => {
      const after = await restarts(kubectl, namespace);
      return after.length === workloadKinds.length && after.every((mark) => !before.includes(mark));
    });
  }
}

async function runPod(kubectl: Kubectl, namespace: string, app: string): Promise<void> {
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: app, namespace, labels: { app } },
    spec: podSpec,
  };
  await until("the namespace's service account", () =>
    kubectl(["get", "serviceaccount", "default", `-n=${namespace}`]).then(
      () => true,
      () => false,
    ),
  );
  await kubectl(["create", "-f", "-"], JSON.stringify(pod));
  const started = { state: { running: { startedAt: new Date().toISOString() } } };
  const container = { name: "app", image: "app", imageID: "app", ready: true, restartCount: 0 };
  const status = { phase: "Running", containerStatuses: [{ ...container, ...started }] };
  const change = ["--subresource=status", "--type=merge", `-p=${JSON.stringify({ status })}`];
  await kubectl(["patch", "pod", app, `-n=${namespace}`, ...change]);
}

/** What the workloads were last restarted for, each with its kind. */
async function restarts(kubectl: Kubectl, namespace: string): Promise<readonly string[]> {
  const note = "{.spec.template.metadata.annotations.content\\.iam-operator\\.io/key}";
  const path = `jsonpath={range .items[*]}{.kind} ${note}{"\\n"}{end}`;
  const kinds = "deployments,statefulsets,daemonsets";
  const text = await kubectl(["get", kinds, `-n=${namespace}`, "-o", path]);
  return text.split("\n").filter((line) => /^\w+ \w/.test(line));
}
