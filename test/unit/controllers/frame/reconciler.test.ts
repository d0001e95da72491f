/** The loop itself, with a kind that does nothing but what the case says. */
import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { findCondition } from "../../../../src/api/conditions.ts";
import { API_VERSION, FINALIZER } from "../../../../src/api/meta.ts";
import type { ServiceAccount } from "../../../../src/api/service-account.ts";
import type { Context } from "../../../../src/controllers/frame/context.ts";
import type { KindController } from "../../../../src/controllers/frame/kind-controller.ts";
import { createReconciler } from "../../../../src/controllers/frame/reconciler.ts";
import { type Outcome, PartialFailure } from "../../../../src/controllers/frame/rules/outcome.ts";
import { stalled } from "../../../../src/controllers/frame/rules/waiting.ts";
import type { KindTypes, Performed } from "../../../../src/controllers/frame/run-context.ts";
import type { Effect } from "../../../../src/controllers/frame/steps.ts";
import { serviceAccountType } from "../../../../src/controllers/resource-types.ts";
import { IamError } from "../../../../src/iam/errors.ts";
import { createMetrics } from "../../../../src/observability/metrics.ts";
import { silentLog } from "../../../../src/util/log.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { MemoryCluster } from "../../../support/memory-cluster.ts";

const KEY = { namespace: "team-a", name: "toy" };

interface ToyKind extends KindTypes {
  readonly Object: ServiceAccount;
  readonly Spec: { readonly suspend: boolean };
  readonly Snapshot: { readonly object: ServiceAccount };
  readonly Done: { readonly performed: readonly string[] };
  readonly Action: { readonly kind: string };
  readonly State: string;
}
type Toy = KindController<ToyKind>;
type Perform = Effect<ToyKind, ToyKind["Action"], Performed<ToyKind>>["call"];

function stepsOf(perform: Perform): Toy["steps"] {
  const effect: Effect<ToyKind, ToyKind["Action"], Performed<ToyKind>> = {
    call: perform,
    planned: (_, answer) => ({ answer }),
    after: (_, __, answer) => answer,
  };
  return {
    Look: effect,
    Change: effect,
    Clean: effect,
    Create: { ...effect, needsFinalizer: true },
    Save: { ...effect, whileSuspended: true },
  };
}

/** Performs `actions` in order, then settles. */
function toy(
  actions: readonly string[],
  { perform, ...changes }: Partial<Toy> & { readonly perform?: Perform } = {},
) {
  const clock = createFakeClock();
  const kube = new MemoryCluster(clock);
  const performed: string[] = [];
  const outcomes: Outcome[] = [];
  const events: string[] = [];
  const caches = kube.openCaches();
  const next: Toy["next"] = ({ done }) => {
    const kind = actions[done.performed.length];
    return kind === undefined ? { kind: "Settled", afterMs: 7_000 } : { kind };
  };
  const kind: Toy = {
    type: serviceAccountType,
    parse: ({ spec }) => ({ ok: true, spec }),
    start: { performed: [] },
    observe: async (object) => ({ object }),
    next,
    nextOfDeletion: (progress, at) => {
      const step = next(progress, at);
      return step.kind === "Settled" ? { kind: "Released", events: [GONE] } : step;
    },
    steps: stepsOf(
      perform ??
        (async (action, { snapshot, done }) => {
          const held = snapshot.object.metadata.finalizers?.includes(FINALIZER) ?? false;
          performed.push(`${action.kind}${held ? " (finalizer)" : ""}`);
          return { snapshot, done: { performed: [...done.performed, action.kind] } };
        }),
    ),
    report: ({ snapshot: { object } }, outcome) => {
      outcomes.push(outcome);
      const ready = { state: "Ready", reason: "Done", message: "Done." } as const;
      const readiness = outcome.kind === "Failed" ? outcome.readiness : ready;
      const requeueAfterMs = outcome.kind === "Settled" ? outcome.afterMs : undefined;
      return {
        objects: [{ type: serviceAccountType, object, status: {}, readiness }],
        requeueAfterMs,
        state: outcome.kind,
      };
    },
    ...changes,
  };
  const context: Context = {
    kube: kube.client,
    caches,
    connections: { resolve: async () => ({ ok: false, waiting: stalled("None", "None.") }) },
    events: { record: (_, { reason }) => void events.push(reason) },
    metrics: createMetrics(new Registry()),
    log: silentLog,
    clock,
    random: { fraction: () => 0.5, id: () => "id" },
  };
  const { reconcile, onGone } = createReconciler(kind, context);
  const object = () => kube.peek(serviceAccountType, KEY) as ServiceAccount | undefined;
  return {
    performed,
    outcomes,
    events,
    onGone,
    object,
    ready: () => findCondition(object()?.status?.conditions, "Ready"),
    stalled: () => findCondition(object()?.status?.conditions, "Stalled"),
    put: (spec: object = {}, metadata: object = {}) =>
      kube.put(serviceAccountType, {
        apiVersion: API_VERSION,
        kind: "ServiceAccount",
        metadata: { ...KEY, ...metadata },
        spec: { suspend: false, ...spec },
      }),
    clock,
    runOver: (seen: ServiceAccount) =>
      reconcile(seen, { id: "run", signal: new AbortController().signal }),
    run: (signal = new AbortController().signal) =>
      reconcile(object() as ServiceAccount, { id: "run", signal }),
  };
}

