import { describe, expect, test } from "vitest";
import { apiKeyKind } from "../../../src/api/api-key.ts";
import { parseSpec, parseStoredSpec } from "../../../src/api/parse-spec.ts";
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

describe("the spec of an object that is being deleted", () => {
  const metadata = { deletionTimestamp: "2026-01-01T00:00:00Z" };

  test.each(bad)("is read without what is not valid: $title", (fixture) => {
    const { spec } = manifest(fixture, "default") as { spec?: object };
    const parsed = parseStoredSpec(fixture.kind, { metadata, spec });
    const lacks = parsed.ok ? "is required" : parsed.message;
    expect(lacks).toMatch(/is required|expected/);
  });

  test("keeps everything else, also in the same field and the same list", () => {
    const spec = {
      serviceAccountRef: { name: "ci-bot" },
      expiresInDays: -1,
      secret: { name: "Not A Name", deletionPolicy: "Retain" },
      rotation: { windows: [{ schedule: "x", duration: "x" }], overlap: "2h" },
    };
    expect(parseStoredSpec(apiKeyKind, { metadata, spec })).toMatchObject({
      ok: true,
      spec: {
        serviceAccountRef: { name: "ci-bot" },
        expiresInDays: 90,
        secret: { deletionPolicy: "Retain" },
        rotation: { windows: [], overlap: "2h" },
      },
    });
  });

  test("takes a required field as it is, if only a rule became stricter", () => {
    const spec = { serviceAccountRef: { name: "CI-Bot" } };
    expect(parseSpec(apiKeyKind, { spec }).ok).toBe(false);
    expect(parseStoredSpec(apiKeyKind, { metadata: {}, spec }).ok).toBe(false);
    expect(parseStoredSpec(apiKeyKind, { metadata, spec })).toMatchObject({ ok: true, spec });
  });

  test("is not valid without a field that says what to clean up", () => {
    expect(parseStoredSpec(apiKeyKind, { metadata, spec: { suspend: false } }).ok).toBe(false);
  });
});
