/** Anybody with `edit` may create thousands of ServiceAccounts that name one account. */
import { expect, test } from "vitest";
import type { ServiceAccount } from "../../src/api/service-account.ts";
import { readOtherClaims, saIdIndex } from "../../src/kinds/service-account/claims.ts";
import { MarkedAccounts } from "../../src/kinds/service-account/marked-accounts.ts";
import { observe } from "../../src/kinds/service-account/observe.ts";
import { createStore } from "../../src/kube/store/memory-store.ts";
import { indexes } from "../../src/resources/indexes.ts";
import { systemClock } from "../../src/util/time.ts";
import { cachesWith } from "../support/caches-with.ts";
import { rawSpec } from "../unit/kinds/connection/specs.ts";
import { access, accountSpec, serviceAccount } from "../unit/kinds/service-account/objects.ts";

const CLAIMS = 5_000;

/** Objects that name one account; each is read by `run`, which counts how often a connection is asked for. */
function crowd(importServiceAccounts: boolean, age: (n: number) => number) {
  const serviceAccounts = createStore<ServiceAccount>({
    indexes: {
      [indexes.saId]: saIdIndex,
      [indexes.connection]: () => ["ClusterConnection/default"],
    },
    onListenerError: (error) => {
      throw error;
    },
  });
  const objects = Array.from({ length: CLAIMS }, (_, n) => {
    const creationTimestamp = new Date(Date.UTC(2026, 0, 1) + age(n) * 1_000).toISOString();
    const metadata = { namespace: "crowd", name: `sa-${n}`, uid: `uid-${n}`, creationTimestamp };
    return serviceAccount({ metadata, spec: accountSpec({ saId: "sa-1" }) });
  });
  serviceAccounts.openScope("").beginReplace()(objects, "1");
  let asked = 0;
  const grant = { ...access.grant, importServiceAccounts, maxServiceAccounts: 20 };
  const none = { get: () => undefined, byIndex: () => [] };
  const caches = cachesWith({
    serviceaccounts: serviceAccounts,
    clusterconnections: { get: () => ({ metadata: { name: "default" }, spec: rawSpec }) },
    apikeys: none,
    policybindings: none,
    connections: none,
    namespaces: none,
  });
  const connections = {
    resolve: async () => {
      asked += 1;
      return { ok: true, access: { ...access, grant } } as const;
    },
  };
  return { objects, run: { caches, connections, clock: systemClock }, asked: () => asked };
}

test("an object that may not import asks for nobody else's claim", async () => {
  const { objects, run, asked } = crowd(false, (n) => n);
  for (const object of objects) {
    const snapshot = await observe(object, object.spec, run as never, marked);
    expect(snapshot.otherClaims.size).toBe(0);
    expect(snapshot.accountsBefore).toBe(0);
  }
  expect(asked()).toBe(2 * CLAIMS);
});

const marked = new MarkedAccounts(() => undefined);

test.each([
  { order: "the oldest first", age: (n: number) => n },
  { order: "the youngest first", age: (n: number) => -n },
  { order: "in any order", age: (n: number) => (n * 7_919) % CLAIMS },
])(
  "five thousand claims that count stop at the first owner, $order",
  async ({ age }) => {
    const { objects, run, asked } = crowd(true, age);
    let owners = 0;
    for (const object of objects) {
      const others = await readOtherClaims(["sa-1"], object, run);
      if ((others.get("sa-1") ?? []).length <= 1) owners += 1;
    }
    expect(owners).toBeGreaterThan(0);
    // All claims of all objects are 25 million.
    expect(asked()).toBeLessThan(5 * CLAIMS);
  },
  120_000,
);
