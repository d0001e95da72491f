/** The drivers of a run, with a kind whose effects the case names. */
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { ServiceAccount } from "../../../src/api/service-account.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import { defineEffect, type Effects, type Ended } from "../../../src/reconciler/effects.ts";
import { hasFinalizer } from "../../../src/reconciler/finalizers.ts";
import type { KindDefinition } from "../../../src/reconciler/kind-definition.ts";
import { createReconciler } from "../../../src/reconciler/reconciler.ts";
import type { KindTypes } from "../../../src/reconciler/run-context.ts";
import { serviceAccountType } from "../../../src/resources/resource-types.ts";
import { silentLog } from "../../../src/util/log.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { MemoryCluster } from "../../support/memory-cluster.ts";

interface Toy extends KindTypes {
  readonly Object: ServiceAccount;
  readonly Snapshot: { readonly object: ServiceAccount; readonly known: readonly string[] };
}

/** `Fail` fails, `Save` is allowed for a suspended object, and `Keep` needs the finalizer. */
function toy(suspend: boolean, ...kinds: readonly string[]) {
  const clock = createFakeClock();
  const kube = new MemoryCluster(clock);
  const called: string[] = [];
  const reports: (readonly string[])[] = [];
  const effect = (kind: string) =>
    defineEffect<Toy, Toy["Snapshot"], void, string>({
      kind,
      whileSuspended: kind === "Save",
      needsFinalizer: kind === "Keep",
      call: async (_, { object }) => {
        if (kind === "Fail") throw new Error("no");
        called.push(hasFinalizer(object) ? `${kind} finalized` : kind);
        return { answer: kind };
      },
      planned: () => ({ answer: `${kind} assumed` }),
    });
  function* run(snapshot: Toy["Snapshot"]): Effects<Toy, Ended<Toy>> {
    let s = snapshot;
    for (const kind of kinds) s = { ...s, known: [...s.known, yield* effect(kind)(s)] };
    return { snapshot: s, end: { kind: "Settled" } };
  }
  const kind: KindDefinition<Toy> = {
    type: serviceAccountType,
    parse: () => ({ ok: true, spec: { suspend } }),
    observe: async (object) => ({ object, known: [] }) as never,
    run,
    *runOfDeletion(snapshot) {
      yield* effect("CleanUp")(snapshot);
      return { snapshot, end: { kind: "Released", events: [] } };
    },
    report: ({ known }, { kind: end }) => {
      reports.push([...known, end]);
      return { objects: [] };
    },
  };
  const { reconcile, plan } = createReconciler(kind, {
    ...{ kube: kube.client, caches: kube.openCaches(), connections: {} as never, clock },
    ...{ metrics: createMetrics(new Registry()), log: silentLog },
    ...{ events: { record: () => undefined }, random: { fraction: () => 0.5, id: () => "id" } },
  });
  const key = { namespace: "team-a", name: "toy" };
  kube.put(serviceAccountType, { metadata: key, spec: {} });
  const { signal } = new AbortController();
  const stored = () => kube.peek(serviceAccountType, key) as ServiceAccount;
  return {
    ...{ called, reports, stored },
    remove: () => kube.remove(serviceAccountType, key),
    run: () => reconcile(stored(), { id: "run", signal, reportSignal: signal }),
    plan: () => plan(stored(), { signal }),
  };
}

test("a run goes on with the answers, and its report is about all of them", async () => {
  const { run, called, reports } = toy(false, "Read", "Write");
  await run();
  expect([called, reports]).toEqual([["Read", "Write"], [["Read", "Write", "Settled"]]]);
});

test("a failure is reported with what was known before the effect", async () => {
  const { run, reports } = toy(false, "Read", "Fail", "Write");
  await expect(run()).rejects.toThrow("no");
  expect(reports).toEqual([["Read", "Failed"]]);
});

test("a run over a suspended object ends before the first effect that is not allowed", async () => {
  const { run, reports } = toy(true, "Save", "Write", "Save");
  await run();
  expect(reports).toEqual([["Save", "Suspended"]]);
});

test("a plan goes on with assumed answers, and calls nothing", async () => {
  const { plan, called, reports } = toy(false, "Read", "Fail");
  await plan();
  expect([called, reports]).toEqual([[], [["Read assumed", "Fail assumed", "Settled"]]]);
});

test("before an effect that needs it, the object gets the finalizer, and a deletion its own run", async () => {
  const { run, called, stored, ...world } = toy(false, "Read", "Keep");
  await run();
  expect(called).toEqual(["Read", "Keep finalized"]);
  world.remove();
  await run();
  expect([called.at(-1), stored()]).toEqual(["CleanUp finalized", undefined]);
});

test("a plan writes no finalizer", async () => {
  const { plan, stored } = toy(false, "Keep");
  await plan();
  expect(hasFinalizer(stored())).toBe(false);
});
