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
const key: Volume = ["key", { secret: { secretName: "ci-bot-key" } }];
const variable = (name: string, entry: string) => ({
  name,
  valueFrom: { secretKeyRef: { name: "ci-bot-key", key: entry } },
});
const variables = [variable("KEY_ID", "keyId"), variable("SECRET", "secret")];

export function workloadManifests(setting: Setting): string {
  const { namespace } = setting;
  const pod = (name: string, env: readonly object[], volumes: readonly Volume[]) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace },
    spec: podSpec(setting, env, volumes),
  });
  const items = [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "workload", namespace },
      data: { "workload.mjs": script },
    },
    pod("with-files", [{ name: "KEY_FOLDER", value: "/key" }], [program, key]),
    pod("with-variables", variables, [program]),
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

export function parseCalls(log: string): readonly Call[] {
  return log
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Call);
}

export function isFailed({ status, error }: Call): boolean {
  return status !== 200 || error !== undefined;
}
