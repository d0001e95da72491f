import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { keep } from "../../../src/util/kept.ts";
import { Redacted } from "../../../src/util/redacted.ts";
import { TenantMemory } from "../../../src/util/tenant-memory.ts";
import { heldBy } from "../../support/live-heap.ts";

/** `count` values that `make` cuts out of large texts. */
function cutOut<T>(count: number, make: (text: string) => T): readonly T[] {
  return Array.from({ length: count }, (_, n) =>
    make(`${"x".repeat(100_000)} marker-of-an-attempt-${n}`),
  );
}

describe("keep", () => {
  test("equals what it copies", () => {
    fc.assert(
      fc.property(
        fc.anything({ withMap: true, withSet: true, maxDepth: 4, withNullPrototype: false }),
        (value) => {
          expect(keep(value).value).toEqual(value);
        },
      ),
    );
  });

  test.each([
    ["a lone surrogate", "\ud800 in a text of some length"],
    ["a text beyond Latin-1", "пример текста в описании"],
  ])("copies %s", (_, text) => {
    expect(keep(text).value).toBe(text);
  });

  test("a redacted value stays redacted", () => {
    const { value } = keep({ secret: new Redacted("s3cret-s3cret-s3cret") });
    expect(JSON.stringify(value)).not.toContain("s3cret");
    expect(value.secret.reveal()).toBe("s3cret-s3cret-s3cret");
  });

  test("does not copy a copy again", () => {
    const once = keep(new Map([["a", { name: "a name of some length" }]])).value;
    expect(keep({ once }).value.once).toBe(once);
    expect(keep({ once }).bytes).toBeGreaterThan(keep(once).bytes);
  });

  test("holds no text that a substring was cut from", async () => {
    const cut = (text: string) => text.slice(text.indexOf("marker"));
    const copies = await heldBy(() => cutOut(100, (text) => keep({ marker: cut(text) }).value));
    expect(copies).toBeLessThan(2_000_000);
    expect(await heldBy(() => cutOut(100, cut))).toBeGreaterThan(5_000_000);
  });
});

describe("the memory of tenants", () => {
  const text = (length: number) => "x".repeat(length / 2);

  test("one namespace takes its budget and no more; others are not affected", () => {
    const omitted: string[] = [];
    const memory = new TenantMemory({
      totalBytes: 100_000,
      namespaceBytes: 10_000,
      onOmitted: (namespace) => omitted.push(namespace),
    });
    const values = memory.open<string>();
    for (let n = 0; n < 50; n += 1) values.set(`a/${n}`, "a", text(1_000));
    expect(memory.bytes).toBeLessThanOrEqual(10_000);
    expect(new Set(omitted)).toEqual(new Set(["a"]));
    values.set("b/1", "b", text(5_000));
    expect(values.get("b/1")).toHaveLength(2_500);
  });

  test("many namespaces share what there is, and a later one takes from those that use most", () => {
    const memory = new TenantMemory({ totalBytes: 100_000, namespaceBytes: 10_000 });
    const values = memory.open<string>();
    for (let ns = 0; ns < 100; ns += 1)
      for (let n = 0; n < 20; n += 1) values.set(`${ns}/${n}`, `${ns}`, text(500));
    expect(memory.bytes).toBeLessThanOrEqual(100_000);
    const keptOf = (ns: number) =>
      Array.from({ length: 20 }, (_, n) => values.get(`${ns}/${n}`)).filter(Boolean).length;
    for (const ns of [0, 50, 99]) expect(keptOf(ns)).toBeGreaterThan(0);
  });

  test("a value that does not fit replaces the earlier one by nothing", () => {
    const memory = new TenantMemory({ namespaceBytes: 1_000 });
    const values = memory.open<string>();
    values.set("a/1", "a", text(500));
    values.set("a/1", "a", text(5_000));
    expect(values.get("a/1")).toBeUndefined();
    expect(memory.bytes).toBe(0);
  });

  test("is empty again when everything is deleted", () => {
    const actions = fc.array(
      fc.record({
        key: fc.constantFrom("1", "2", "3", "4"),
        namespace: fc.constantFrom("a", "b"),
        value: fc.option(fc.string({ maxLength: 400 }), { nil: undefined }),
      }),
    );
    fc.assert(
      fc.property(actions, (all) => {
        const memory = new TenantMemory({ totalBytes: 1_500, namespaceBytes: 1_000 });
        const stores = [memory.open<string>(), memory.open<string>()];
        for (const [n, { key, namespace, value }] of all.entries()) {
          const store = stores[n % 2];
          if (value === undefined) store?.delete(key);
          else store?.set(key, namespace, value);
          expect(memory.bytes).toBeLessThanOrEqual(1_500);
        }
        for (const key of ["1", "2", "3", "4"]) for (const store of stores) store.delete(key);
        expect(memory.bytes).toBe(0);
      }),
    );
  });
});
