import { describe, expect, test } from "vitest";
import { SEEDED } from "../iam-server/seed.ts";
import { inWorld } from "./support/in-world.ts";
import type { World } from "./support/world.ts";

const { clusterId } = SEEDED;
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
