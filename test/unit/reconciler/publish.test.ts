import { describe, expect, test } from "vitest";
import type { ServiceAccount } from "../../../src/api/service-account.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { KubeError } from "../../../src/kube/errors.ts";
import { StatusUnanswered } from "../../../src/reconciler/errors.ts";
import { writeStatus } from "../../../src/reconciler/publish.ts";
import { UnansweredStatuses } from "../../../src/reconciler/unanswered-statuses.ts";
import { serviceAccountType } from "../../../src/resources/resource-types.ts";
import { MINUTE, systemClock } from "../../../src/util/time.ts";
import { MemoryCluster } from "../../support/memory-cluster.ts";

const key = { namespace: "team-a", name: "ci" };

const statusOf = (saId: string) => ({ saId }) as NonNullable<ServiceAccount["status"]>;

function createWorld() {
  const cluster = new MemoryCluster(systemClock);
  const unanswered = new UnansweredStatuses(systemClock);
  const spec = { connectionRef: { kind: "Connection", name: "console" } };
  const put = () => cluster.put(serviceAccountType, { metadata: key, spec });
  put();
  const stored = (): ServiceAccount => cluster.peek(serviceAccountType, key);
  return {
    ...{ cluster, stored, unanswered },
    edit: () =>
      cluster.edit(serviceAccountType, key, ({ metadata }) => {
        metadata.labels = { team: "a" };
      }),
    makeAgain: () => {
      cluster.remove(serviceAccountType, key);
      put();
    },
    write: (object: ServiceAccount, options = {}, saId = "sa-1", kube = cluster.client) =>
      writeStatus({ kube, unanswered }, serviceAccountType, object, statusOf(saId), options),
    /** Carries writes out, but their answers get lost. */
    unanswering: Object.assign(Object.create(cluster.client), {
      apply: async (...call: Parameters<KubeClient["apply"]>) => {
        await cluster.client.apply(...call);
        throw new KubeError("Unavailable", "the answer is lost");
      },
    }) as KubeClient,
  };
}

describe("a status", () => {
  test("is written, with a read only if the object has changed since", async () => {
    const { cluster, stored, edit, write } = createWorld();
    await write(stored());
    expect(cluster.reads).toBe(0);
    const read = stored();
    edit();
    await write(read, {}, "sa-2");
    const labels = { team: "a" };
    expect(stored()).toMatchObject({ metadata: { labels }, status: { saId: "sa-2" } });
  });

  test("is the whole status, whatever somebody added to it", async () => {
    const { cluster, stored, write } = createWorld();
    await write(stored());
    cluster.edit(serviceAccountType, key, (object) => {
      object.status = { ...object.status, bindings: { policyCount: 1 }, liveKeyIds: ["sak_1"] };
    });
    const written = await write(stored());
    expect(written.status).toEqual({ saId: "sa-1", observedGeneration: expect.anything() });
    expect(stored().status).toEqual(written.status);
  });

  test.each(["edit", "makeAgain"] as const)(
    "that requires the version, or the object, is not written after: %s",
    async (change) => {
      const world = createWorld();
      const read = world.stored();
      world[change]();
      const { resourceVersion = "" } = read.metadata;
      const options = change === "edit" ? { resourceVersion } : {};
      await expect(world.write(read, options)).rejects.toMatchObject({ code: "Conflict" });
      expect(world.stored().status?.saId).toBeUndefined();
    },
  );

  test("that was written without an answer is replaced, though nobody has seen it yet", async () => {
    const { stored, unanswered, write, unanswering } = createWorld();
    const seen = { ...(await write(stored())), status: statusOf("sa-1") };
    expect(await write(seen)).toBe(seen);
    const lost = write(seen, {}, "sa-2", unanswering);
    await expect(lost).rejects.toBeInstanceOf(StatusUnanswered);
    expect(stored().status?.saId).toBe("sa-2");
    await write(seen);
    expect(stored().status?.saId).toBe("sa-1");
    expect(unanswered.has(seen.metadata.uid)).toBe(false);
  });

  test("that may still arrive late is in doubt until another version is stored, or for five minutes", () => {
    let now = 0;
    const unanswered = new UnansweredStatuses({ monotonic: () => now });
    unanswered.note("u1");
    unanswered.answered("u1", false);
    expect(unanswered.has("u1")).toBe(true);
    unanswered.answered("u1", true);
    expect(unanswered.has("u1")).toBe(false);
    unanswered.note("u1");
    now = 5 * MINUTE;
    expect(unanswered.has("u1")).toBe(false);
  });
});
