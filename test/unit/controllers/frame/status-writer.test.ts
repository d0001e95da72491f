import { describe, expect, test } from "vitest";
import type { ServiceAccount } from "../../../../src/api/service-account.ts";
import { writeStatus } from "../../../../src/controllers/frame/status-writer.ts";
import { serviceAccountType } from "../../../../src/controllers/resource-types.ts";
import { systemClock } from "../../../../src/util/time.ts";
import { MemoryCluster } from "../../../support/memory-cluster.ts";

const key = { namespace: "team-a", name: "ci" };

function createWorld() {
  const cluster = new MemoryCluster(systemClock);
  const put = () => {
    const spec = { connectionRef: { kind: "Connection", name: "console" } };
    cluster.put(serviceAccountType, { metadata: key, spec });
  };
  put();
  const stored = (): ServiceAccount => cluster.peek(serviceAccountType, key);
  return {
    cluster,
    stored,
    edit: () =>
      cluster.edit(serviceAccountType, key, ({ metadata }) => {
        metadata.labels = { team: "a" };
      }),
    makeAgain: () => {
      cluster.remove(serviceAccountType, key);
      put();
    },
    write: (object: ServiceAccount, options = {}) =>
      writeStatus(
        { kube: cluster.client },
        serviceAccountType,
        { noteWrite: () => undefined },
        object,
        { saId: "sa-1" } as NonNullable<ServiceAccount["status"]>,
        options,
      ),
  };
}

describe("a status", () => {
  test("is written without a read where the object is as it was read", async () => {
    const { cluster, stored, write } = createWorld();
    await write(stored());
    expect(stored().status?.saId).toBe("sa-1");
    expect(cluster.reads).toBe(0);
  });

  test("reaches an object that has changed since", async () => {
    const { stored, edit, write } = createWorld();
    const read = stored();
    edit();
    await write(read);
    expect(stored()).toMatchObject({
      metadata: { labels: { team: "a" } },
      status: { saId: "sa-1" },
    });
  });

  test("does not, where that it has not changed is the condition", async () => {
    const { stored, edit, write } = createWorld();
    const read = stored();
    edit();
    const { resourceVersion = "" } = read.metadata;
    await expect(write(read, { resourceVersion })).rejects.toMatchObject({ code: "Conflict" });
    expect(stored().status?.saId).toBeUndefined();
  });

  test("never reaches an object that was made again under the name", async () => {
    const { stored, makeAgain, write } = createWorld();
    const read = stored();
    makeAgain();
    await expect(write(read)).rejects.toMatchObject({ code: "Conflict" });
    expect(stored().status?.saId).toBeUndefined();
  });
});
