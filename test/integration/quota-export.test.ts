import { describe, expect, test } from "vitest";
import { SEEDED } from "../iam-server/seed.ts";
import type { Quota } from "../iam-server/world.ts";
import { inWorld } from "./support/in-world.ts";
import type { World } from "./support/world.ts";

const { clusterId } = SEEDED;
const listings = (world: World) => world.iam.requests.count("listResourceQuotas");
const exported = (world: World, name: string, spec: object = {}) =>
  world.apply("ResourceQuotaExport", name, {
    connectionRef: { kind: "Connection", name: "console" },
    clusterId,
    interval: "15s",
    ...spec,
  });
const statusOf = async (world: World, name: string) =>
  (await world.get("ResourceQuotaExport", name)).status ?? {};
const quotasOf = (world: World) => world.iam.world.clusters.get(clusterId)?.quotas ?? [];
const fill = (world: World, count: number) => {
  const quotas = Array.from(
    { length: count },
    (_, index): Quota => ({
      clusterId,
      status: index % 3 === 0 ? null : "Active",
      name: `quota-${String(index % 100).padStart(3, "0")}`,
      namespace: `ns-${Math.floor(index / 100)}`,
      displayRequest: `cpu: ${index}m/2, memory: 1Gi/4Gi`,
      displayLimit: "",
      createdAt: "2026-01-01T00:00:00Z",
    }),
  );
  world.iam.world.clusters.set(clusterId, {
    clusterId,
    orgId: SEEDED.orgId,
    projectId: SEEDED.projectId,
    quotas,
  });
  return quotas;
};

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}
/** The series of one metric that belong to one export. */
const seriesOf = async (world: World, metric: string, name: string): Promise<readonly Series[]> => {
  const text = (await world.operator?.metrics()) ?? "";
  return text
    .split("\n")
    .filter((line) => line.startsWith(`${metric}{`) && line.includes(`export="${name}"`))
    .map((line) => {
      const [, inside = "", value = ""] = /^[a-z_]+\{(.*)\} (\S+)$/.exec(line) ?? [];
      const labels = Object.fromEntries(
        [...inside.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = "", text = ""]) => [
          key,
          text,
        ]),
      );
      return { labels, value: Number(value) };
    });
};
const INFO = "iam_operator_resourcequota_info";

