/** API servers with the CRDs and the operator's permissions, for any number of worlds. */
import { installOperator } from "../../scripts/demo/install.ts";
import { createKubectl, type Kubectl } from "../../scripts/demo/kubectl.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";
import { connect } from "../cluster/real-client.ts";
import { ROOT } from "./program.ts";
import { World, type WorldOptions } from "./world.ts";

/** What worlds need of a control plane. */
export type Cluster = Pick<
  ControlPlane,
  "url" | "caFile" | "kubectl" | "kubeconfig" | "kubeconfigFor"
>;

export interface Servers<Plane extends Cluster = Cluster> {
  readonly cluster: Plane;
  readonly kubectl: Kubectl;
  /** With all permissions. */
  readonly kube: KubeClient;
  /** The worlds that were opened here. */
  readonly worlds: readonly World[];
  /** A world with a Connection to its console, and no manager yet. */
  openWorld(options?: WorldOptions): Promise<World>;
  /** Ends what works in the worlds, then the servers. */
  close(): Promise<void>;
}

/** Servers that only these worlds use. */
export type OwnServers = Servers<ControlPlane>;

export async function startServers(): Promise<OwnServers> {
  const cluster = await startControlPlane();
  try {
    await installOperator(createKubectl(cluster.kubectl, cluster.kubeconfig), ROOT);
    await cluster.restartControllerManager();
    return await connectServers(cluster, () => cluster.stop());
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** Connects to running servers. `stop` is called last when they are closed. */
export async function connectServers<Plane extends Cluster>(
  cluster: Plane,
  stop: () => Promise<void>,
): Promise<Servers<Plane>> {
  const { client: kube, transport } = await connect(cluster.kubeconfig, {
    userAgent: "test",
    fieldManager: "test",
  });
  const worlds: World[] = [];
  return {
    cluster,
    kubectl: createKubectl(cluster.kubectl, cluster.kubeconfig),
    kube,
    worlds,
    async openWorld(options = {}) {
      const world = await World.open({ cluster, kube }, options);
      worlds.push(world);
      await world.connect();
      return world;
    },
    async close() {
      for (const world of worlds) await world.halt();
      await transport.close();
      await stop();
    },
  };
}
