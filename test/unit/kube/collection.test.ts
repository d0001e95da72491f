import { expect, test } from "vitest";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { createStore } from "../../../src/kube/store/memory-store.ts";
import { Collection } from "../../../src/kube/watch/collection.ts";

test("changes between the initial objects count, and nothing is seen before the end", () => {
  const store = createStore<KubeObject>({ onListenerError: () => undefined });
  const collection = new Collection(store.openScope(""));
  const object = (name: string, resourceVersion: string): KubeObject => ({
    metadata: { namespace: "ns", name, resourceVersion },
  });
  collection.collect(object("a", "3"), false);
  collection.collect(object("b", "4"), false);
  collection.collect(object("a", "5"), false);
  collection.collect(object("b", "6"), true);
  expect([store.synced, store.list()]).toEqual([false, []]);
  collection.swap("6");
  expect([store.synced, store.list()]).toEqual([true, [object("a", "5")]]);
});
