/** Logs and metrics of the operator's Pods. */
import { isKubeError } from "../../kube/errors.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { type OperatorPod, operatorPods, readFromPod, type Text } from "../cluster/operator.ts";
import type { File } from "./file.ts";

const LOG_LINES = 5_000;
const METRICS_PORT = 8080;

/** If the Pods cannot be read, `pods.txt` says why. Rejects with any error other than a KubeError. */
export async function filesOfPods(cluster: Cluster, namespace: string): Promise<readonly File[]> {
  try {
    const pods = await operatorPods(cluster, namespace);
    return (await Promise.all(pods.map((pod) => filesOf(cluster, pod)))).flat();
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return [{ name: "pods.txt", text: `not here: ${error.message}`, missing: error.message }];
  }
}

async function filesOf(cluster: Cluster, pod: OperatorPod): Promise<readonly File[]> {
  const { name } = pod.metadata;
  const log = `/log?tailLines=${LOG_LINES}`;
  const previous = await readFromPod(cluster, pod, `${log}&previous=true`);
  return [
    toFile(`${name}.log`, await readFromPod(cluster, pod, log)),
    // The API server answers 400 if no container has ended.
    ...(previous.status === 200 ? [toFile(`${name}.previous.log`, previous)] : []),
    await metricsOf(cluster, pod),
  ];
}

/** The API server's proxy does not pass tokens on. If metrics require a token, the file says how to add them. */
async function metricsOf(cluster: Cluster, pod: OperatorPod): Promise<File> {
  const { metadata, spec } = pod;
  const name = `${metadata.name}.metrics.txt`;
  const containers = spec?.containers ?? [];
  const ports = containers.flatMap(({ ports = [] }) => ports);
  const port = ports.find((each) => each.name === "metrics")?.containerPort ?? METRICS_PORT;
  const isSecure = containers.some(({ args = [] }) => args.includes("--metrics-secure=true"));
  if (!isSecure) return toFile(name, await readFromPod(cluster, pod, `:${port}/proxy/metrics`));
  const text = [
    "not included: the metrics are served over HTTPS to authorized tokens. To add them to the bundle:",
    `  kubectl port-forward -n ${metadata.namespace} pod/${metadata.name} ${port}`,
    `  curl -sk -H "Authorization: Bearer $TOKEN" https://127.0.0.1:${port}/metrics`,
    "TOKEN is a token of an account bound to the chart's ClusterRole …-metrics-reader.",
  ];
  return { name, text: text.join("\n") };
}

function toFile(name: string, { status, text }: Text): File {
  if (status === 200) return { name, text };
  const missing = `status ${status}: ${text}`;
  return { name, text: `not here: ${missing}`, missing };
}