describe.concurrent("a ResourceQuotaExport", () => {
  test(
    "shows what the console lists, as status and as metrics",
    inWorld({}, async (world) => {
      await exported(world, "all");
      await world.ready("ResourceQuotaExport", "all");
      const quotas = quotasOf(world);
      const status = await statusOf(world, "all");
      expect(status).toMatchObject({ total: quotas.length, truncated: false });
      expect(status.lastSuccessTime).toMatch(/Z$/);
      const info = await seriesOf(world, INFO, "all");
      expect(info.map(({ labels }) => toQuota(labels)).toSorted(byName)).toEqual(
        quotas
          .map(({ namespace, name, status: state, displayRequest, displayLimit }) => ({
            namespace,
            name,
            status: state ?? "",
            request: displayRequest,
            limit: displayLimit,
          }))
          .toSorted(byName),
      );
      const amounts = await seriesOf(world, "iam_operator_resourcequota", "all");
      const cpu = amounts.filter(
        ({ labels }) =>
          labels.namespace === "team-a" &&
          labels.name === "compute-quota" &&
          labels.resource === "cpu",
      );
      expect(cpu.map(({ labels, value }) => [labels.type, value]).toSorted()).toEqual([
        ["hard", 2],
        ["used", 0.5],
      ]);
      const unread = (await seriesOf(world, "iam_operator_resourcequota_parse_ok", "all"))
        .filter(({ value }) => value === 0)
        .map(({ labels }) => labels.name)
        .toSorted();
      expect(unread).toEqual(
        ["odd-text", "system-quota", "unlimited"].filter((name) => unread.includes(name)),
      );
      expect(unread).toContain("odd-text");
      const [total] = await seriesOf(world, "iam_operator_resourcequota_export_total", "all");
      expect(total?.value).toBe(quotas.length);
    }),
  );

  test(
    "takes more than one page, whole, and shows the first hundred in its status",
    inWorld({}, async (world) => {
      const quotas = fill(world, 250);
      await exported(world, "all");
      await world.ready("ResourceQuotaExport", "all");
      const status = await statusOf(world, "all");
      expect(status).toMatchObject({ total: 250, truncated: true });
      expect(status.quotas).toHaveLength(100);
      const info = await seriesOf(world, INFO, "all");
      expect(new Set(info.map(({ labels }) => `${labels.namespace}/${labels.name}`))).toEqual(
        new Set(quotas.map(({ namespace, name }) => `${namespace}/${name}`)),
      );
      expect(listings(world)).toBe(3);
    }),
  );

  test(
    "passes its filters on",
    inWorld({}, async (world) => {
      await exported(world, "some", { namespaces: ["team-a", "team-b"], filterNames: ["compute"] });
      await world.ready("ResourceQuotaExport", "some");
      expect(
        (await statusOf(world, "some")).quotas?.map((each) => each.namespace).toSorted(),
      ).toEqual(["team-a", "team-b"]);
      await exported(world, "some", { filterNames: ["gpu", "pods"] });
      await world.until("the other names", async () => (await statusOf(world, "some")).total === 2);
    }),
  );

  test(
    "follows the console at its interval, and a scrape costs no call",
    inWorld({}, async (world) => {
      fill(world, 3);
      await exported(world, "all");
      await world.ready("ResourceQuotaExport", "all");
      for (let scrape = 0; scrape < 20; scrape += 1) await world.operator?.metrics();
      expect(listings(world)).toBe(1);
      fill(world, 2);
      await world.until(
        "the next listing",
        async () => (await statusOf(world, "all")).total === 2,
        25_000,
      );
      expect(await seriesOf(world, INFO, "all")).toHaveLength(2);
      expect(listings(world)).toBe(2);
    }),
    60_000,
  );

  test(
    "keeps the last listing when one fails in the middle",
    inWorld({}, async (world) => {
      fill(world, 150);
      await exported(world, "all");
      await world.ready("ResourceQuotaExport", "all");
      fill(world, 250);
      // The second page of the next listing, again and again.
      world.iam.faults.add({
        operation: "listResourceQuotas",
        when: "beforeCommit",
        action: { kind: "status", status: 502 },
        where: ({ query }) => query.page?.[0] === "2",
        times: "always",
      });
      await world.annotate("ResourceQuotaExport", "all", {
        "iam-operator.io/reconcile-requested-at": "1",
      });
      await world.condition("ResourceQuotaExport", "all", "Ready", "False", "Unavailable");
      expect((await statusOf(world, "all")).total).toBe(150);
      expect(await seriesOf(world, INFO, "all")).toHaveLength(150);
      await world.iam.faults.clear();
      await world.until(
        "the whole listing",
        async () => (await statusOf(world, "all")).total === 250,
        30_000,
      );
      expect(await seriesOf(world, INFO, "all")).toHaveLength(250);
    }),
    60_000,
  );

  test(
    "of a cluster that does not exist says so, with the id of the request",
    inWorld({}, async (world) => {
      await exported(world, "none", { clusterId: 4_711 });
      await world.condition("ResourceQuotaExport", "none", "Stalled", "True", "NotFound");
      expect(await world.message("ResourceQuotaExport", "none")).toMatch(/cluster.*request/);
      await exported(world, "none");
      await world.ready("ResourceQuotaExport", "none");
    }),
  );

  test(
    "takes its series along",
    inWorld({}, async (world) => {
      await exported(world, "one");
      await exported(world, "two");
      await world.ready("ResourceQuotaExport", "one");
      await world.ready("ResourceQuotaExport", "two");
      await world.delete("ResourceQuotaExport", "one");
      await world.until("the series to go", async () => {
        const text = (await world.operator?.metrics()) ?? "";
        return !text.includes('export="one"') && !text.includes('name="one"');
      });
      expect((await seriesOf(world, INFO, "two")).length).toBe(quotasOf(world).length);
    }),
  );

  test(
    "lists nothing while suspended",
    inWorld({}, async (world) => {
      await exported(world, "all", { suspend: true });
      await world.condition("ResourceQuotaExport", "all", "Ready", "False", "Suspended");
      expect(listings(world)).toBe(0);
      await exported(world, "all", { suspend: false });
      await world.ready("ResourceQuotaExport", "all");
    }),
  );
});