const GONE = { type: "Normal", reason: "Gone", action: "Delete", note: "Gone." } as const;
const DELETED = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [FINALIZER] };
const unavailable = new IamError("Unavailable", "down", { operation: "login" });

const LOOKED = "Look (finalizer)";

describe("a run", () => {
  test("over an object as it was before its release does nothing, for a while", async () => {
    const world = toy(["Look"]);
    world.put({}, DELETED);
    const before = world.object() as ServiceAccount;
    await world.run();
    expect([world.performed, world.object()]).toEqual([[LOOKED], undefined]);
    expect(await world.runOver(before)).toEqual({ requeueAfterMs: 30_000 });
    expect(world.performed).toEqual([LOOKED]);
    await world.clock.advance(30_000);
    await world.runOver(before);
    expect(world.performed).toEqual([LOOKED, LOOKED]);
  });

  test("over another version of a released object goes its way", async () => {
    const world = toy(["Look"]);
    world.put({}, DELETED);
    const { metadata, ...rest } = world.object() as ServiceAccount;
    await world.run();
    await world.runOver({ ...rest, metadata: { ...metadata, resourceVersion: "999" } });
    expect(world.performed).toEqual([LOOKED, LOOKED]);
  });

  test("performs one action after the other, reports once and asks to be run again", async () => {
    const world = toy(["Look", "Change"]);
    world.put();
    expect(await world.run()).toEqual({ requeueAfterMs: 7_000 });
    expect(world.performed).toEqual(["Look", "Change"]);
    expect(world.outcomes).toHaveLength(1);
    expect(world.ready()).toMatchObject({ status: "True", reason: "Done" });
  });

  test.each([
    { name: "fails later", cause: unavailable },
    { name: "has changed something before it fails", cause: undefined },
  ])("that $name publishes the events of what was done", async ({ cause }) => {
    const perform: Perform = async ({ kind }, { snapshot, done }) => {
      const event = { type: "Normal", reason: "Looked", action: kind, note: "Done." } as const;
      const events = [{ object: snapshot.object, event }];
      const performed = { snapshot, done: { performed: [...done.performed, kind] }, events };
      if (cause === undefined) throw new PartialFailure(performed, unavailable);
      if (kind === "Change") throw cause;
      return performed;
    };
    const world = toy(["Look", "Change"], { perform });
    world.put();
    await expect(world.run()).rejects.toBe(unavailable);
    expect(world.events).toEqual(["Looked"]);
  });

  test("writes a status on the way only over the object that it has read", async () => {
    const perform: Perform = async ({ kind }, { snapshot, done }, run) => {
      world.put({}, { labels: { team: "a" } });
      const progress = await run.writeStatus({ snapshot, done });
      return { ...progress, done: { performed: [...done.performed, kind] } };
    };
    const world = toy(["Change"], { perform });
    world.put();
    await expect(world.run()).rejects.toMatchObject({ code: "Conflict" });
    expect(world.ready()).toBeUndefined();
  });

  test("adds the finalizer before the first action that needs it, and not sooner", async () => {
    const world = toy(["Look", "Create", "Change"]);
    world.put();
    await world.run();
    expect(world.performed).toEqual(["Look", "Create (finalizer)", "Change (finalizer)"]);
  });

  test("whose rules go in circles ends", async () => {
    const world = toy([], { next: () => ({ kind: "Look" }) });
    world.put();
    await expect(world.run()).rejects.toThrow("go in circles");
    expect(world.performed).toHaveLength(40);
  });

  test("over an invalid spec says so, and observes nothing", async () => {
    const observe = async () => Promise.reject(new Error("observed"));
    const world = toy([], {
      parse: () => ({ ok: false, message: "spec.x: is required" }),
      observe,
    });
    world.put();
    expect(await world.run()).toEqual({});
    expect(world.stalled()).toMatchObject({
      reason: "InvalidSpec",
      message: "spec.x: is required",
    });
  });
});

