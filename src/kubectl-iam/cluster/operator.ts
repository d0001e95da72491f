/** The operator's Deployments and Pods. */
import { objectPath } from "../../kube/client/api-path.ts";
import type { KubeObject, ResourceType } from "../../kube/resource.ts";
import { podType } from "../../kube/resource-types.ts";
import { MINUTE } from "../../util/time.ts";
import type { Options } from "../cli/options.ts";
import type { Cluster } from "./cluster.ts";

/** The chart and the manifests set this label. */
const labelSelector = "app.kubernetes.io/name=iam-operator";
const DEFAULT_NAMESPACE = "iam-operator-system";
const MAX_BYTES = 64 * 2 ** 20;

export function operatorNamespace({ operatorNamespace: given }: Options): string {
  return given ?? DEFAULT_NAMESPACE;
}

interface Container {
  readonly image?: string;
  readonly args?: readonly string[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
}

interface PodSpec {
  readonly serviceAccountName?: string;
  readonly containers?: readonly Container[];
}

export interface Deployment extends KubeObject {
  readonly spec?: { readonly template?: { readonly spec?: PodSpec } };
}

export interface OperatorPod extends KubeObject {
  readonly spec?: PodSpec;
}

const deploymentType: ResourceType<Deployment> = {
  group: "apps",
  version: "v1",
  plural: "deployments",
  kind: "Deployment",
  namespaced: true,
};

/** Rejects with KubeError. */
export function operatorDeployments(
  { kube }: Cluster,
  namespace: string,
): Promise<readonly Deployment[]> {
  return kube.list(deploymentType, { namespace, labelSelector });
}

/** Rejects with KubeError. */
export function operatorPods(
  { kube }: Cluster,
  namespace: string,
): Promise<readonly OperatorPod[]> {
  return kube.list(podType as ResourceType<OperatorPod>, { namespace, labelSelector });
}

export interface Text {
  readonly status: number;
  readonly text: string;
}

/** A response below the path of a Pod, such as `/log`. Never rejects: status 0 if the request failed. */
export async function readFromPod(
  { api, transport }: Cluster,
  { metadata: { namespace = "", name } }: OperatorPod,
  below: string,
): Promise<Text> {
  const { status, body } = await transport
    .send({
      method: "GET",
      url: `${api.baseURL}${objectPath(podType, { namespace, name })}${below}`,
      headers: { "user-agent": api.userAgent },
      timeoutMs: MINUTE,
      maxBytes: MAX_BYTES,
    })
    .catch((error: Error) => ({ status: 0, body: Buffer.from(error.message) }));
  return { status, text: body.toString("utf8") };
}
