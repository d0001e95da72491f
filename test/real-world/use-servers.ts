/** Servers for the tests of a file. */
import { dirname } from "node:path";
import { afterAll, beforeAll, inject } from "vitest";
import { kubeconfigPath } from "../cluster/users.ts";
import { connectServers, type OwnServers, type Servers, startServers } from "./servers.ts";

/** Their own, for tests that change what the user `operator` may do, or need all of their memory. */
export function useServers(): () => OwnServers {
  return use(startServers, (servers) => servers.close());
}

/** Those of all tests that need only namespaces of their own. */
export function useSharedServers(): () => Servers {
  return use(connectShared, async (servers) => {
    for (const world of servers.worlds) await world.close();
    await servers.close();
  });
}

export function connectShared(): Promise<Servers> {
  const plane = inject("controlPlane");
  const kubeconfigFor = (user: string) => kubeconfigPath(dirname(plane.kubeconfig), user);
  return connectServers({ ...plane, kubeconfigFor }, async () => undefined);
}

/** The first start on a machine builds the servers, hence the patience. */
function use<Any>(open: () => Promise<Any>, close: (servers: Any) => Promise<void>): () => Any {
  let servers: Any | undefined;
  beforeAll(async () => {
    servers = await open();
  }, 30 * 60_000);
  afterAll(async () => {
    if (servers !== undefined) await close(servers);
  });
  return () => {
    if (servers === undefined) throw new Error("there are servers only while tests run");
    return servers;
  };
}