describe("a failure", () => {
  test("is reported and thrown", async () => {
    const world = toy(["Look"], { perform: () => Promise.reject(unavailable) });
    world.put();
    await expect(world.run()).rejects.toBe(unavailable);
    expect(world.ready()).toMatchObject({ status: "False", reason: "Unavailable" });
  });

  test("before anything is known about the object is thrown only", async () => {
    const world = toy([], { observe: () => Promise.reject(unavailable) });
    world.put();
    await expect(world.run()).rejects.toBe(unavailable);
    expect(world.outcomes).toEqual([]);
  });

  test("part of the way is reported with what had changed until then", async () => {
    const seen: string[][] = [];
    const world = toy(["Look"], {
      perform: async (_, { snapshot }) => {
        throw new PartialFailure({ snapshot, done: { performed: ["Half"] } }, unavailable);
      },
      report: ({ snapshot: { object }, done }, outcome) => {
        seen.push([outcome.kind, ...done.performed]);
        const ready = { state: "Ready", reason: "Done", message: "Done." } as const;
        const readiness = outcome.kind === "Failed" ? outcome.readiness : ready;
        return { objects: [{ type: serviceAccountType, object, status: {}, readiness }] };
      },
    });
    world.put();
    await expect(world.run()).rejects.toBe(unavailable);
    expect(seen).toEqual([["Failed", "Half"]]);
  });

  test("because the process stops says nothing about the object", async () => {
    const world = toy(["Look"]);
    world.put();
    await expect(world.run(AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
    expect(world.performed).toEqual([]);
    expect(world.outcomes).toEqual([]);
  });

  test("of the process to stop spares what must not be given up", async () => {
    const world = toy(["Save"]);
    world.put();
    await world.run(AbortSignal.abort(new Error("stop"))).catch(() => undefined);
    expect(world.performed).toEqual(["Save"]);
  });
});

describe("a suspended object", () => {
  test("that is in use stays ready, and nothing is performed", async () => {
    const world = toy(["Change"]);
    world.put({ suspend: true });
    await world.run();
    expect(world.performed).toEqual([]);
    expect(world.ready()).toMatchObject({ status: "True", reason: "Suspended" });
    expect(world.stalled()).toBeUndefined();
  });

  test("that cannot be used waits for a person", async () => {
    const readiness = { state: "Reconciling", reason: "Pending", message: "Not yet." } as const;
    const world = toy(["Change"], {
      report: ({ snapshot: { object } }) => ({
        objects: [{ type: serviceAccountType, object, status: {}, readiness }],
      }),
    });
    world.put({ suspend: true });
    await world.run();
    expect(world.ready()).toMatchObject({ status: "False", reason: "Suspended" });
    expect(world.stalled()).toMatchObject({ status: "True", reason: "Suspended" });
  });

  test("has done for it what the kind names, and no more", async () => {
    const world = toy(["Save", "Change"]);
    world.put({ suspend: true });
    await world.run();
    expect(world.performed).toEqual(["Save"]);
  });

  test("is not deleted", async () => {
    const world = toy(["Clean"]);
    world.put({ suspend: true }, DELETED);
    await world.run();
    expect(world.performed).toEqual([]);
    expect(world.object()).toBeDefined();
  });
});

describe("a deletion", () => {
  test("cleans up, removes the finalizer and tells of it", async () => {
    const world = toy(["Clean"]);
    world.put({}, DELETED);
    expect(await world.run()).toEqual({ requeueAfterMs: 30_000 });
    expect(world.performed).toEqual(["Clean (finalizer)"]);
    expect(world.object()?.metadata.finalizers ?? []).toEqual([]);
    expect(world.events).toEqual(["Gone"]);
  });

  test("of an object with a spec that cannot be read ends", async () => {
    const world = toy(["Clean"], { parse: () => ({ ok: false, message: "no" }) });
    world.put({}, DELETED);
    await world.run();
    expect(world.performed).toEqual([]);
    expect(world.object()?.metadata.finalizers ?? []).toEqual([]);
  });

  test("of an object without the operator's finalizer is nobody's business", async () => {
    const world = toy(["Clean"]);
    world.put({}, { ...DELETED, finalizers: ["example.com/other"] });
    expect(await world.run()).toEqual({});
    expect(world.performed).toEqual([]);
  });
});

test("process state goes with its object", async () => {
  const states: (string | undefined)[] = [];
  const world = toy([], {
    observe: async (object, _, { state }) => {
      states.push(state);
      return { object };
    },
  });
  world.put({}, { uid: "u1" });
  await world.run();
  await world.run();
  world.onGone(KEY);
  await world.run();
  expect(states).toEqual([undefined, "Settled", undefined]);
});
