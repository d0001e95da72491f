/** ClusterConnections exist once in the cluster: an operator that serves them serves those of every test, so these go one by one. */
import { afterAll, beforeAll, inject } from "vitest";
import { MINUTE } from "../../../src/util/time.ts";
import type { World } from "../../real-world/world.ts";
import { withLock } from "../../support/lock.ts";

/** What the operator of such a test has to be told. */
export const servingAll = { clusterConnections: "true" } as const;

/** While the tests of this file run, those of other files that call this wait. */
export function runAlone(): void {
  const over = Promise.withResolvers<void>();
  let unlocked: Promise<void> | undefined;
  beforeAll(async () => {
    const begun = Promise.withResolvers<void>();
    const file = `${inject("controlPlane").kubeconfig}.cluster-connections`;
    unlocked = withLock(file, console.log, () => {
      begun.resolve();
      return over.promise;
    });
    await Promise.race([begun.promise, unlocked]);
  }, 10 * MINUTE);
  afterAll(async () => {
    over.resolve();
    await unlocked;
  });
}

/** Gives the world's console to namespaces, by a ClusterConnection with the name of the world's namespace. */
export async function connectCluster(
  world: World,
  grants: readonly object[],
  more: object = {},
): Promise<void> {
  await world.connect();
  const { spec } = await world.get("Connection", "console");
  await world.delete("Connection", "console");
  await world.apply("ClusterConnection", world.namespace, { ...spec, grants, ...more });
  if (world.manager === undefined) await world.start();
  await world.ready("ClusterConnection", world.namespace);
}

const KINDS = ["PolicyBinding", "ApiKey", "ResourceQuotaExport", "ServiceAccount"] as const;

/** Ends with the world's ClusterConnection deleted, and before it all objects of the namespace. */
export async function thenDisconnect(world: World, body: () => Promise<void>): Promise<void> {
  try {
    await body();
  } catch (error) {
    // What the test failed with counts, not what that leaves behind.
    await disconnect(world).catch(() => undefined);
    throw error;
  }
  await disconnect(world);
}

async function disconnect(world: World): Promise<void> {
  const { namespace } = world;
  for (const kind of KINDS)
    for (const { metadata } of await world.kube.list(world.type(kind), { namespace }))
      await world.delete(kind, metadata.name).catch(() => undefined);
  await world.delete("ClusterConnection", namespace);
  await world.isGone("ClusterConnection", namespace);
}
