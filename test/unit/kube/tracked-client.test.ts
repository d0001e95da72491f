import { describe, expect, test } from "vitest";
import type { KubeClient, WriteOptions } from "../../../src/kube/client/client.ts";
import { trackWrites } from "../../../src/kube/client/tracked-client.ts";
import { configMapType } from "../../../src/kube/resource-types.ts";
import { serviceAccountType } from "../../../src/resources/resource-types.ts";
import { systemClock } from "../../../src/util/time.ts";
import { MemoryCluster } from "../../support/memory-cluster.ts";

const key = { namespace: "team-a", name: "ci" };
const spec = { connectionRef: { kind: "Connection", name: "console" } };
const object = { metadata: key, spec } as never;
const labels = { labels: { team: "a" } };

type Write = (client: KubeClient, options?: WriteOptions) => Promise<unknown>;
const writes: Readonly<Record<string, Write>> = {
  apply: (client, options) =>
    client.apply(serviceAccountType, { metadata: { ...key, ...labels }, spec } as never, options),
  mergePatch: (client, options) =>
    client.mergePatch(serviceAccountType, key, { metadata: labels }, options),
  replace: async (client, options) => {
    const stored = await client.get(serviceAccountType, key);
    const metadata = { ...stored?.metadata, ...labels };
    return client.replace(serviceAccountType, { ...stored, metadata } as never, options);
  },
};

/** A cluster with the object, whose watch stands still. */
function createWorld() {
  const cluster = new MemoryCluster(systemClock);
  const serviceAccounts = cluster.openCaches().of(serviceAccountType);
  cluster.put(serviceAccountType, { metadata: key, spec });
  cluster.watching = false;
  return { cluster, client: cluster.client, isCurrent: () => serviceAccounts.isCurrent(key) };
}

describe("the store of its type", () => {
  test.each(Object.entries(writes))("waits for the watch after %s", async (_, write) => {
    const { client, isCurrent } = createWorld();
    await write(client);
    expect(isCurrent()).toBe(false);
  });

  test("waits for the watch after create", async () => {
    const { client, cluster, isCurrent } = createWorld();
    cluster.remove(serviceAccountType, key);
    await client.create(serviceAccountType, object);
    expect(isCurrent()).toBe(false);
  });

  test.each(Object.entries(writes))("hears of no dry run of %s", async (_, write) => {
    const { client, isCurrent } = createWorld();
    await write(client, { dryRun: true });
    expect(isCurrent()).toBe(true);
  });

  test("hears of no write that was refused", async () => {
    const { client, isCurrent } = createWorld();
    const refused = client.mergePatch(serviceAccountType, key, { metadata: { uid: "other" } });
    await expect(refused).rejects.toMatchObject({ code: "Conflict" });
    expect(isCurrent()).toBe(true);
  });

  test("waits for the version that a write was too old for", async () => {
    const { client, cluster, isCurrent } = createWorld();
    const stored = await client.get(serviceAccountType, key);
    cluster.put(serviceAccountType, { metadata: { ...key, ...labels }, spec });
    const refused = client.replace(serviceAccountType, stored as never);
    await expect(refused).rejects.toMatchObject({ code: "Conflict" });
    expect(isCurrent()).toBe(false);
  });

  test("hears of no deletion, which answers no version", async () => {
    const { client, isCurrent } = createWorld();
    await client.delete(serviceAccountType, key, {});
    expect(isCurrent()).toBe(true);
  });
});

test("a write of a type that is not cached is sent as it is", async () => {
  const { cluster } = createWorld();
  const asked: string[] = [];
  const client = trackWrites(cluster.client, ({ kind }) => void asked.push(kind));
  const map = await client.create(configMapType, { metadata: key });
  expect(map.metadata.name).toBe("ci");
  expect(asked).toEqual(["ConfigMap"]);
});
