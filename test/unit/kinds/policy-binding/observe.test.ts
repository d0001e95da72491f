import { expect, test } from "vitest";
import { toRef } from "../../../../src/kinds/policy-binding/account-store.ts";
import { observe } from "../../../../src/kinds/policy-binding/observe.ts";
import type { Caches } from "../../../../src/reconciler/context.ts";
import { policyBindingType, serviceAccountType } from "../../../../src/resources/resource-types.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { MemoryCluster } from "../../../support/memory-cluster.ts";

const KEY = { namespace: "team-a", name: "ci-bot" };

/** Where the facts of a run over the account come from. */
async function sourceIn(caches: Caches): Promise<string> {
  const run = { caches, clock: createFakeClock(), state: undefined };
  return (await observe(toRef(KEY), undefined, run as never)).source;
}

function clusterWithBinding(): MemoryCluster {
  const kube = new MemoryCluster(createFakeClock());
  kube.put(policyBindingType, {
    metadata: { namespace: KEY.namespace, name: "reading" },
    spec: { serviceAccountRef: { name: KEY.name }, policyIds: ["pol-read"] },
  });
  return kube;
}

test("caches are believed only if all of them are synced", async () => {
  const kube = clusterWithBinding();
  expect(await sourceIn(kube.openCaches())).toBe("Caches");
  expect(await sourceIn(kube.openCaches([policyBindingType]))).toBe("Behind");
  expect(await sourceIn(kube.openCaches([serviceAccountType]))).toBe("Behind");
});

test("caches are not believed while they have not seen the operator's own last write", async () => {
  const kube = clusterWithBinding();
  const caches = kube.openCaches();
  kube.watching = false;
  const reading = { namespace: KEY.namespace, name: "reading" };
  await kube.client.mergePatch(policyBindingType, reading, { metadata: { labels: { team: "a" } } });
  expect(await sourceIn(caches)).toBe("Behind");
});
