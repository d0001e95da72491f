import fc from "fast-check";
import { expect, test } from "vitest";
import { keyText, type ObjectKey } from "../../../src/kube/resource.ts";
import { type ConfigMap, configMapType } from "../../../src/kube/resource-types.ts";
import { createStore } from "../../../src/kube/store/memory-store.ts";
import { startReflector } from "../../../src/kube/watch/reflector.ts";
import type { RestartReason } from "../../../src/kube/watch/watch-state.ts";
import { silentLog } from "../../../src/util/log.ts";
import { HOUR, SECOND } from "../../../src/util/time.ts";
import type { CallFault, Fault, WatchFault } from "../../../tools/simulation/faults.ts";
import { effort } from "../../setup/effort.ts";
import { KubeWorld } from "../../support/kube-world.ts";

type Command =
  | { readonly do: "put" | "delete"; readonly name: string }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "compact" | "backUp" | "restore" };

const keyOf = ({ name }: { readonly name: string }) => ({ namespace: "ns", name });

const name = fc.constantFrom("a", "b", "c", "d");
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("put" as const), name }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("delete" as const), name }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.nat(100 * SECOND) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom("compact" as const, "backUp", "restore") }),
  },
);

const nth = fc.integer({ min: 1, max: 4 });
const ms = fc.nat(20 * SECOND);
const status = fc.constantFrom(400, 401, 403, 404, 410, 429, 500, 503);
const CUT = { text: `{"type":"ADD` };
const CLOSED = { text: "", ends: true };
const watchFault: fc.Arbitrary<WatchFault> = fc.oneof(
  fc.record({ kind: fc.constantFrom("Frozen" as const, "Doubled", "Torn"), nth }),
  fc.record({ kind: fc.constant("Frozen" as const), nth: fc.constant(0) }),
  fc.record({ kind: fc.constant("Late" as const), ms }),
  fc.record({ kind: fc.constant("Expired" as const) }),
  fc.record({ kind: fc.constant("Stale" as const), revisions: nth, ms }),
  fc.record({ kind: fc.constant("Refuse" as const), status }),
  fc
    .tuple(nth, fc.constantFrom({ text: "garbage\n" }, CUT, { ...CUT, ends: true }, CLOSED))
    .map(([each, what]) => ({ kind: "Garbled", nth: each, ...what }) as const),
);
const callFault = fc.constantFrom<CallFault>(
  { kind: "Reset", when: "BeforeCommit" },
  { kind: "Silence", when: "BeforeCommit" },
  { kind: "Garble", how: "WrongType" },
  { kind: "Garble", how: "Truncated" },
  ...([401, 410, 429, 503] as const).map((each) => ({ kind: "Refuse", status: each }) as const),
);
const fault: fc.Arbitrary<Fault> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      on: fc.constant("watch" as const),
      plural: fc.constant("configmaps"),
      nth: fc.integer({ min: 1, max: 8 }),
      fault: watchFault,
    }),
  },
  fc.record({
    on: fc.constant("call" as const),
    select: fc.record({ nth: fc.integer({ min: 1, max: 8 }) }),
    fault: callFault,
  }),
);

