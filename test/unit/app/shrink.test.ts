import { expect, test } from "vitest";
import { annotations, FINALIZER, labels } from "../../../src/api/meta.ts";
import { shrink, shrinkSecret } from "../../../src/app/shrink.ts";
import { bundleId, clientIdentity } from "../../../src/connections/client-settings.ts";
import { connections } from "../../../src/kinds/connection/module.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";

const apiKey = (metadata: object, secret: object = {}, status?: object) =>
  ({
    kind: "ApiKey",
    metadata: { name: "key", uid: "u", ...metadata },
    spec: { suspend: false, secret },
    ...(status === undefined ? {} : { status }),
  }) as KubeObject;
const large = "x".repeat(9_000);
const keep = (object: KubeObject, selector = "") =>
  shrink(structuredClone(object), selector, JSON.stringify(object).length);

test("an ordinary object stays as it is, however long the line that it came in", () => {
  const object = apiKey(
    { labels: { team: "a" }, annotations: { note: "b" }, finalizers: ["a", "b"] },
    { data: { a: "b" } },
  );
  expect(shrink(object, "", 1_000_000)).toBe(object);
});

test("a large Secret is left out, and said to be", () => {
  const secret = { name: "s", data: { a: large }, labels: {}, annotations: {} };
  expect(keep(apiKey({}, secret))).toEqual({
    ...apiKey({ labels: {}, annotations: {} }, { name: "s", labels: {}, annotations: {} }),
    isPartial: true,
  });
});

test("what others ask for, and the labels that the operator selects by, are kept of large metadata", () => {
  const object = apiKey({
    generation: 3,
    labels: { team: "a", other: "b" },
    annotations: {
      note: large,
      [annotations.rotateRequestedAt]: large,
      [annotations.planOnly]: "true",
    },
    finalizers: ["else", FINALIZER],
    ownerReferences: [{ uid: large }],
  });
  expect(keep(object, "team=a")).toEqual({
    ...apiKey({
      generation: 3,
      labels: { team: "a" },
      annotations: {
        [annotations.rotateRequestedAt]: "x".repeat(1_024),
        [annotations.planOnly]: "true",
      },
      finalizers: [FINALIZER],
    }),
    isPartial: true,
  });
});

const many = (count: number, size: number) =>
  Array.from({ length: count }, (_, n) => `${n}-${"y".repeat(size)}`);

test("of a large status, its lists are left out, and that is said apart", () => {
  const conditions = [{ type: "Ready", status: "True", reason: "Issued", message: large }];
  const status = { current: { keyId: "k" }, superseded: many(100, 200), conditions };
  expect(keep(apiKey({}, {}, status))).toMatchObject({
    isPartial: true,
    lacksStatus: true,
    status: {
      current: { keyId: "k" },
      conditions: [{ type: "Ready", status: "True", reason: "Issued" }],
    },
  });
  expect(keep(apiKey({ finalizers: many(50, 200) }, {}, { superseded: ["a"] }))).not.toHaveProperty(
    "lacksStatus",
  );
});

test.each([
  ["finalizers", { finalizers: many(5_000, 50) }],
  ["owners", { ownerReferences: many(3_000, 60).map((uid) => ({ uid })) }],
  ["labels", { labels: Object.fromEntries(many(3_000, 40).map((key) => [key, key])) }],
  ["annotations", { annotations: Object.fromEntries(many(16, 16_000).map((key) => [key, key])) }],
])("hardly anything is kept of %s", (_, metadata) => {
  expect(JSON.stringify(keep(apiKey(metadata))).length).toBeLessThan(1_000);
});

test.each([
  ["a long key", { selector: { matchLabels: { [large]: "a" } } }],
  ["many keys", Object.fromEntries(many(10_000, 50).map((key) => [key, "a"]))],
  ["a long list", { refs: many(10_000, 50) }],
  ["depth", { a: { b: { c: { d: { e: many(10_000, 50) } } } } }],
])("the size of what is kept is bounded for %s", (_, field) => {
  expect(JSON.stringify(keep(apiKey({}, field))).length).toBeLessThan(8_192);
  expect(JSON.stringify(keep(apiKey({}, {}, field))).length).toBeLessThan(8_192 + 16_384);
});

test("a Connection with a large caBundle still leads to the same client", () => {
  const spec = { baseURL: "https://a", caBundle: `-----BEGIN CERTIFICATE-----\n${large}` };
  const object = { metadata: { name: "c" }, spec } as KubeObject;
  const kept = connections.cache?.keep?.(
    shrink(object, "", Number.POSITIVE_INFINITY),
    object,
  ) as typeof object & {
    spec: never;
  };
  expect(JSON.stringify(kept).length).toBeLessThan(500);
  expect(clientIdentity(kept.spec)).toBe(clientIdentity(spec as never));
  expect(bundleId(bundleId(large))).toBe(bundleId(large));
  expect(bundleId(large)).not.toBe(bundleId(`${large}x`));
});

test("of a Secret, its version and labels are kept, and which keys it says that it has", () => {
  const metadata = { name: "ci", namespace: "team", uid: "u", resourceVersion: "7" };
  const ours = { [labels.apiKey]: "ci" };
  const held = { [annotations.keyId]: "k-2", [annotations.previousKeyId]: "k-1" };
  const secret = {
    metadata: {
      ...metadata,
      labels: { ...ours, other: "b" },
      annotations: { ...held, [annotations.template]: large },
      creationTimestamp: "2026-01-01T00:00:00Z",
      ownerReferences: [],
      finalizers: many(5_000, 50),
    },
  };
  for (const size of [1, 1_000_000])
    expect(shrinkSecret(secret, size)).toEqual({
      metadata: { ...metadata, labels: ours, annotations: held },
    });
});
