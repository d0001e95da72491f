/** The Deployments of the operator. */
import type { KubeObject, ResourceType } from "../../kube/resource.ts";
import type { Cluster } from "./cluster.ts";

interface Deployment extends KubeObject {
  readonly spec?: {
    readonly template?: {
      readonly spec?: {
        readonly serviceAccountName?: string;
        readonly containers?: readonly { readonly image?: string }[];
      };
    };
  };
}

const deploymentType: ResourceType<Deployment> = {
  group: "apps",
  version: "v1",
  plural: "deployments",
  kind: "Deployment",
  namespaced: true,
};

/** Lists the Deployments of a namespace by the label that the chart and the manifests set. Rejects with KubeError. */
export function operatorDeployments(
  { kube }: Cluster,
  namespace: string,
): Promise<readonly Deployment[]> {
  const labelSelector = "app.kubernetes.io/name=iam-operator";
  return kube.list(deploymentType, { namespace, labelSelector });
}
