import * as fc from "fast-check";
import { expect, test } from "vitest";
import { resourceQuotaExportKind } from "../../../../src/api/resource-quota-export.ts";
import type { Quota } from "../../../../src/console/model.ts";
import { summarize } from "../../../../src/kinds/quota-export/rules/listing.ts";

const quota = (name: string, fields: Partial<Quota> = {}): Quota => ({
  name,
  namespace: "team-a",
  status: "Active",
  displayRequest: "cpu: 1/2",
  displayLimit: "",
  createdAt: "2026-01-01T00:00:00Z",
  ...fields,
});

test("shows the first hundred by name and counts them all", () => {
  const quotas = Array.from({ length: 101 }, (_, index) =>
    quota(`q${String(index).padStart(3, "0")}`, index === 0 ? { status: undefined } : {}),
  ).reverse();
  const { total, quotas: shown, truncated } = summarize(quotas);
  expect({ total, truncated }).toEqual({ total: 101, truncated: true });
  expect(shown.map(({ name }) => name)).toEqual(
    quotas
      .map(({ name }) => name)
      .reverse()
      .slice(0, 100),
  );
  expect(shown[1]?.status).toBe("Active");
  expect(shown[0]).toEqual({
    name: "q000",
    namespace: "team-a",
    request: "cpu: 1/2",
    limit: "",
    creationTime: "2026-01-01T00:00:00Z",
  });
});

test("orders quotas by name, and those of one name by namespace", () => {
  const listed = ["c", "a", "b", "a"].map((namespace) => quota("q", { namespace }));
  const { quotas } = summarize([quota("p", { namespace: "d" }), ...listed]);
  expect(quotas.map(({ namespace }) => namespace)).toEqual(["d", "a", "a", "b", "c"]);
});

test("any listing gives a status that the schema takes and JSON carries unchanged", () => {
  const text = fc.string({ unit: "binary", maxLength: 600 });
  const any = fc.record({
    name: text,
    namespace: text,
    status: fc.option(text, { nil: undefined }),
    displayRequest: text,
    displayLimit: text,
    createdAt: text,
  });
  fc.assert(
    fc.property(fc.array(any, { maxLength: 120 }), (quotas) => {
      const status = summarize(quotas);
      expect(resourceQuotaExportKind.status.safeParse(status).success).toBe(true);
      const bytes = Buffer.from(JSON.stringify(status));
      expect(JSON.parse(bytes.toString("utf8"))).toEqual(status);
      expect(bytes.length).toBeLessThan(1_000_000);
    }),
    { numRuns: 100 },
  );
});
