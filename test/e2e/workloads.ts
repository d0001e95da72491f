/** Pods that use the key as their owners would: as files, or as environment variables. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Call {
  readonly sequence: number;
  readonly at: string;
  readonly keyId?: string;
  readonly status?: number;
  readonly error?: string;
}

const script = readFileSync(join(import.meta.dirname, "workload.mjs"), "utf8");

export interface Setting {
  readonly namespace: string;
  readonly image: string;
  readonly consoleUrl: string;
}

type Volume = readonly [string, object];

function podSpec(
  { image, consoleUrl }: Setting,
  env: readonly object[],
  volumes: readonly Volume[],
): object {
  return {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 2,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 65532,
      seccompProfile: { type: "RuntimeDefault" },
    },
    containers: [
      {
        name: "workload",
        image,
        imagePullPolicy: "Never",
        command: ["/usr/local/bin/node", "/workload/workload.mjs"],
        env: [{ name: "CONSOLE_URL", value: consoleUrl }, ...env],
        resources: { requests: { cpu: "10m", memory: "32Mi" } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        },
        volumeMounts: volumes.map(([volume]) => ({
          name: volume,
          mountPath: `/${volume}`,
          readOnly: true,
        })),
      },
    ],
    volumes: volumes.map(([volume, source]) => ({ name: volume, ...source })),
  };
}

const program: Volume = ["workload", { configMap: { name: "workload" } }];
const keyOf = (secretName: string): Volume => ["key", { secret: { secretName } }];
const variable = (name: string, entry: string) => ({
  name,
  valueFrom: { secretKeyRef: { name: "ci-bot-key", key: entry } },
});
const variables = [variable("KEY_ID", "keyId"), variable("SECRET", "secret")];

function pod(
  setting: Setting,
  name: string,
  env: readonly object[],
  volumes: readonly Volume[],
): object {
  const metadata = { name, namespace: setting.namespace };
  return { apiVersion: "v1", kind: "Pod", metadata, spec: podSpec(setting, env, volumes) };
}

/** Needs the ConfigMap of {@link workloadManifests}. */
export function podWithFiles(setting: Setting, name: string, secretName: string): string {
  const env = [{ name: "KEY_FOLDER", value: "/key" }];
  return JSON.stringify(pod(setting, name, env, [program, keyOf(secretName)]));
}

export function workloadManifests(setting: Setting): string {
  const { namespace } = setting;
  const items = [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "workload", namespace },
      data: { "workload.mjs": script },
    },
    JSON.parse(podWithFiles(setting, "with-files", "ci-bot-key")),
    pod(setting, "with-variables", variables, [program]),
  ];
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}

/** The label of the Pods that the operator restarts. */
export const RESTARTED = { restarted: "by-the-operator" };

/** Workloads of every kind that have the key as variables; they need the ConfigMap of the Pods. */
export function restartedManifests(setting: Setting): string {
  const workload = (kind: string, name: string, more: object) => {
    const labels = { app: name, ...RESTARTED };
    const template = { metadata: { labels }, spec: podSpec(setting, variables, [program]) };
    return {
      apiVersion: "apps/v1",
      kind,
      metadata: { name, namespace: setting.namespace, labels },
      spec: { selector: { matchLabels: { app: name } }, template, ...more },
    };
  };
  const items = [
    workload("Deployment", "api", { replicas: 2 }),
    workload("StatefulSet", "db", { replicas: 1, serviceName: "db" }),
    workload("DaemonSet", "agent", {}),
  ];
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}

/** The status of the workload's call with a key. */
export async function callAs(
  consoleUrl: string,
  { keyId, secret }: { readonly keyId: string; readonly secret: string },
): Promise<number> {
  const headers = {
    "Svc-Api-Key": keyId,
    "Svc-Api-Secret": secret,
    "X-Domain-Id": "org-1",
    "X-Domain-Name": "acme",
  };
  const path = "/api/v1/container/policy/resource-quota?clusterId=7&pageSize=1";
  const answer = await fetch(new URL(path, consoleUrl), { headers });
  await answer.arrayBuffer();
  return answer.status;
}

export function parseCalls(log: string): readonly Call[] {
  return log
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Call);
}

export function isFailed({ status, error }: Call): boolean {
  return status !== 200 || error !== undefined;
}
