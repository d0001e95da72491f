import fc from "fast-check";
import { test } from "vitest";
import { next } from "../../../../src/controllers/policy-binding/rules/next.ts";
import { report } from "../../../../src/controllers/policy-binding/rules/report.ts";
import type {
  AccountBindingsKind,
  BindingsSnapshot,
} from "../../../../src/controllers/policy-binding/rules/snapshot.ts";
import { bindingsSteps } from "../../../../src/controllers/policy-binding/steps/steps.ts";
import { ago, expectRequeued, maybe, type Rules, type Situation } from "../requeue.ts";
import {
  account,
  binding,
  NOW,
  recorded,
  refused,
  releasing,
  revoking,
  snapshot,
} from "./builders.ts";

const rules: Rules<AccountBindingsKind> = {
  start: {},
  steps: bindingsSteps,
  next,
  report: (progress, outcome, _, before) => report(progress, outcome, before),
};
const spec = { suspend: false };
const views = fc.array(
  fc.record({
    name: fc.constantFrom("a", "b"),
    applied: fc.constantFrom(["p1"], []),
    stage: fc.constantFrom({}, {}, revoking, releasing, refused),
    blockedSince: maybe(ago.map((ms) => NOW - ms)),
    suspended: fc.constantFrom(false, false, true),
    requestedAt: fc.constantFrom(undefined, undefined, "now"),
  }),
  { maxLength: 2 },
);
const situations = fc
  .record({
    views,
    source: fc.constantFrom<BindingsSnapshot["source"]>("Caches", "Server", "Behind"),
    access: fc.constantFrom({}, { access: "Revoked" }, { foreignPolicies: "Remove" as const }),
    record: fc.constantFrom({}, recorded(["p1"]), recorded(["p1"], ["f1"])),
    unavailable: fc.constantFrom<BindingsSnapshot["availability"] | undefined>(
      undefined,
      undefined,
      {
        kind: "Unavailable",
        state: "Reconciling",
        reason: "ServiceAccountNotReady",
        message: "wait",
      },
      { kind: "Unavailable", state: "Stalled", reason: "NotGranted", message: "wait" },
    ),
    askedAt: ago,
    pausedFor: maybe(ago),
    hasFailed: fc.boolean(),
    live: fc.constantFrom<BindingsSnapshot["live"]>(
      undefined,
      undefined,
      { readable: true, policyIds: ["p1"] },
      { readable: false },
    ),
  })
  .map((drawn): Situation<AccountBindingsKind> => {
    const all = drawn.views
      .filter(({ name }, index, list) => list.findIndex((each) => each.name === name) === index)
      .map(({ name, stage, ...fields }) => binding(name, ["p1"], { ...fields, ...stage }));
    const made = snapshot(account({ ...drawn.access, ...drawn.record }), all, {
      source: drawn.source,
      live: drawn.live,
      ...(drawn.unavailable === undefined ? {} : { availability: drawn.unavailable }),
    });
    const { state } = made;
    if (state === undefined) return { snapshot: made, spec };
    const pause =
      drawn.pausedFor === undefined ? undefined : { desired: "", until: NOW + drawn.pausedFor };
    const remembered = {
      ...state,
      askedAt: NOW - drawn.askedAt,
      hasFailed: drawn.hasFailed,
      pause,
    };
    return { snapshot: { ...made, state: remembered }, spec, ...(drawn.live && { done: {} }) };
  });

test("a run over the PolicyBindings of an account names the time of the next one", () => {
  expectRequeued(rules, situations, NOW, (before, state, now) => ({ ...before, state, now }));
});
