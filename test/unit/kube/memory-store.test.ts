import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { createStore, type StoreOptions } from "../../../src/kube/store/memory-store.ts";

const key = { namespace: "ns", name: "a" };

function object(name: string, version: string, uid = `uid-${name}`, namespace = "ns"): KubeObject {
  return { metadata: { name, namespace, uid, resourceVersion: version } };
}

function open(options: Partial<StoreOptions<KubeObject>> = {}) {
  const errors: unknown[] = [];
  const store = createStore<KubeObject>({
    onListenerError: (error) => void errors.push(error),
    ...options,
  });
  const writer = store.openScope("");
  const changes: string[] = [];
  store.subscribe(({ key: { name }, old, new: next }) => {
    const side = (one: KubeObject | undefined) =>
      one === undefined ? "-" : `${one.metadata.uid}@${one.metadata.resourceVersion}`;
    changes.push(`${name} ${side(old)} ${side(next)}`);
  });
  const fill = (version: string, ...objects: KubeObject[]) =>
    writer.beginReplace()(objects, version);
  return { store, writer, changes, errors, fill };
}

describe("content", () => {
  test("follows events", () => {
    const { store, writer, changes, fill } = open();
    fill("5", object("a", "1"));
    writer.put(object("a", "6"));
    writer.put(object("b", "7"));
    writer.remove(object("a", "8"));
    expect(store.list()).toEqual([object("b", "7")]);
    expect(store.get(key)).toBeUndefined();
    expect(changes).toEqual(["a - uid-a@1", "a uid-a@1 uid-a@6", "b - uid-b@7", "a uid-a@6 -"]);
  });

  test("a replayed event brings nothing back", () => {
    const { store, writer, changes, fill } = open();
    fill("5", object("a", "1"));
    writer.remove(object("a", "8"));
    writer.put(object("a", "7"));
    expect(store.size).toBe(0);
    expect(changes).toHaveLength(2);
  });

  test("an object that was re-created is two changes, also in a listing", () => {
    const { writer, changes, fill } = open();
    fill("5", object("a", "1", "first"));
    writer.put(object("a", "6", "second"));
    fill("9", object("a", "8", "third"));
    expect(changes).toEqual([
      "a - first@1",
      "a first@1 -",
      "a - second@6",
      "a second@6 -",
      "a - third@8",
    ]);
  });

  test("a listing reports what differs and what vanished, after everything is in place", () => {
    const { store, changes, fill } = open();
    fill("5", object("a", "1"), object("b", "2"), object("c", "3"));
    changes.length = 0;
    store.subscribe(() => expect(store.size).toBe(2));
    fill("9", object("b", "2"), object("c", "8"));
    expect(changes).toEqual(["a uid-a@1 -", "c uid-c@3 uid-c@8"]);
  });

  test("a listing from before replaces all the same: etcd was restored", () => {
    const { store, writer, fill } = open();
    fill("50", object("a", "40"));
    fill("30", object("a", "20"));
    expect(store.get(key)).toEqual(object("a", "20"));
    writer.put(object("a", "31"));
    expect(store.get(key)).toEqual(object("a", "31"));
  });
});

describe("scopes", () => {
  test("the store is synced when all of them are, and stays so", () => {
    const store = createStore<KubeObject>({ onListenerError: () => undefined });
    expect(store.synced).toBe(false);
    const [one, two] = [store.openScope("one"), store.openScope("two")];
    one.beginReplace()([], "5");
    expect(store.synced).toBe(false);
    two.beginReplace()([], "4");
    expect(store.synced).toBe(true);
    one.beginReplace();
    expect(store.synced).toBe(true);
  });

  test("a listing of one leaves the others alone", () => {
    const store = createStore<KubeObject>({ onListenerError: () => undefined });
    const [one, two] = [store.openScope("one"), store.openScope("two")];
    one.beginReplace()([object("a", "1", "x", "one")], "5");
    two.beginReplace()([object("a", "2", "y", "two")], "5");
    one.beginReplace()([], "6");
    expect(store.list()).toEqual([object("a", "2", "y", "two")]);
  });

  test.each([
    ["", "one"],
    ["one", ""],
    ["one", "one"],
  ])("%j and %j overlap", (first, second) => {
    const store = createStore<KubeObject>({ onListenerError: () => undefined });
    store.openScope(first);
    expect(() => store.openScope(second)).toThrow("overlaps");
  });
});

