import { expect, test } from "vitest";
import { annotations } from "../../../src/api/meta.ts";
import { shrink, shrinkApiKey, shrinkSecret } from "../../../src/app/shrink.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";

const apiKey = (metadata: object, secret: object = {}) =>
  ({ metadata: { name: "key", ...metadata }, spec: { suspend: false, secret } }) as KubeObject;
const large = "x".repeat(5_000);

test("an ordinary object stays as it is", () => {
  const object = apiKey(
    { labels: { team: "a" }, annotations: { note: "b" } },
    { data: { a: "b" } },
  );
  expect(shrinkApiKey(structuredClone(object), "")).toEqual(object);
});

test("a large Secret is left out, and said to be", () => {
  const secret = { name: "s", data: { a: large }, labels: {}, annotations: {} };
  const object = apiKey({ labels: { team: "a" } }, secret);
  expect(shrinkApiKey(object, "")).toEqual({
    ...apiKey({ labels: { team: "a" } }, { name: "s" }),
    isPartial: true,
  });
});

test("requests, and the labels that the operator selects by, are kept of large metadata", () => {
  const object = apiKey({
    labels: { team: "a", other: "b" },
    annotations: { note: large, [annotations.rotateRequestedAt]: large },
    ownerReferences: [],
  });
  expect(shrink(object, "team=a")).toEqual({
    ...apiKey({
      labels: { team: "a" },
      annotations: { [annotations.rotateRequestedAt]: "x".repeat(1_024) },
    }),
    isPartial: true,
  });
});

test("of a Secret, its version and labels are kept, and which keys it says that it has", () => {
  const metadata = {
    name: "ci",
    namespace: "team",
    uid: "u",
    resourceVersion: "7",
    labels: { a: "b" },
  };
  const held = { [annotations.keyId]: "k-2", [annotations.previousKeyId]: "k-1" };
  const secret = {
    metadata: {
      ...metadata,
      annotations: { ...held, [annotations.template]: large },
      creationTimestamp: "2026-01-01T00:00:00Z",
      ownerReferences: [],
    },
  };
  expect(shrinkSecret(secret)).toEqual({ metadata: { ...metadata, annotations: held } });
});