describe.concurrent("a ResourceQuotaExport with a key", () => {
  const withKey = { apiKeyRef: { name: "key" } };
  const keyed = async (world: World) => {
    await world.serviceAccount("ci");
    await world.apiKey("key");
    await world.ready("ApiKey", "key");
  };

  test(
    "explains a refusal in the order in which the console checks, and works as soon as a policy is bound",
    inWorld({}, async (world) => {
      await keyed(world);
      await exported(world, "all", withKey);
      await world.condition("ResourceQuotaExport", "all", "Stalled", "True", "PermissionDenied");
      const message = await world.message("ResourceQuotaExport", "all");
      expect(message).toMatch(/Policy denied/);
      expect(message).toMatch(/request/);
      expect(message).toMatch(/1\..*PolicyBinding.*2\..*3\..*4\./s);
      expect(await seriesOf(world, INFO, "all")).toEqual([]);
      await world.apply("PolicyBinding", "read", {
        serviceAccountRef: { name: "ci" },
        policyIds: ["pol-read"],
      });
      await world.ready("ResourceQuotaExport", "all");
      expect((await statusOf(world, "all")).total).toBe(quotasOf(world).length);
      const last = world.iam.requests.of("listResourceQuotas").at(-1);
      expect(last?.auth).toBe("key");
    }),
  );

  test(
    "waits for the key",
    inWorld({}, async (world) => {
      await exported(world, "all", withKey);
      await world.condition("ResourceQuotaExport", "all", "Ready", "False", "WaitingForApiKey");
      expect(listings(world)).toBe(0);
    }),
  );

  test(
    "sends a refused key once, and its successor at once",
    inWorld({}, async (world) => {
      await keyed(world);
      await world.apply("PolicyBinding", "read", {
        serviceAccountRef: { name: "ci" },
        policyIds: ["pol-read"],
      });
      await world.ready("PolicyBinding", "read");
      await exported(world, "all", withKey);
      await world.ready("ResourceQuotaExport", "all");
      const { keyId = "" } = await world.entries("key");
      world.iam.world.setKeyStatus(keyId, "inactive");
      await world.annotate("ResourceQuotaExport", "all", {
        "iam-operator.io/reconcile-requested-at": "1",
      });
      await world.condition("ResourceQuotaExport", "all", "Stalled", "True", "KeyRejected");
      expect(await world.message("ResourceQuotaExport", "all")).toContain(keyId);
      const before = listings(world);
      await world.annotate("ApiKey", "key", { "iam-operator.io/rotate-requested-at": "1" });
      await world.ready("ResourceQuotaExport", "all");
      expect(listings(world)).toBe(before + 1);
    }),
    60_000,
  );
});

const toQuota = ({ namespace, name, status, request, limit }: Series["labels"]) => ({
  namespace,
  name,
  status,
  request,
  limit,
});

function byName(
  one: { namespace: string | undefined; name: string | undefined },
  other: typeof one,
): number {
  const [a, b] = [`${one.namespace}/${one.name}`, `${other.namespace}/${other.name}`];
  return a < b ? -1 : 1;
}
