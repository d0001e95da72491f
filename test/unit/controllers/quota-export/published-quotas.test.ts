import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { annotations } from "../../../../src/api/meta.ts";
import { PublishedQuotas } from "../../../../src/controllers/quota-export/actions/published-quotas.ts";
import type { Quota } from "../../../../src/iam/model.ts";
import { createMetrics } from "../../../../src/observability/metrics.ts";
import { MINUTE } from "../../../../src/util/time.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { exportWorld } from "./world.ts";

const quota = (name: string, displayRequest: string): Quota => ({
  name,
  namespace: "n",
  status: undefined,
  displayRequest,
  displayLimit: "",
  createdAt: "",
});

describe("listing", () => {
  test("shows the whole listing as status", async () => {
    const world = await exportWorld();
    world.put();
    expect(await world.pass()).toEqual({ requeueAfterMs: 5 * MINUTE });
    expect(world.object().status).toMatchObject({
      observedGeneration: 1,
      lastSuccessTime: "2026-01-01T00:00:00Z",
      total: 12,
      truncated: false,
    });
    expect(world.object().status.quotas).toHaveLength(12);
    expect(world.ready()?.reason).toBe("Listed");
  });

  test("filters as asked", async () => {
    const world = await exportWorld();
    world.put({ namespaces: ["team-a"], filterNames: ["storage", "object"] });
    await world.pass();
    expect(world.object().status.quotas.map(({ name }: { name: string }) => name)).toEqual([
      "object-counts",
      "storage-quota",
    ]);
  });

  test("happens once an interval, at once after a change, and at once on request", async () => {
    const world = await exportWorld();
    world.put();
    await world.pass();
    await world.pass();
    expect(world.listings()).toBe(1);
    await world.clock.advance(5 * MINUTE);
    await world.pass();
    expect(world.listings()).toBe(2);
    world.put({ interval: "1m" });
    await world.pass();
    expect(world.listings()).toBe(3);
    world.put({}, { annotations: { [annotations.reconcileRequestedAt]: "now" } });
    await world.pass();
    await world.pass();
    expect(world.listings()).toBe(4);
    expect(world.object().status.lastHandledReconcileAt).toBe("now");
  });

  test("is spread by uid after a restart", async () => {
    const world = await exportWorld();
    world.put();
    await world.pass();
    world.restart();
    const { requeueAfterMs = 0 } = await world.pass();
    expect(requeueAfterMs).toBeGreaterThan(0);
    expect(requeueAfterMs).toBeLessThan(MINUTE);
    expect(world.listings()).toBe(1);
  });

  test("stops while suspended", async () => {
    const world = await exportWorld();
    world.put({ suspend: true });
    await world.pass();
    expect(world.listings()).toBe(0);
    expect(world.ready()?.reason).toBe("Suspended");
  });

  test("refuses a spec that only its own rules forbid", async () => {
    const world = await exportWorld();
    world.put({ interval: "5s" });
    await world.pass();
    expect(world.listings()).toBe(0);
    expect(world.ready()?.reason).toBe("InvalidSpec");
  });

  test("keeps the last listing in status where the console fails, and throws for the queue", async () => {
    const world = await exportWorld();
    world.put();
    await world.pass();
    await world.clock.advance(5 * MINUTE);
    await world.console.faults.setReachability("unavailable");
    await expect(world.pass()).rejects.toMatchObject({ code: "Unavailable" });
    expect(world.object().status.total).toBe(12);
    expect(world.ready()?.reason).toBe("Unavailable");
  });

  test("of an unknown cluster is not tried again at once", async () => {
    const world = await exportWorld();
    world.put({ clusterId: 99 });
    expect(await world.pass()).toEqual({ requeueAfterMs: 5 * MINUTE });
    await world.pass();
    expect(world.listings()).toBe(1);
    expect(world.ready()?.reason).toBe("NotFound");
  });

  test("that the console refuses is tried again at its interval, then ever less often", async () => {
    const world = await exportWorld();
    world.put({ clusterId: 99, interval: "1m" });
    const minutes: number[] = [];
    for (let refusals = 0; refusals < 5; refusals += 1) {
      const { requeueAfterMs = 0 } = await world.pass();
      minutes.push(Math.round(requeueAfterMs / MINUTE));
      await world.clock.advance(requeueAfterMs);
    }
    expect(minutes).toEqual([1, 2, 4, 5, 5]);
    expect(world.listings()).toBe(5);
    world.put({ clusterId: 7 }, { generation: 2 });
    await world.pass();
    expect(world.ready()?.reason).toBe("Listed");
  });
});

