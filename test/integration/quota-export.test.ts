import { expect, test } from "vitest";
import { SEEDED } from "../../tools/iam-server/seed.ts";
import { inWorld } from "../real-world/in-world.ts";

const { clusterId } = SEEDED;

test(
  "a ResourceQuotaExport lists with a key once a policy allows it, shows what it lists, and takes its series along",
  inWorld({}, async (world) => {
    const metrics = async () => (await world.manager?.metrics()) ?? "";
    const shown = async (metric: string) =>
      (await metrics()).split("\n").filter((line) => line.startsWith(`${metric}{`));
    await world.serviceAccount("ci");
    await world.apiKey("key");
    await world.apply("ResourceQuotaExport", "all", {
      connectionRef: { kind: "Connection", name: "console" },
      apiKeyRef: { name: "key" },
      clusterId,
      interval: "15s",
    });
    await world.condition("ResourceQuotaExport", "all", "Stalled", "True", "PermissionDenied");
    const message = await world.message("ResourceQuotaExport", "all");
    expect(message).toMatch(/Policy denied.*request.*1\..*PolicyBinding.*2\..*3\..*4\./s);
    expect(await shown("iam_operator_resourcequota_info")).toEqual([]);

    const spec = { serviceAccountRef: { name: "ci" }, policyIds: ["pol-read"] };
    await world.apply("PolicyBinding", "read", spec);
    await world.ready("ResourceQuotaExport", "all");
    expect(world.iam.requests.of("listResourceQuotas").at(-1)?.auth).toBe("key");
    const { length } = world.iam.world.clusters.get(clusterId)?.quotas ?? [];
    const { status } = await world.get("ResourceQuotaExport", "all");
    expect(status).toMatchObject({ total: length, truncated: false });
    expect(await shown("iam_operator_resourcequota_info")).toHaveLength(length);

    await world.delete("ResourceQuotaExport", "all");
    await world.until("the series to go", async () => !(await metrics()).includes('export="all"'));
  }),
);
