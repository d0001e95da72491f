/** What tests on a real API server need besides the server. */

import { afterAll, beforeAll } from "vitest";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import {
  createKubeClient,
  type KubeClientOptions,
} from "../../../src/kube/client/http-kube-client.ts";
import { loadKubeEndpoint } from "../../../src/kube/config/config.ts";
import { createKubeTransport, type KubeTransport } from "../../../src/kube/transport/transport.ts";
import type { WatchApi } from "../../../src/kube/watch/watch-stream.ts";
import { systemClock } from "../../../src/util/time.ts";
import { type ControlPlane, startControlPlane } from "../../cluster/control-plane.ts";
import { createNamespace } from "../../cluster/namespace.ts";

export interface RealClient {
  readonly client: KubeClient;
  readonly api: WatchApi;
  readonly transport: KubeTransport;
  /** Method and status of every request so far. */
  readonly requests: readonly string[];
}

export async function connect(
  kubeconfig: string,
  options: Partial<KubeClientOptions> = {},
): Promise<RealClient> {
  const endpoint = await loadKubeEndpoint({ kubeconfig, clock: systemClock });
  const requests: string[] = [];
  const transport = createKubeTransport({
    endpoint,
    clock: systemClock,
    onRequest: (method, code) => void requests.push(`${method} ${code}`),
  });
  const { send, openStream } = transport;
  const common = {
    baseURL: endpoint.server,
    send,
    clock: systemClock,
    userAgent: "iam-operator/test",
  };
  const client = createKubeClient({ ...common, fieldManager: "iam-operator", ...options });
  return { client, api: { ...common, openStream }, transport, requests };
}

export interface OwnNamespace extends RealClient {
  readonly namespace: string;
}

/** A control plane with a namespace, for all tests around it. The first start on a machine builds it, hence the patience. */
export function useNamespace(name: string): () => OwnNamespace {
  let cluster: ControlPlane | undefined;
  let own: OwnNamespace | undefined;
  beforeAll(async () => {
    cluster = await startControlPlane({ controllerManager: false });
    const real = await connect(cluster.kubeconfig);
    own = { ...real, namespace: await createNamespace(cluster, name) };
  }, 900_000);
  afterAll(async () => {
    await own?.transport.close();
    await cluster?.stop();
  });
  return () => {
    if (own === undefined) throw new Error("there is a namespace only while tests run");
    return own;
  };
}
