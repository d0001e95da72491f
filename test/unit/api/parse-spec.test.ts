import { describe, expect, test } from "vitest";
import { apiKeyKind } from "../../../src/api/api-key.ts";
import { parseSpec } from "../../../src/api/parse-spec.ts";
import { resourceQuotaExportKind } from "../../../src/api/resource-quota-export.ts";
import { bad, good, manifest, stalled } from "./fixtures.ts";

describe("the operator's own parse", () => {
  test.each(good)("accepts $title", (fixture) => {
    const parsed = parseSpec(fixture.kind, manifest(fixture, "default"));
    expect(parsed).toMatchObject({ ok: true });
  });

  test.each([...bad, ...stalled])("refuses $title", (fixture) => {
    const parsed = parseSpec(fixture.kind, manifest(fixture, "default"));
    if (parsed.ok) throw new Error("was accepted");
    for (const text of fixture.parseSays ?? fixture.says) expect(parsed.message).toContain(text);
  });

  test("fills in the defaults, including nested defaults", () => {
    expect(parseSpec(apiKeyKind, { spec: { serviceAccountRef: { name: "ci-bot" } } })).toEqual({
      ok: true,
      spec: {
        serviceAccountRef: { name: "ci-bot" },
        expiresInDays: 90,
        rotation: { overlap: "24h", windows: [] },
        secret: {
          type: "Opaque",
          data: { keyId: "${keyId}", secret: "${secret}" },
          onExisting: "Fail",
          deletionPolicy: "Delete",
        },
        maxIssuesPerDay: 4,
        suspend: false,
      },
    });
  });

  test("is the stored spec itself if nothing is filled in or left out", () => {
    const filled = parseSpec(apiKeyKind, { spec: { serviceAccountRef: { name: "ci-bot" } } });
    if (!filled.ok) throw new Error("was refused");
    const again = parseSpec(apiKeyKind, { spec: filled.spec });
    expect(again.ok && again.spec).toBe(filled.spec);
  });

  test("passes over fields that it does not know", () => {
    const spec = { clusterId: 7, later: true };
    expect(parseSpec(resourceQuotaExportKind, { spec })).toEqual({
      ok: true,
      spec: expect.not.objectContaining({ later: true }),
    });
  });

  test.each([
    ["a text", "text"],
    ["null", null],
    ["a list", []],
  ])("refuses %s in place of a spec", (_, spec) => {
    expect(parseSpec(apiKeyKind, { spec }).ok).toBe(false);
  });

  test("reports at most five problems, without values", () => {
    const windows = Array.from({ length: 16 }, () => ({
      schedule: "hunter2",
      duration: "hunter2",
    }));
    const parsed = parseSpec(apiKeyKind, {
      spec: { serviceAccountRef: { name: "ci-bot" }, rotation: { windows } },
    });
    if (parsed.ok) throw new Error("was accepted");
    expect(parsed.message).toContain("; and 27 more");
    expect(parsed.message).not.toContain("hunter2");
    expect(parsed.message.length).toBeLessThanOrEqual(1_000);
  });
});
