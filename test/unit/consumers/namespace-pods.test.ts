import { expect, test } from "vitest";
import { NamespacePods } from "../../../src/consumers/namespace-pods.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { KubeError } from "../../../src/kube/errors.ts";

/** Listings that end when the test says so. */
function server() {
  const open: { namespace: string; end: (failure?: Error) => void }[] = [];
  const collect = (_type: unknown, _digest: unknown, { namespace = "" } = {}) =>
    new Promise((resolve, reject) => {
      open.push({
        namespace,
        end: (failure) => (failure ? reject(failure) : resolve([namespace])),
      });
    });
  return { open, pods: new NamespacePods({ collect: collect as KubeClient["collect"] }) };
}
const settle = () => new Promise((resolve) => setImmediate(resolve));

test("many who ask at once share a listing; who asks while it runs shares the next one", async () => {
  const { open, pods } = server();
  const first = [pods.list("a"), pods.list("a"), pods.list("a")];
  await settle();
  expect(open).toHaveLength(1);
  const later = [pods.list("a"), pods.list("a")];
  await settle();
  expect(open).toHaveLength(1);
  open[0]?.end();
  await Promise.all(first);
  await settle();
  expect(open).toHaveLength(2);
  open[1]?.end();
  await Promise.all(later);
});

test("namespaces do not wait for each other", async () => {
  const { open, pods } = server();
  const listings = [pods.list("a"), pods.list("b")];
  await settle();
  expect(open.map(({ namespace }) => namespace)).toEqual(["a", "b"]);
  for (const { end } of open) end();
  expect(await Promise.all(listings)).toEqual([["a"], ["b"]]);
});

test("a failure is that of those who waited for it; the next listing is a new one", async () => {
  const { open, pods } = server();
  const failing = pods.list("a");
  await settle();
  const next = pods.list("a");
  open[0]?.end(new KubeError("Forbidden", "no"));
  await expect(failing).rejects.toThrow("no");
  await settle();
  open[1]?.end();
  expect(await next).toEqual(["a"]);
});
