/** The loop itself, with a kind that does nothing but what the case says. */
import { Registry } from "prom-client";
import { expect, test, vi } from "vitest";
import type { Readiness } from "../../../src/api/conditions.ts";
import { FINALIZER } from "../../../src/api/meta.ts";
import type { ServiceAccount } from "../../../src/api/service-account.ts";
import { IamError } from "../../../src/console/errors.ts";
import { KubeError } from "../../../src/kube/errors.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import { defineEffect, type Effects, type Ended } from "../../../src/reconciler/effects.ts";
import { UrgentFailure } from "../../../src/reconciler/errors.ts";
import type { KindDefinition } from "../../../src/reconciler/kind-definition.ts";
import { createReconciler } from "../../../src/reconciler/reconciler.ts";
import { PartialFailure } from "../../../src/reconciler/rules/partial-failure.ts";
import { readinessOf } from "../../../src/reconciler/rules/report.ts";
import type { KindTypes } from "../../../src/reconciler/run-context.ts";
import { serviceAccountType } from "../../../src/resources/resource-types.ts";
import { silentLog } from "../../../src/util/log.ts";
import { RunTimedOut } from "../../../src/util/run-timed-out.ts";
import { MINUTE } from "../../../src/util/time.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { MemoryCluster } from "../../support/memory-cluster.ts";

const KEY = { namespace: "team-a", name: "toy" };
const DELETED = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [FINALIZER] };

interface Toy extends KindTypes {
  readonly Object: ServiceAccount;
  readonly Spec: { readonly suspend: boolean };
  readonly Snapshot: { readonly object: ServiceAccount };
  readonly State: string;
}

/** Performs the action once, or again and again. Without an action, or in a deletion after it, nothing is left to do. */
function toy(
  action?: string,
  {
    isRepeated = false,
    isValid = true,
    unsaved = 0,
    reported = false,
    failure = undefined as Error | undefined,
  } = {},
) {
  const clock = createFakeClock();
  const kube = new MemoryCluster(clock);
  const performed: string[] = [];
  const events: string[] = [];
  const failures: string[] = [];
  let reports = 0;
  const states: (string | undefined)[] = [];
  const act = defineEffect<Toy, Toy["Snapshot"], void, void>({
    kind: action ?? "",
    whileSuspended: action === "Save",
    call: async (_, snapshot, run) => {
      performed.push(action ?? "");
      if (action === "WriteStatus") {
        kube.edit(serviceAccountType, KEY, ({ metadata }) => {
          metadata.labels = { changed: "meanwhile" };
        });
        await run.writeStatus(snapshot);
      }
      if (failure !== undefined) throw failure;
      return { answer: undefined };
    },
    planned: () => ({ answer: undefined }),
  });
  const runTo = (kind: "Settled" | "Released") =>
    function* (snapshot: Toy["Snapshot"]): Effects<Toy, Ended<Toy>> {
      if (action !== undefined) yield* act(snapshot);
      while (isRepeated) yield* act(snapshot);
      return { snapshot, end: { kind, events: [] } };
    };
  const kind = {
    type: serviceAccountType,
    parse: ({ spec }) => (isValid ? { ok: true, spec } : { ok: false, message: "no" }),
    observe: async (object, _, { state }) => {
      states.push(state);
      return { object };
    },
    run: runTo("Settled"),
    runOfDeletion: runTo("Released"),
    report: ({ object }, outcome) => {
      reports += 1;
      if (outcome.kind === "Failed") failures.push(outcome.readiness.reason);
      const readiness = { state: "Ready", reason: "Any", message: "." } as const;
      const written = { type: serviceAccountType, object, status: {}, readiness };
      return { objects: reported ? [written] : [], state: "known" };
    },
    mustSave: () => performed.length < unsaved,
  } as KindDefinition<Toy>;
  const { reconcile, onGone, save } = createReconciler(kind, {
    ...{ kube: kube.client, caches: kube.openCaches(), connections: {} as never, clock },
    ...{ metrics: createMetrics(new Registry()), log: silentLog },
    events: { record: (_, { reason }) => void events.push(reason) },
    random: { fraction: () => 0.5, id: () => "id" },
  });
  /** The next status is stored, and its answer is lost. */
  const loseAnswer = () =>
    vi.spyOn(kube.client, "apply").mockImplementationOnce(async (...call) => {
      await kube.client.apply(...call);
      throw new KubeError("Timeout", "the answer is lost");
    });
  const stored = () => kube.peek(serviceAccountType, KEY) as ServiceAccount;
  return {
    ...{ clock, performed, states, stored, onGone, loseAnswer },
    reportCount: () => reports,
    ...{ events, failures },
    save: () => save(stored(), { signal: new AbortController().signal }),
    put: (metadata: object = {}) =>
      kube.put(serviceAccountType, { metadata: { ...KEY, ...metadata }, spec: { suspend: false } }),
    run: (seen = stored(), signal = new AbortController().signal, reportSignal = signal) =>
      reconcile(seen, { id: "run", signal, reportSignal }),
  };
}

test.each([
  ["Look", []],
  ["Save", ["Save"]],
])("a process that stops performs only what must be saved: %s", async (action, expected) => {
  const world = toy(action);
  world.put();
  const run = world.run(world.stored(), AbortSignal.abort(new Error("stop")));
  await run.catch((error: unknown) => expect(error).toMatchObject({ message: "stop" }));
  expect(world.performed).toEqual(expected);
});

