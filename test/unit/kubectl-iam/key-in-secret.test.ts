import { expect, test } from "vitest";
import type { KubeObject, ObjectKey, ResourceType } from "../../../src/kube/resource.ts";
import type { Cluster } from "../../../src/kubectl-iam/cluster/cluster.ts";
import { readKeyInSecret } from "../../../src/kubectl-iam/console/from-cluster.ts";

const encoded = (text: string) => Buffer.from(text).toString("base64");
const objects: Readonly<Record<string, object>> = {
  "Secret ci": {
    metadata: { name: "ci", namespace: "n", labels: { "iam-operator.io/api-key": "ci" } },
    data: { keyId: encoded("sak_1"), secret: encoded("x".repeat(43)) },
  },
  "ApiKey ci": {
    metadata: { name: "ci", namespace: "n", uid: "u" },
    spec: { serviceAccountRef: { name: "next" } },
    status: { current: { keyId: "sak_1", serviceAccount: "former", saId: "sa-1" } },
  },
  "ServiceAccount former": { spec: { connectionRef: { kind: "Connection", name: "former" } } },
  "ServiceAccount next": { spec: { connectionRef: { kind: "Connection", name: "next" } } },
};

test("the key of an ApiKey that moves is for the console of the account that it belongs to", async () => {
  const get = async (type: ResourceType<KubeObject>, { name }: ObjectKey) =>
    objects[`${type.kind} ${name}`];
  const cluster = { namespace: "n", kube: { get } } as unknown as Cluster;
  const { key, connectionRef } = await readKeyInSecret(cluster, "ci");
  expect([key.keyId, connectionRef.name]).toEqual(["sak_1", "former"]);
});
