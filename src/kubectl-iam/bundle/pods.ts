/** Logs and metrics of the operator's Pods. */
import { isKubeError } from "../../kube/errors.ts";
import type { KubeObject, ResourceType } from "../../kube/resource.ts";
import { MINUTE } from "../../util/time.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { File } from "./file.ts";

const LOG_LINES = 5_000;
const MAX_BYTES = 16 * 2 ** 20;
const METRICS_PORT = 8080;

interface OperatorPod extends KubeObject {
  readonly spec?: {
    readonly containers?: readonly {
      readonly args?: readonly string[];
      readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
    }[];
  };
}

const type: ResourceType<OperatorPod> = {
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
};

/** If the Pods cannot be read, `pods.txt` says why. Rejects with any error other than a KubeError. */
export async function filesOfPods(cluster: Cluster, namespace: string): Promise<readonly File[]> {
  const labelSelector = "app.kubernetes.io/name=iam-operator";
  try {
    const pods = await cluster.kube.list(type, { namespace, labelSelector });
    return (await Promise.all(pods.map((pod) => filesOf(cluster, namespace, pod)))).flat();
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return [{ name: "pods.txt", text: `not here: ${error.message}`, missing: error.message }];
  }
}

async function filesOf(
  cluster: Cluster,
  namespace: string,
  pod: OperatorPod,
): Promise<readonly File[]> {
  const { name } = pod.metadata;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const log = `${path}/log?tailLines=${LOG_LINES}`;
  const previous = await getText(cluster, `${log}&previous=true`);
  return [
    toFile(`${name}.log`, await getText(cluster, log)),
    // The API server answers 400 if no container has ended.
    ...(previous.status === 200 ? [toFile(`${name}.previous.log`, previous)] : []),
    await metricsOf(cluster, namespace, pod, path),
  ];
}

/** The API server's proxy does not pass tokens on. If metrics require a token, the file says how to add them. */
async function metricsOf(
  cluster: Cluster,
  namespace: string,
  { metadata, spec }: OperatorPod,
  path: string,
): Promise<File> {
  const name = `${metadata.name}.metrics.txt`;
  const containers = spec?.containers ?? [];
  const ports = containers.flatMap(({ ports = [] }) => ports);
  const port = ports.find((each) => each.name === "metrics")?.containerPort ?? METRICS_PORT;
  const isSecure = containers.some(({ args = [] }) => args.includes("--metrics-secure=true"));
  if (!isSecure) return toFile(name, await getText(cluster, `${path}:${port}/proxy/metrics`));
  const text = [
    "not included: the metrics are served over HTTPS to authorized tokens. To add them to the bundle:",
    `  kubectl port-forward -n ${namespace} pod/${metadata.name} ${port}`,
    `  curl -sk -H "Authorization: Bearer $TOKEN" https://127.0.0.1:${port}/metrics`,
    "TOKEN is a token of an account bound to the chart's ClusterRole …-metrics-reader.",
  ];
  return { name, text: text.join("\n") };
}

interface Text {
  readonly status: number;
  readonly text: string;
}

function toFile(name: string, { status, text }: Text): File {
  if (status === 200) return { name, text };
  const missing = `status ${status}: ${text}`;
  return { name, text: `not here: ${missing}`, missing };
}

/** The response as text. Never rejects: status 0 if the request failed. */
async function getText({ api, transport }: Cluster, path: string): Promise<Text> {
  const { status, body } = await transport
    .send({
      method: "GET",
      url: `${api.baseURL}${path}`,
      headers: { "user-agent": api.userAgent },
      timeoutMs: MINUTE,
      maxBytes: MAX_BYTES,
    })
    .catch((error: Error) => ({ status: 0, body: Buffer.from(error.message) }));
  return { status, text: body.toString("utf8") };
}
