/** The operator's client for a real API server. */
import type { KubeClient } from "../../src/kube/client/client.ts";
import {
  createKubeClient,
  type KubeClientOptions,
} from "../../src/kube/client/http-kube-client.ts";
import { loadKubeEndpoint } from "../../src/kube/config/config.ts";
import { createKubeTransport, type KubeTransport } from "../../src/kube/transport/transport.ts";
import type { WatchApi } from "../../src/kube/watch/watch-stream.ts";
import { systemClock } from "../../src/util/time.ts";

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
