/** Creations that a real API server judges and does not keep, over HTTP: milliseconds each, where kubectl takes a fifth of a second. */
import { join } from "node:path";
import type { Kind } from "../../../src/api/kind.ts";
import { kinds } from "../../../src/api/kinds.ts";
import { API_VERSION, GROUP } from "../../../src/api/meta.ts";
import { type ControlPlane, startControlPlane } from "../../cluster/control-plane.ts";
import { connect } from "../../cluster/real-client.ts";
import { runKubectl } from "../../unit/api/run-kubectl.ts";

export interface Answer {
  /** 201 if the server would create the object. */
  readonly status: number;
  /** The object with its defaults, or a Status whose message names each violation. */
  readonly body: { readonly spec?: unknown; readonly message?: string };
}

export interface DryRun {
  readonly cluster: ControlPlane;
  create(kind: Kind, object: unknown, namespace?: string): Promise<Answer>;
  close(): Promise<void>;
}

/** An API server with the CRDs. */
export async function startDryRun(): Promise<DryRun> {
  const cluster = await startControlPlane({ controllerManager: false });
  const kubectl = (...args: readonly string[]) =>
    runKubectl(cluster.kubectl, cluster.kubeconfig, args);
  const crds = kinds.map(({ plural }) => `crd/${plural}.${GROUP}`);
  const folder = join(import.meta.dirname, "../../../crds");
  await kubectl("apply", "--server-side", "--filename", folder);
  await kubectl("wait", "--for=condition=Established", "--timeout=30s", ...crds);
  const { transport } = await connect(cluster.kubeconfig);
  return {
    cluster,
    async create(kind, object, namespace = "default") {
      const where = kind.scope === "Cluster" ? "" : `namespaces/${namespace}/`;
      const { status, body } = await transport.send({
        method: "POST",
        url: `${cluster.url}/apis/${API_VERSION}/${where}${kind.plural}?dryRun=All`,
        headers: { "content-type": "application/json", accept: "application/json" },
        body: JSON.stringify(object),
        timeoutMs: 30_000,
        maxBytes: 2 ** 24,
      });
      return { status, body: JSON.parse(body.toString()) as Answer["body"] };
    },
    async close() {
      await transport.close();
      await cluster.stop();
    },
  };
}
