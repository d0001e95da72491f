import fc from "fast-check";
import { WATCH_MS } from "../../../../src/accounts/sync-watch.ts";
import type { PolicyBinding } from "../../../../src/api/policy-binding.ts";
import type { LiveBindings } from "../../../../src/console/model.ts";
import type { UsableSnapshot } from "../../../../src/kinds/policy-binding/rules/evaluate.ts";
import { desiredState, dueAt } from "../../../../src/kinds/policy-binding/rules/read-schedule.ts";
import { report } from "../../../../src/kinds/policy-binding/rules/report.ts";
import type {
  AccountBindingsKind,
  BindingsSnapshot,
} from "../../../../src/kinds/policy-binding/rules/snapshot.ts";
import { toStored } from "../../../../src/kinds/policy-binding/rules/unanswered-sync.ts";
import type {
  BindingView,
  BoundAccount,
} from "../../../../src/kinds/policy-binding/rules/views.ts";
import { reconcileBindings } from "../../../../src/kinds/policy-binding/run.ts";
import type { ReportedObject } from "../../../../src/reconciler/rules/report.ts";
import { HOUR, MINUTE } from "../../../../src/util/time.ts";
import { ago, maybe, mostly, type Requeued, rarely, type Situation } from "../requeue.ts";
import {
  account,
  binding,
  NOW,
  recorded,
  refusing,
  releasing,
  revoking,
  snapshot,
} from "./builders.ts";

const rules: Requeued<AccountBindingsKind>["rules"] = {
  run: reconcileBindings,
  report: (snapshot, outcome, _, before) => report(snapshot, outcome, before),
};
const spec = { suspend: false };
const before = ago.map((ms) => NOW - ms);
const view = fc
  .record({
    applied: mostly<string[]>(["p1"], []),
    stage: mostly<Partial<BindingView>>({}, revoking, releasing, refusing(["p9"])),
    blockedSince: maybe(before),
    suspended: mostly(false, true),
    requestedAt: mostly(undefined, "now"),
  })
  .map(({ stage, ...fields }): Partial<BindingView> => ({ ...fields, ...stage }));
const situations = fc
  .record({
    a: fc.option(view, { nil: undefined, freq: 2 }),
    b: rarely(view),
    source: mostly<BindingsSnapshot["source"]>("Caches", "Server", "Behind"),
    access: mostly<Partial<BoundAccount>>(
      {},
      { accessRevoked: true },
      { foreignPolicies: "Remove" as const },
    ),
    record: fc.constantFrom<Partial<BoundAccount>>({}, recorded(["p1"]), recorded(["p1"], ["f1"])),
    unavailable: mostly<BindingsSnapshot["availability"] | undefined>(
      undefined,
      {
        kind: "Unavailable",
        state: "Reconciling",
        reason: "ServiceAccountNotReady",
        message: "wait",
      },
      { kind: "Unavailable", state: "Stalled", reason: "NotGranted", message: "wait" },
    ),
    // The drift check is due after ten minutes at most.
    lastReadTime: fc.oneof(fc.integer({ min: NOW - 10 * MINUTE, max: NOW }), before),
    corrections: fc.array(before, { maxLength: 1 }),
    unanswered: rarely(
      fc.integer({ min: NOW - WATCH_MS, max: NOW }).map((time) => ({ time, policyIds: ["p1"] })),
    ),
    // A pause ends when a check is due, or later.
    pausedFor: rarely(fc.integer({ min: 0, max: HOUR })),
    hasFailed: mostly(false, true),
    live: mostly<LiveBindings | undefined>(
      undefined,
      { readable: true, policyIds: ["p1"] },
      { readable: false },
    ),
  })
  .map((drawn): Situation<AccountBindingsKind> => {
    const { a, b, source, access, record, unavailable, live, pausedFor, ...remembered } = drawn;
    const bindings = Object.entries({ a, b }).flatMap(([name, fields]) =>
      fields === undefined ? [] : [binding(name, ["p1"], fields)],
    );
    const usable = snapshot(account({ ...access, ...record }), bindings) as UsableSnapshot;
    const state = { ...usable.state, ...remembered };
    const paused = (ms: number) => ({
      desired: desiredState(usable),
      until: dueAt(usable, state) + ms,
    });
    const pause = pausedFor === undefined ? undefined : paused(pausedFor);
    const { unanswered } = remembered;
    const unansweredSync = unanswered && toStored(unanswered, undefined);
    const { status } = usable.account;
    return {
      snapshot: {
        ...usable,
        account: {
          ...usable.account,
          status: { ...status, bindings: { ...status?.bindings, unansweredSync } },
        },
        source,
        live,
        availability: unavailable ?? usable.availability,
        state: { ...state, pause },
      },
      spec,
      ...(live && { done: {} }),
    };
  });

export const requeued: Requeued<AccountBindingsKind> = {
  rules,
  situations,
  now: NOW,
  later: (before, { state, objects = [] }, now) => ({
    ...before,
    source: before.source === "Behind" ? "Caches" : before.source,
    objects: new Map([...before.objects, ...objects.map(byUid)]),
    state,
    now,
  }),
};

function byUid(object: ReportedObject): readonly [string, PolicyBinding] {
  return [object.metadata.uid, object as PolicyBinding];
}
