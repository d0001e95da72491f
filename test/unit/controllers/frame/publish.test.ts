import { describe, expect, test } from "vitest";
import type { ServiceAccount } from "../../../../src/api/service-account.ts";
import { StatusUnanswered } from "../../../../src/controllers/frame/errors.ts";
import { writeStatus } from "../../../../src/controllers/frame/publish.ts";
import { serviceAccountType } from "../../../../src/controllers/resource-types.ts";
import type { KubeClient } from "../../../../src/kube/client/client.ts";
import { KubeError } from "../../../../src/kube/errors.ts";
import { systemClock } from "../../../../src/util/time.ts";
import { MemoryCluster } from "../../../support/memory-cluster.ts";

const key = { namespace: "team-a", name: "ci" };

const statusOf = (saId: string) => ({ saId }) as NonNullable<ServiceAccount["status"]>;

function createWorld() {
  const cluster = new MemoryCluster(systemClock);
  const unanswered = new Set<string>();
  const put = () => {
    const spec = { connectionRef: { kind: "Connection", name: "console" } };
    cluster.put(serviceAccountType, { metadata: key, spec });
  };
  put();
  const stored = (): ServiceAccount => cluster.peek(serviceAccountType, key);
  return {
    cluster,
    stored,
    unanswered,
    edit: () =>
      cluster.edit(serviceAccountType, key, ({ metadata }) => {
        metadata.labels = { team: "a" };
      }),
    makeAgain: () => {
      cluster.remove(serviceAccountType, key);
      put();
    },
    /** Is carried out, but the answer gets lost. */
    writeUnanswered: (object: ServiceAccount, saId: string) => {
      const apply: KubeClient["apply"] = async (...call) => {
        await cluster.client.apply(...call);
        throw new KubeError("Unavailable", "the answer is lost");
      };
      const kube: KubeClient = Object.assign(Object.create(cluster.client), { apply });
      return writeStatus({ kube, unanswered }, serviceAccountType, object, statusOf(saId));
    },
    write: (object: ServiceAccount, options = {}) =>
      writeStatus(
        { kube: cluster.client, unanswered },
        serviceAccountType,
        object,
        statusOf("sa-1"),
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

  test("that was written without an answer is replaced, though nobody has seen it yet", async () => {
    const { stored, unanswered, write, writeUnanswered } = createWorld();
    const seen = { ...(await write(stored())), status: statusOf("sa-1") };
    expect(await write(seen)).toBe(seen);
    await expect(writeUnanswered(seen, "sa-2")).rejects.toBeInstanceOf(StatusUnanswered);
    expect(stored().status?.saId).toBe("sa-2");
    await write(seen);
    expect(stored().status?.saId).toBe("sa-1");
    expect(unanswered.size).toBe(0);
  });
});