function setUp(fractions: readonly number[], planned: readonly Fault[] = []) {
  const world = new KubeWorld();
  const { kernel, cluster } = world;
  const { storage } = cluster.server;
  const { api, faults } = world.start("a", {}, planned);
  const errors: unknown[] = [];
  const restarts: RestartReason[] = [];
  const store = createStore<ConfigMap>({ onListenerError: (error) => void errors.push(error) });
  const replica = followChanges(store);
  const abort = new AbortController();
  let drawn = 0;
  const reflector = startReflector<ConfigMap>({
    api,
    type: configMapType,
    scope: {},
    store,
    random: {
      fraction: () => {
        drawn += 1;
        return fractions[drawn % fractions.length] ?? 0;
      },
      id: () => "id",
    },
    log: silentLog,
    observer: { onRestart: (reason) => void restarts.push(reason) },
    signal: abort.signal,
  });
  let puts = 0;
  let backup = storage.snapshot();
  const remove = (key: ObjectKey) => {
    if (cluster.peek(configMapType, key) !== undefined) cluster.remove(configMapType, key);
  };
  const perform = (one: Command) => {
    switch (one.do) {
      case "put":
        puts += 1;
        return cluster.put(configMapType, { metadata: keyOf(one), data: { is: `${puts}` } });
      case "delete":
        return remove(keyOf(one));
      case "wait":
        return kernel.advance(one.ms);
      case "compact":
        return storage.compact();
      case "backUp":
        backup = storage.snapshot();
        return undefined;
      case "restore":
        // As etcd's manual says: with versions that lie beyond all known ones.
        return storage.restore(backup, true);
    }
  };
  return {
    ...{ kernel, cluster, calls: world.journal.calls, faults },
    ...{ store, replica, errors, restarts, perform },
    async stop() {
      abort.abort();
      await reflector.done;
    },
  };
}

/** What a listener believes that the store holds; every change must fit to the ones before. */
function followChanges(store: ReturnType<typeof createStore<ConfigMap>>) {
  const replica = new Map<string, ConfigMap>();
  store.subscribe(({ key, old, new: next }) => {
    expect(old).toEqual(replica.get(keyText(key)));
    expect(old === undefined || next === undefined || old.metadata.uid === next.metadata.uid).toBe(
      true,
    );
    if (next === undefined) replica.delete(keyText(key));
    else replica.set(keyText(key), next);
  });
  return replica;
}

const sorted = (objects: Iterable<ConfigMap>) =>
  [...objects]
    .map(({ metadata: { name, uid, resourceVersion }, data }) => [name, uid, resourceVersion, data])
    .sort(([a], [b]) => String(a).localeCompare(String(b)));

test("whatever happens, the store equals the server 90 seconds after it stops", async () => {
  // No doubles: most of them are close to zero.
  const fraction = fc.nat(999).map((thousandths) => thousandths / 1_000);
  const fractions = fc.array(fraction, { minLength: 1 });
  const commands = fc.array(command, { maxLength: 40 });
  const planned = fc.array(fault, { maxLength: 8 });
  const struck = new Set<string>();
  await fc.assert(
    fc.asyncProperty(commands, planned, fractions, async (each, plan, drawn) => {
      const { kernel, cluster, faults, store, replica, errors, perform, stop } = setUp(drawn, plan);
      for (const one of each) await perform(one);
      faults.cease();
      // The longest back-off is 30 s; a silent stream is noticed after 75 s and resumed at once (L8).
      await kernel.advance(90 * SECOND);
      expect(store.synced).toBe(true);
      expect(sorted(store.list())).toEqual(sorted(cluster.all(configMapType)));
      expect(sorted(replica.values())).toEqual(sorted(store.list()));
      expect(errors).toEqual([]);
      await stop();
      await kernel.advance(90 * SECOND);
      expect(kernel.waiting).toEqual([]);
      for (const one of faults.struck) if (one.on !== "world") struck.add(one.fault.kind);
    }),
    { numRuns: 400 * effort },
  );
  expect(struck.size).toBe(11);
});

test("a quiet day costs a request every few minutes and changes nothing", async () => {
  const { kernel, calls, store, restarts, perform, stop } = setUp([0.5]);
  let changes = 0;
  store.subscribe(() => {
    changes += 1;
  });
  await perform({ do: "put", name: "a" });
  await kernel.advance(24 * HOUR);
  expect(new Set(restarts)).toEqual(new Set(["Ended"]));
  expect(restarts.length).toBeLessThan((24 * HOUR) / (300 * SECOND));
  expect([calls.length, store.synced, store.size, changes]).toEqual([0, true, 1, 1]);
  await stop();
});
