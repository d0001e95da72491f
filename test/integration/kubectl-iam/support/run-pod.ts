import type { KubeObject, ResourceType } from "../../../../src/kube/resource.ts";
import { podType } from "../../../../src/kube/resource-types.ts";
import type { World } from "../../../real-world/world.ts";

const accountType: ResourceType = {
  group: "",
  version: "v1",
  plural: "serviceaccounts",
  kind: "ServiceAccount",
  namespaced: true,
};

/** A Pod with a Secret's entries as variables; no kubelet runs it, so the test reports it as running. */
export async function runPod(world: World, name: string, secret: string): Promise<void> {
  const { kube, namespace } = world;
  const key = { name: "default", namespace };
  await world.until("the namespace's service account", async () =>
    kube.get(accountType, key).then((found) => found !== undefined),
  );
  const metadata = { name, namespace };
  await kube.create(podType, {
    metadata,
    spec: {
      containers: [{ name: "app", image: "app", envFrom: [{ secretRef: { name: secret } }] }],
    },
  } as KubeObject);
  await kube.apply(podType, { metadata, status: { phase: "Running" } } as KubeObject, {
    subresource: "status",
  });
}
