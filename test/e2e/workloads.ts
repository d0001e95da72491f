/** Two Pods that use the key as their owners would: one has it as files, one as environment variables. */
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

export function workloadManifests(options: {
  readonly namespace: string;
  readonly image: string;
  readonly consoleUrl: string;
}): string {
  const { namespace, image, consoleUrl } = options;
  const pod = (
    name: string,
    env: readonly object[],
    volumes: readonly (readonly [string, object])[],
  ) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace },
    spec: {
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
    },
  });
  const program = ["workload", { configMap: { name: "workload" } }] as const;
  const key = ["key", { secret: { secretName: "ci-bot-key" } }] as const;
  const variable = (name: string, entry: string) => ({
    name,
    valueFrom: { secretKeyRef: { name: "ci-bot-key", key: entry } },
  });
  const items = [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "workload", namespace },
      data: { "workload.mjs": script },
    },
    pod("with-files", [{ name: "KEY_FOLDER", value: "/key" }], [program, key]),
    pod("with-variables", [variable("KEY_ID", "keyId"), variable("SECRET", "secret")], [program]),
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