describe("with a key", () => {
  const withKey = { apiKeyRef: { name: "ci-key" } };

  test("lists as the service account", async () => {
    const world = await exportWorld();
    const { keyId } = world.issue(["pol-read"]);
    world.put(withKey);
    await world.pass();
    expect(world.ready()?.reason).toBe("Listed");
    expect(world.console.requests.of("listResourceQuotas")[0]?.principal).toBe(keyId);
  });

  test("waits for the ApiKey and for its Secret", async () => {
    const world = await exportWorld();
    world.put(withKey);
    await world.pass();
    expect(world.ready()?.reason).toBe("WaitingForApiKey");
    world.issue(["pol-read"]);
    const pair = world.pairs.get("ci-key");
    world.pairs.clear();
    await world.pass();
    expect(world.ready()?.reason).toBe("WaitingForApiKey");
    if (pair !== undefined) world.pairs.set("ci-key", pair);
    await world.pass();
    expect(world.ready()?.reason).toBe("Listed");
  });

  test("never sends a key over another connection than its own", async () => {
    const world = await exportWorld();
    world.issue(["pol-read"]);
    world.put({ ...withKey, connectionRef: { kind: "Connection", name: "elsewhere" } });
    await world.pass();
    expect(world.listings()).toBe(0);
    expect(world.ready()?.reason).toBe("ConnectionMismatch");
  });

  test("sends a rejected key again after five minutes, and the next one at once", async () => {
    const world = await exportWorld();
    const key = world.issue(["pol-read"]);
    key.status = "inactive";
    world.put(withKey);
    expect(await world.pass()).toEqual({ requeueAfterMs: 5 * MINUTE });
    await world.clock.advance(4 * MINUTE);
    await world.pass();
    expect(world.listings()).toBe(1);
    await world.clock.advance(MINUTE);
    await world.pass();
    expect(world.listings()).toBe(2);
    expect(world.ready()).toMatchObject({
      reason: "KeyRejected",
      message: expect.stringContaining(key.keyId),
    });
    world.issue(["pol-read"]);
    await world.pass();
    expect(world.ready()?.reason).toBe("Listed");
  });

  test.each([
    [[], "No policy is bound"],
    [["pol-deploy"], "has 1 policy bound"],
  ])("explains a denial with %j bound", async (policyIds, words) => {
    const world = await exportWorld();
    world.issue(policyIds);
    world.put(withKey);
    await world.pass();
    expect(world.ready()?.reason).toBe("PermissionDenied");
    expect(world.ready()?.message).toContain(words);
    expect(world.ready()?.message).toMatch(/request(Id)? [-0-9a-f]{36}/);
  });
});