test.each([
  ["nothing else", "Save", 2, ["Save", "Save"]],
  ["nothing that a suspended object may not do", "Look", 1, []],
  ["nothing at all if nothing is unsaved", "Save", 0, []],
])("saving performs %s, and reports nothing", async (_, action, unsaved, expected) => {
  const world = toy(action, { isRepeated: true, unsaved });
  world.put({ finalizers: [FINALIZER] });
  await world.save();
  expect(world.performed).toEqual(expected);
  expect(world.reportCount()).toBe(0);
});

test.each([
  ["that took too long is reported as such", new RunTimedOut("too long"), ["ReconcileTimedOut"]],
  ["that another signal ended is reported with its failure", new Error("other"), ["Unavailable"]],
])("a run %s", async (_, reason, expected) => {
  const failure = new IamError("Unavailable", "cancelled", { operation: "listResourceQuotas" });
  const world = toy("Save", { failure });
  world.put({ finalizers: [FINALIZER] });
  const { signal } = new AbortController();
  const run = world.run(world.stored(), AbortSignal.abort(reason), signal);
  await expect(run).rejects.toBe(failure);
  expect(world.failures).toEqual(expected);
});

test("events of an action that failed half-way are recorded", async () => {
  const object = { kind: "Toy", metadata: KEY };
  const events = [{ object, event: { reason: "Half" } }];
  const failure = new PartialFailure({ object }, new Error("no"), events as never);
  const world = toy("Save", { failure });
  world.put({ finalizers: [FINALIZER] });
  await expect(world.run()).rejects.toThrow("no");
  expect(world.events).toEqual(["Half"]);
});

test("a run that ends because the process stops is not reported", async () => {
  const failure = new IamError("Unavailable", "cancelled", { operation: "listResourceQuotas" });
  const world = toy("Save", { failure });
  world.put({ finalizers: [FINALIZER] });
  const run = world.run(world.stored(), AbortSignal.abort(new Error("stop")));
  await expect(run).rejects.toBe(failure);
  expect(world.failures).toEqual([]);
});

test.each([
  ["is tried again soon", DELETED, true],
  ["is tried again later if its object stays", { finalizers: [FINALIZER] }, false],
])("a failed run %s", async (_, metadata, isUrgent) => {
  const failure = new IamError("Unavailable", "no", { operation: "disableKey" });
  const world = toy("Save", { failure });
  world.put(metadata);
  const error = await world.run().catch((thrown: unknown) => thrown);
  expect(error instanceof UrgentFailure).toBe(isUrgent);
});

test("a status in the middle of a run is written only over the version that the run has read", async () => {
  const world = toy("WriteStatus", { reported: true });
  world.put({ finalizers: [FINALIZER] });
  await expect(world.run()).rejects.toMatchObject({ code: "Conflict" });
});

test("a run that goes in circles ends", async () => {
  const world = toy("Look", { isRepeated: true });
  world.put();
  await expect(world.run()).rejects.toThrow("goes in circles");
});

test("an object whose status got no answer is looked at each minute, for five minutes", async () => {
  const world = toy(undefined, { reported: true });
  world.put();
  world.loseAnswer();
  await expect(world.run()).rejects.toThrow();
  const pauses: unknown[] = [];
  for (let minute = 0; minute < 6; minute += 1) {
    pauses.push((await world.run()).requeueAfterMs);
    await world.clock.advance(MINUTE);
  }
  expect(pauses).toEqual([...Array.from({ length: 5 }, () => MINUTE), undefined]);
});

test("what the process knows about an object is deleted with it", async () => {
  const world = toy();
  world.put();
  await world.run();
  await world.run();
  world.onGone(KEY);
  await world.run();
  expect(world.states).toEqual([undefined, "known", undefined]);
});

test("an object is not released again for a while, unless it is another version of it", async () => {
  const world = toy("Look");
  world.put(DELETED);
  const seen = world.stored();
  await world.run();
  expect(world.stored()).toBeUndefined();
  expect(await world.run(seen)).toEqual({ requeueAfterMs: 30_000 });
  expect(world.performed).toEqual(["Look"]);
  await world.clock.advance(30_000);
  await world.run(seen);
  await world.run({ ...seen, metadata: { ...seen.metadata, resourceVersion: "999" } });
  expect(world.performed).toEqual(["Look", "Look", "Look"]);
});

test("an object with a spec that says nothing is released without cleanup, with an event", async () => {
  const world = toy("Look", { isValid: false });
  world.put(DELETED);
  await world.run();
  expect([world.performed, world.stored()]).toEqual([[], undefined]);
  expect(world.events).toEqual(["CleanupIncomplete"]);
});

test("a deleted object without the operator's finalizer is left alone", async () => {
  const world = toy("Look");
  world.put({ ...DELETED, finalizers: ["example.com/other"] });
  expect(await world.run()).toEqual({});
  expect(world.performed).toEqual([]);
});

test.each<[Readiness["state"], string]>([
  ["Ready", "Ready Suspended: Why. Nothing is changed while spec.suspend is true."],
  [
    "Reconciling",
    "Stalled Suspended: spec.suspend is true: nothing is done for this object until it is false.",
  ],
])("a suspended object that is %s", (before, expected) => {
  const readiness = { state: before, reason: "Any", message: "Why." } as const;
  const { state, reason, message } = readinessOf({ readiness, suspended: true });
  expect(`${state} ${reason}: ${message}`).toBe(expected);
});