describe("our own writes", () => {
  test("are current once the event has come", () => {
    const { store, writer, fill } = open();
    fill("5", object("a", "1"));
    store.note(object("a", "7"));
    expect(store.isCurrent(key)).toBe(false);
    writer.put(object("a", "6"));
    expect(store.isCurrent(key)).toBe(false);
    writer.put(object("a", "7"));
    expect(store.isCurrent(key)).toBe(true);
  });

  test("are current at once where the event was faster, or nothing changed", () => {
    const { store, writer, fill } = open();
    fill("5", object("a", "1"));
    writer.put(object("a", "7"));
    store.note(object("a", "7"));
    expect(store.isCurrent(key)).toBe(true);
  });

  test("of which the newest counts, in whichever order they are noted", () => {
    const { store, writer, fill } = open();
    fill("5");
    store.note(object("a", "10"));
    store.note(object("a", "9"));
    writer.put(object("a", "9"));
    expect(store.isCurrent(key)).toBe(false);
    writer.put(object("a", "10"));
    expect(store.isCurrent(key)).toBe(true);
  });

  test("are settled by the object's deletion, by a bookmark and by any later event", () => {
    const settle = [
      ({ writer }: ReturnType<typeof open>) => writer.remove(object("a", "8")),
      ({ writer }: ReturnType<typeof open>) => writer.advance("8"),
      ({ writer }: ReturnType<typeof open>) => writer.put(object("other", "8")),
    ];
    for (const by of settle) {
      const opened = open();
      opened.fill("5");
      opened.store.note(object("a", "7"));
      by(opened);
      expect(opened.store.isCurrent(key)).toBe(true);
    }
  });

  test("that came and went without their event are missed until a listing brings them", () => {
    const opened = open();
    const { store, writer, fill } = opened;
    fill("5", object("a", "1"));
    store.note(object("a", "7"));
    expect(writer.hasMissed).toBe(false);
    writer.advance("8");
    expect([writer.hasMissed, store.isCurrent(key)]).toEqual([true, false]);
    fill("9", object("a", "7"));
    expect([writer.hasMissed, store.isCurrent(key)]).toEqual([false, true]);
  });

  test("whose event was left out before they were noted are missed as well", () => {
    const { store, writer, fill } = open();
    fill("5", object("a", "1"));
    writer.put(object("other", "8"));
    store.note(object("a", "7"));
    expect([writer.hasMissed, store.isCurrent(key)]).toEqual([true, false]);
  });

  test("are awaited also before the first listing", () => {
    const { store, writer, fill } = open();
    const replace = writer.beginReplace();
    store.note(object("a", "7"));
    expect(store.isCurrent(key)).toBe(false);
    replace([], "6");
    expect(store.isCurrent(key)).toBe(false);
    fill("7", object("a", "7"));
    expect(store.isCurrent(key)).toBe(true);
  });

  test("do not wait for ever for a version that a restored etcd lost", () => {
    const { store, writer, fill } = open();
    fill("50", object("a", "40"));
    store.note(object("a", "60"));
    const replace = writer.beginReplace();
    store.note(object("b", "35"));
    replace([object("a", "20")], "30");
    // The listing began after the first write was answered, so it holds what is left of it.
    expect(store.isCurrent(key)).toBe(true);
    expect(store.isCurrent({ namespace: "ns", name: "b" })).toBe(false);
    writer.put(object("b", "35"));
    expect(store.isCurrent({ namespace: "ns", name: "b" })).toBe(true);
  });

  test("outside every scope are nobody's to wait for", () => {
    const store = createStore<KubeObject>({ onListenerError: () => undefined });
    store.openScope("one").beginReplace()([], "1");
    store.note(object("a", "9"));
    expect(store.isCurrent(key)).toBe(true);
  });
});

describe("indexes", () => {
  test("follow the objects", () => {
    const { store, writer, fill } = open({
      indexes: { uid: ({ metadata }) => [metadata.uid ?? ""] },
    });
    fill("5", object("a", "1", "x"), object("b", "2", "x"));
    expect(store.byIndex("uid", "x")).toEqual([object("a", "1", "x"), object("b", "2", "x")]);
    writer.put(object("a", "6", "y"));
    writer.remove(object("b", "7", "x"));
    expect(store.byIndex("uid", "x")).toEqual([]);
    expect(store.byIndex("uid", "y")).toEqual([object("a", "6", "y")]);
    expect(() => store.byIndex("other", "x")).toThrow("unknown index other");
  });

  test("leave out what their function cannot bear", () => {
    const { store, fill, errors } = open({
      indexes: {
        spec: () => {
          throw new Error("no spec");
        },
      },
    });
    fill("5", object("a", "1"));
    expect(store.size).toBe(1);
    expect(errors).toHaveLength(1);
  });
});

describe("listeners", () => {
  test("do not harm each other", () => {
    const { store, fill, errors } = open();
    const seen: string[] = [];
    store.subscribe(() => {
      throw new Error("boom");
    });
    const unsubscribe = store.subscribe(({ key: { name } }) => void seen.push(name));
    fill("5", object("a", "1"));
    unsubscribe();
    fill("6", object("b", "2"));
    expect(seen).toEqual(["a"]);
    expect(errors).toHaveLength(3);
  });
});