describe("metrics", () => {
  test("show every quota, and amounts where the text can be read", async () => {
    const world = await exportWorld();
    world.put({ namespaces: ["team-a", "team-c"] });
    await world.pass();
    const text = await world.metrics.render();
    const lines = text.split("\n").filter((line) => line.startsWith("iam_operator_resourcequota"));
    const of = 'export_namespace="team-a",export="quotas"';
    expect(lines).toEqual(
      expect.arrayContaining([
        `iam_operator_resourcequota{${of},cluster_id="7",namespace="team-a",name="compute-quota",resource="cpu",type="used"} 0.5`,
        `iam_operator_resourcequota{${of},cluster_id="7",namespace="team-a",name="compute-quota",resource="limits.memory",type="hard"} ${8 * 2 ** 30}`,
        `iam_operator_resourcequota_parse_ok{${of},cluster_id="7",namespace="team-c",name="odd-text"} 0`,
        `iam_operator_resourcequota_info{${of},cluster_id="7",namespace="team-a",name="object-counts",status="",request="pods: 3/50, services: 2/10",limit=""} 1`,
        `iam_operator_resourcequota_export_total{${of}} 6`,
        `iam_operator_resourcequota_export_last_success_timestamp_seconds{${of}} ${Date.UTC(2026, 0, 1) / 1_000}`,
      ]),
    );
  });

  test("vanish with the record", async () => {
    const world = await exportWorld();
    world.put();
    await world.pass();
    const cluster = world.console.world.clusters.get(7);
    if (cluster !== undefined) cluster.quotas = cluster.quotas.slice(0, 1);
    await world.clock.advance(5 * MINUTE);
    await world.pass();
    const text = await world.metrics.render();
    expect(text).toContain('name="compute-quota"');
    expect(text).not.toContain('name="storage-quota"');
  });

  test("of more quotas than there may be series are left out, counted, and said to be", async () => {
    const world = await exportWorld({ perExport: 20, total: 50_000 });
    world.put();
    await world.pass();
    const omitted = /^iam_operator_resourcequota_export_omitted\{.*\} (\d+)$/m;
    const left = Number(omitted.exec(await world.metrics.render())?.[1]);
    const info = (await world.metrics.render()).match(/^iam_operator_resourcequota_info\{/gm) ?? [];
    expect(left).toBeGreaterThan(0);
    expect(info).toHaveLength((world.object()?.status?.total ?? 0) - left);
    expect(world.ready()).toMatchObject({ status: "True", reason: "TooManySeries" });
    expect(world.ready()?.message).toContain(`${left} quotas are not exported`);
  });

  test("of all exports together are limited as well, and room that gets free is used", async () => {
    const metrics = createMetrics(new Registry());
    const clock = createFakeClock();
    const published = new PublishedQuotas(metrics, clock, { perExport: 30, total: 40 });
    const quotas = Array.from({ length: 20 }, (_, n) => quota(`q${n}`, "cpu: 1/2"));
    const listing = { clusterId: 7, quotas, intervalMs: MINUTE, durationMs: 1 };
    const keyOf = (name: string) => ({ namespace: "a", name });
    // Five series each.
    expect(await published.publish(keyOf("first"), listing)).toBe(14);
    expect(await published.publish(keyOf("second"), listing)).toBe(18);
    published.drop(keyOf("first"));
    expect(await published.publish(keyOf("second"), listing)).toBe(14);
  });

  test("with long labels count as several", async () => {
    const metrics = createMetrics(new Registry());
    const limits = { perExport: 60, total: 60 };
    const published = new PublishedQuotas(metrics, createFakeClock(), limits);
    const quotas = Array.from({ length: 20 }, (_, n) => quota(`q${n}`, "x".repeat(4_000)));
    const listing = { clusterId: 7, quotas, intervalMs: MINUTE, durationMs: 1 };
    expect(await published.publish({ namespace: "a", name: "b" }, listing)).toBe(8);
  });

  test("vanish with the object", async () => {
    const world = await exportWorld();
    world.put();
    await world.pass();
    world.forget();
    expect(await world.metrics.render()).not.toContain('export="quotas"');
  });

  test("vanish after three missed intervals, without any pass and without a call", async () => {
    const world = await exportWorld();
    world.put();
    await world.pass();
    await world.clock.advance(15 * MINUTE);
    expect(await world.metrics.render()).toContain('export="quotas"');
    await world.clock.advance(1);
    expect(await world.metrics.render()).not.toContain('export="quotas"');
    expect(world.listings()).toBe(1);
  });

  test("of five thousand quotas are whole, and shown within bounds", async () => {
    const world = await exportWorld();
    const cluster = world.console.world.clusters.get(7);
    if (cluster !== undefined) {
      cluster.quotas = Array.from({ length: 5_000 }, (_, index) => ({
        clusterId: 7,
        status: "Active",
        name: `quota-${index}`,
        namespace: `team-${index % 50}`,
        displayRequest: "cpu: 500m/2, memory: 1Gi/4Gi",
        displayLimit: "cpu: 1/4, memory: 2Gi/8Gi",
        createdAt: "2026-01-01T00:00:00Z",
      }));
    }
    world.put();
    await world.pass();
    await world.clock.advance(5 * MINUTE);
    await world.pass();
    expect(world.object().status).toMatchObject({ total: 5_000, truncated: true });
    expect(Buffer.byteLength(JSON.stringify(world.object()))).toBeLessThan(50_000);
  });
});
