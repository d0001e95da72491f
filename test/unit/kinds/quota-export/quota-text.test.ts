import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseQuantity, parseQuotaText } from "../../../../src/api/quota-text.ts";

describe("a quantity", () => {
  test.each(
    Object.entries({
      ...{ 0: 0, 2: 2, "1.5": 1.5, ".5": 0.5, "1k": 1_000, "1T": 1e12, "1E": 1e18 },
      ...{ "500m": 0.5, "1500m": 1.5, "250u": 0.00025, "1n": 1e-9 },
      ...{
        "1Ki": 1_024,
        "1Mi": 2 ** 20,
        "4Gi": 4 * 2 ** 30,
        "1.5Gi": 1.5 * 2 ** 30,
        "1Ei": 2 ** 60,
      },
      ...{ "12e3": 12_000, "1E3": 1_000, "1e-3": 0.001 },
    }),
  )("%s is %d", (text, expected) => expect(parseQuantity(text)).toBe(expected));

  const words = "-1 +1 1gi Gi 1GiB 1e 0x10 NaN Infinity 1_000 1,5 1m5 1e999";
  test.each([...words.split(" "), "", " ", "1 Gi", "9".repeat(40)])("%j is none", (text) => {
    expect(parseQuantity(text)).toBeUndefined();
  });
});

describe("a display text", () => {
  test("holds amounts by resource", () => {
    expect(parseQuotaText("cpu: 500m/2, memory: 1Gi/4Gi")).toEqual([
      { resource: "cpu", used: 0.5, hard: 2 },
      { resource: "memory", used: 2 ** 30, hard: 2 ** 32 },
    ]);
  });

  test.each([
    ["", []],
    ["  ", []],
    ["requests.nvidia.com/gpu: 4/4", [{ resource: "requests.nvidia.com/gpu", used: 4, hard: 4 }]],
    ["count/deployments.apps:0/10", [{ resource: "count/deployments.apps", used: 0, hard: 10 }]],
    ["see the dashboard", undefined],
    ["-", undefined],
    ["cpu: 2/", undefined],
    ["cpu: 2/, memory 1Gi of 4Gi", undefined],
    ["cpu: 1/2,", undefined],
    ["cpu: 1/2, cpu: 1/2", undefined],
    ["cpu: 1/2; memory: 1/2", undefined],
    ["cpu: 1/2/3", undefined],
    ["c pu: 1/2", undefined],
  ])("%j is read wholly or not at all", (text, expected) => {
    expect(parseQuotaText(text)).toEqual(expected);
  });

  test("of any kind never throws, and gives finite amounts that are not negative", () => {
    const pieces = fc.constantFrom(...[" ", ..."cpu memory : / , 1 500m Gi e 9 . -".split(" ")]);
    const texts = fc.oneof(
      fc.string({ unit: "binary", maxLength: 200 }),
      fc.array(pieces, { maxLength: 60 }).map((list) => list.join("")),
    );
    fc.assert(
      fc.property(texts, (text) => {
        for (const { used, hard } of parseQuotaText(text) ?? []) {
          expect(Number.isFinite(used) && used >= 0).toBe(true);
          expect(Number.isFinite(hard) && hard >= 0).toBe(true);
        }
      }),
      { numRuns: 5_000 },
    );
  });

  test("is read back from what Kubernetes would write", () => {
    const amount = fc.record({
      resource: fc.stringMatching(/^[a-z][a-z0-9.]{0,20}[a-z]$/),
      used: fc.integer({ min: 0, max: 10 ** 9 }),
      hard: fc.integer({ min: 0, max: 10 ** 9 }),
    });
    fc.assert(
      fc.property(
        fc.uniqueArray(amount, { selector: ({ resource }) => resource, maxLength: 20 }),
        (amounts) => {
          const text = amounts.map(({ resource, used, hard }) => `${resource}: ${used}m/${hard}m`);
          expect(parseQuotaText(text.join(", "))).toEqual(
            amounts.map((one) => ({ ...one, used: one.used / 1_000, hard: one.hard / 1_000 })),
          );
        },
      ),
    );
  });

  test.each([
    "a".repeat(4_000),
    ":".repeat(4_000),
    `cpu: ${"1".repeat(4_000)}`,
    "a/".repeat(2_000),
    ",".repeat(4_000),
    "x".repeat(5_000_000),
  ])("that is hostile is refused before the test runs out of time (%#)", (text) => {
    expect(parseQuotaText(text)).toBeUndefined();
  });
});
