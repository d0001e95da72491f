/** What the API server asks a kubelet for: the log of a Pod. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { KubeObject, ResourceType } from "../../../../src/kube/resource.ts";
import { podType } from "../../../../src/kube/resource-types.ts";
import type { World } from "../../../real-world/world.ts";
import { opensslCertificate } from "../../../support/openssl-certificate.ts";

const nodeType: ResourceType = {
  group: "",
  version: "v1",
  plural: "nodes",
  kind: "Node",
  namespaced: false,
};

/** A node with the operator's Pod `name`, which has said `lines`, and before its container ended `previous`. */
export async function runOperatorPod(
  { kube, namespace }: World,
  name: string,
  lines: readonly string[],
  { previous, args = [] }: { previous?: string; args?: readonly string[] } = {},
): Promise<AsyncDisposable> {
  const certificate = opensslCertificate();
  if (certificate === undefined) throw new Error("there is no openssl");
  const server = createServer(certificate, ({ url = "" }, response) => {
    if (!url.includes("previous=true")) return void response.end(lines.join("\n"));
    response.statusCode = previous === undefined ? 400 : 200;
    response.end(previous ?? "previous terminated container not found");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const node = { name: `node-of-${namespace}` };
  await kube.create(nodeType, { metadata: node });
  await kube.apply(
    nodeType,
    {
      metadata: node,
      status: {
        addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
        daemonEndpoints: { kubeletEndpoint: { Port: port } },
      },
    } as KubeObject,
    { subresource: "status" },
  );
  await kube.create(podType, {
    metadata: { name, namespace, labels: { "app.kubernetes.io/name": "iam-operator" } },
    spec: { nodeName: node.name, containers: [{ name: "operator", image: "operator", args }] },
  } as KubeObject);
  return {
    [Symbol.asyncDispose]: async () => {
      await kube.delete(podType, { namespace, name }, {});
      await kube.delete(nodeType, { namespace: "", name: node.name }, {});
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
