import fc from "fast-check";
import { expect, test } from "vitest";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { keyText } from "../../../src/kube/resource.ts";
import { type ConfigMap, configMapType } from "../../../src/kube/resource-types.ts";
import { createStore } from "../../../src/kube/store/memory-store.ts";
import { startReflector } from "../../../src/kube/watch/reflector.ts";
import { silentLog } from "../../../src/util/log.ts";
import { SECOND } from "../../../src/util/time.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { type Fault, ListWatchModel } from "./list-watch-model.ts";
import { objectOf } from "./scripted-server.ts";

type Command =
  | { readonly do: "put" | "delete"; readonly name: string }
  | { readonly do: "disturb"; readonly fault: Fault }
  | { readonly do: "restore"; readonly steps: number }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "bookmark" | "compact" };

const name = fc.constantFrom("a", "b", "c", "d");
const fault = fc.constantFrom<Fault>(
  ...(["reset", "silence", "gone", "busy", "garbage"] as const),
  ...(["truncated", "replay", "close", "unauthorized"] as const),
);
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("put" as const), name }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("delete" as const), name }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("disturb" as const), fault }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.nat(100 * SECOND) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("bookmark" as const, "compact" as const) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("restore" as const),
      steps: fc.integer({ min: 1, max: 5 }),
    }),
  },
);

function world(fractions: readonly number[]) {
  const clock = createFakeClock();
  const model = new ListWatchModel();
  const errors: unknown[] = [];
  const store = createStore<ConfigMap>({ onListenerError: (error) => void errors.push(error) });
  const replica = followChanges(store);
  const abort = new AbortController();
  let drawn = 0;
  const reflector = startReflector<ConfigMap>({
    api: {
      baseURL: "http://server",
      send: model.send,
      openStream: model.openStream,
      clock,
      userAgent: "test",
    },
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
    signal: abort.signal,
  });
  return { clock, model, store, replica, errors, abort, reflector };
}

/** What a listener believes that the store holds; every change must fit to the ones before. */
function followChanges(store: ReturnType<typeof createStore<ConfigMap>>) {
  const replica = new Map<string, KubeObject>();
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

const sorted = (objects: Iterable<KubeObject>) =>
  [...objects].sort((a, b) => a.metadata.name.localeCompare(b.metadata.name));

async function perform(
  model: ListWatchModel,
  clock: ReturnType<typeof createFakeClock>,
  one: Command,
) {
  switch (one.do) {
    case "put":
      return model.put(one.name);
    case "delete":
      return model.delete(one.name);
    case "disturb":
      return model.disturb(one.fault);
    case "restore":
      return model.restore(one.steps);
    case "wait":
      return clock.advance(one.ms);
    case "bookmark":
      return model.bookmark();
    case "compact":
      return model.compact();
  }
}

test("whatever happens, the store equals the server 90 seconds after it stops", async () => {
  const fractions = fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40 }), fractions, async (commands, drawn) => {
      const { clock, model, store, replica, errors, abort, reflector } = world(drawn);
      for (const one of commands) await perform(model, clock, one);
      model.calm();
      // The longest back-off is 30 s; a silent stream is noticed after 75 s and resumed at once (L8).
      await clock.advance(90 * SECOND);
      expect(store.synced).toBe(true);
      expect(sorted(store.list())).toEqual(sorted([...model.items.values()].map(objectOf)));
      expect(sorted(replica.values())).toEqual(sorted(store.list()));
      expect(errors).toEqual([]);
      abort.abort();
      await reflector.done;
      await clock.settle();
      expect([model.openStreams, clock.pendingTimers]).toEqual([0, 0]);
    }),
    { numRuns: 1_000 },
  );
}, 120_000);

test("a quiet day costs a request every few minutes and changes nothing", async () => {
  const { clock, model, store, abort, reflector } = world([0.5]);
  let changes = 0;
  store.subscribe(() => {
    changes += 1;
  });
  model.put("a");
  await clock.advance(SECOND);
  for (let minute = 1; minute <= 24 * 60; minute += 1) {
    await clock.advance(60 * SECOND);
    model.bookmark();
    if (minute % 7 === 0) model.disturb("close");
  }
  expect([model.streams, model.calls]).toEqual([1 + Math.floor((24 * 60) / 7), 0]);
  expect(store.synced).toBe(true);
  expect([store.size, changes]).toEqual([1, 1]);
  abort.abort();
  await reflector.done;
});
