import { afterEach, expect, test } from "vitest";
import { toReportingKube } from "../../../src/app/read-only.ts";
import { apiKeyType, secretType } from "../../../src/resources/resource-types.ts";
import { systemClock } from "../../../src/util/time.ts";
import { MemoryCluster } from "../../support/memory-cluster.ts";

const key = { namespace: "team", name: "ci" };
const secret = { apiVersion: "v1", kind: "Secret", metadata: key };
const cluster = new MemoryCluster(systemClock);
const kube = toReportingKube(cluster.client);

afterEach(() => {
  cluster.writes.length = 0;
});

test.each<[string, () => Promise<unknown>]>([
  ["create", () => kube.create(secretType, secret)],
  ["apply", () => kube.apply(secretType, secret)],
  [
    "apply of another kind's status",
    () => kube.apply(secretType, secret, { subresource: "status" }),
  ],
  ["apply of more than a status", () => kube.apply(apiKeyType, { metadata: key })],
  ["merge patch", () => kube.mergePatch(secretType, key, {})],
  ["replace", () => kube.replace(secretType, secret)],
  ["delete", () => kube.delete(secretType, key, {})],
])("a read-only operator has no %s", async (_, write) => {
  await expect(write()).rejects.toThrow("read-only");
  expect(cluster.writes).toEqual([]);
});

test("it reports", async () => {
  cluster.put(apiKeyType, {
    apiVersion: "iam-operator.io/v1alpha1",
    kind: "ApiKey",
    metadata: key,
    spec: { serviceAccountRef: { name: "bot" } },
  });
  const status = { orphanCount: 0 };
  const body = { apiVersion: "iam-operator.io/v1alpha1", kind: "ApiKey", metadata: key, status };
  await kube.apply(apiKeyType, body, { subresource: "status" });
  expect(await kube.get(apiKeyType, key)).toMatchObject({ status });
});
