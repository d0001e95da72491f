import type { Caches } from "../../src/reconciler/context.ts";

/** Caches of which a test states only what it needs: by the plural of their type, the store or a part of it. No kind refers to another. */
export function cachesWith(stores: Readonly<Record<string, object>>): Caches {
  const of = ({ plural }: { readonly plural: string }) => {
    const store = stores[plural];
    if (store === undefined) throw new Error(`the test has no ${plural}`);
    return store;
  };
  return { of, indexedBy: () => [] } as unknown as Caches;
}
