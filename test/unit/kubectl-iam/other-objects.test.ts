import { expect, test } from "vitest";
import type { KubeReader } from "../../../src/kube/client/reader.ts";
import { othersAsApplied } from "../../../src/kubectl-iam/cluster/other-objects.ts";

const metadata = { name: "ci", namespace: "team-a" };
const secret = { apiVersion: "v1", kind: "Secret", metadata };
const stored = {
  ...secret,
  metadata: { ...metadata, uid: "1", resourceVersion: "7", labels: { team: "a" } },
  type: "Opaque",
  data: { keyId: "c2Fr" },
};
const kube = { get: async () => stored } as unknown as Pick<KubeReader, "get">;

test.each<[string, object, boolean]>([
  ["nothing", {}, false],
  ["the same entries", { stringData: { keyId: "sak" } }, false],
  ["another entry", { stringData: { other: "x" } }, true],
  ["immutable", { immutable: true }, true],
  ["a label", { metadata: { ...metadata, labels: { team: "b" } } }, true],
  ["an annotation", { metadata: { ...metadata, annotations: { note: "x" } } }, true],
])("a Secret that sets %s is a change: %j %s", async (_, fields, isChange) => {
  const [applied] = await othersAsApplied(kube, [{ ...secret, ...fields }]);
  expect(applied?.isChange).toBe(isChange);
});
