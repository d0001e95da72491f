import { describe, expect, test } from "vitest";
import type { PolicyBinding } from "../../../../src/api/policy-binding.ts";
import { IamError } from "../../../../src/console/errors.ts";
import { evaluate, isUsable } from "../../../../src/kinds/policy-binding/rules/evaluate.ts";
import { report } from "../../../../src/kinds/policy-binding/rules/report.ts";
import type { BindingsSnapshot } from "../../../../src/kinds/policy-binding/rules/snapshot.ts";
import type {
  BindingView,
  BoundAccount,
  UnavailableAccount,
} from "../../../../src/kinds/policy-binding/rules/views.ts";
import { reconcileBindings } from "../../../../src/kinds/policy-binding/run.ts";
import type { Outcome } from "../../../../src/reconciler/rules/outcome.ts";
import { DAY, HOUR, MINUTE, toIso8601 } from "../../../../src/util/time.ts";
import { playRun } from "../play-run.ts";
import { account, bindingOf, inState, NOW, recorded, snapshot, stored } from "./builders.ts";

const nothing = { readable: true, policyIds: [] } as const;
const refusal = new IamError("InvalidArgument", "no", { operation: "syncBindings", sent: true });
const kept = account(recorded(["p1"]));
const created = account();
const withForeign = account(recorded(["p1"], ["f"]));
const closed = account({ ...recorded(["p1"]), accessRevoked: true });
const late = NOW - 10 * MINUTE;

const server = { source: "Server", live: nothing } as const;
const bound = { source: "Server", live: { readable: true, policyIds: ["p1"] } } as const;
const unreadable = { source: "Server", live: { readable: false } } as const;
const behind = { source: "Behind" } as const;

/** With PolicyBindings as `bindingOf` reads them; those that are deleted wait since `since`. */
function seen(
  who: BoundAccount,
  texts: readonly string[],
  fields: Partial<BindingsSnapshot> = {},
  since?: number,
): BindingsSnapshot {
  const views = texts.map(bindingOf).map((view) => ({ ...view, blockedSince: since }));
  return snapshot(who, views, fields);
}

function unavailable(fields: Partial<UnavailableAccount> = {}): Partial<BindingsSnapshot> {
  return {
    availability: {
      kind: "Unavailable",
      state: "Reconciling",
      reason: "WaitingForServiceAccount",
      message: "It is not ready.",
      ...fields,
    },
  };
}

function withState(fields: object): Partial<BindingsSnapshot> {
  const { state } = snapshot(kept, []);
  return { state: state && { ...state, ...fields } };
}

const due = withState({ lastReadTime: NOW - DAY });
const failed = withState({ hasFailed: true });
const missing = unavailable({ endsAs: "AccountMissing" });

/** The caches lack the intent that the stored object has. */
function withIntent(): BindingsSnapshot {
  const given = seen(created, ["p1, on record: "], server);
  return { ...given, objects: new Map([["0-uid", stored(bindingOf("p1"))]]) };
}

const waiting = { kind: "Waiting", reason: "WaitingForServiceAccount" };
const inASecond = { kind: "Waiting", afterMs: 1_000 };
const sync = { kind: "SyncBindings", policyIds: ["p1"], reason: "PoliciesSynced", isDrift: false };
const correct = { ...sync, reason: "DriftCorrected", isDrift: true };
const intent = (policyIds: string[]) => ({ kind: "WriteIntent", uid: "0-uid", policyIds });
const record = {
  kind: "RecordBindings",
  bindings: { policies: inState("Declared", ["p1"]), policyCount: 1 },
};
const notShown = { policyId: "p1", state: "Declared", missing: true };
const release = (because: string) => ({ kind: "RemoveFinalizer", uid: "0-uid", because });
const attribute = { kind: "AttributeRefusal", suspects: [bindingOf("p1, on record: ")] };
const unrevoked = { kind: "RecordBindings", bindings: { policies: inState("Unrevoked", ["p1"]) } };
const shown = { SyncBindings: { effect: "Shown", spellings: new Map() } };
const corrected = withState({ corrections: [1, 2, 3, 4, 5].map((ago) => NOW - ago * MINUTE) });
const foreignAgain = { source: "Server", live: { readable: true, policyIds: ["f"] } } as const;
const revokedBefore = account({ ...recorded([]), accessRevoked: true });
const owing = account({
  ledger: { isComplete: true, policies: inState("Unrevoked", ["p1"]) },
});
const vanished = withState({ vanished: { ids: ["f"], since: NOW - 5_000 } });

test("after five corrections, the message names the cluster that the account's description names", () => {
  const messageFor = (describedCluster: string | undefined) => {
    const contended = seen({ ...kept, describedCluster }, ["p1"], { ...server, ...corrected });
    return isUsable(contended) ? evaluate(contended).decision.blocked?.message : undefined;
  };
  expect(messageFor("blue")).toContain("names cluster blue, whose operator may change them.");
  expect(messageFor(undefined)).toContain("5 corrections within an hour. The next");
});

/** The first effects, or the end: their kinds, or what they have to be like. */
type Case = [string, BindingsSnapshot, readonly (string | object)[], Record<string, unknown>?];

test.each<Case>([
  ["caches that are behind", seen(kept, ["p1"], behind), [inASecond]],
  [
    "a replaced account",
    seen(created, ["p1 new"], { live: nothing }),
    ["ReadObjects", inASecond],
    { ReadObjects: seen(created, ["p1 new"], { ...server, account: undefined }) },
  ],
  ["everything as recorded", seen(kept, ["p1"]), ["Settled"]],
  [
    "a deleted binding of an imported account whose bindings cannot be read",
    seen(account({ created: false }), ["p1 revoking"], unreadable),
    ["Settled"],
  ],
  ["a new binding", seen(kept, ["p1", "p2 new"]), ["ListBindings"]],
  ["a drift check that is due", seen(kept, ["p1"], due), ["ListBindings"]],
  ["an account that never had bindings", seen(created, [], due), ["Settled"]],
  ["an account whose bindings are gone", seen(kept, [], due), ["ListBindings"]],
  ["bindings that are in place, after a failed run", seen(kept, ["p1"], failed), ["ListBindings"]],
  ["revoked access", seen(closed, []), ["ListBindings"]],
  [
    "an answer that changes something",
    seen(created, ["p1 new"], { live: nothing }),
    ["ReadObjects"],
  ],
  ["a policy that is bound already", seen(kept, ["p1", "p1 new"]), ["ReadObjects"]],
  [
    "an object without finalizer",
    seen(created, ["p1 new"], server),
    [{ kind: "AddFinalizer", uid: "0-uid" }, intent(["p1"]), sync],
  ],
  ["an object without intent", seen(created, ["p1, on record: "], server), [intent(["p1"]), sync]],
  ["a recorded intent", withIntent(), [sync, record, "Settled"], shown],
  ["drift", seen(kept, ["p1"], server), [correct]],
  [
    "drift after five corrections",
    seen(kept, ["p1"], { ...server, ...corrected }),
    [{ kind: "RecordBindings", bindings: { policies: [notShown], policyCount: 0 } }, "Settled"],
  ],
  [
    "drift after five corrections where access is revoked",
    seen(revokedBefore, ["p1, on record: "], { ...foreignAgain, ...corrected }),
    [{ ...correct, policyIds: [], reason: "AccessRevoked" }],
  ],
  [
    "a refused list",
    withIntent(),
    [sync, intent([]), attribute, { kind: "Waiting", afterMs: 1 }],
    { SyncBindings: refusal, AttributeRefusal: undefined },
  ],
  [
    "a deleted object",
    seen(kept, ["p1 revoking"], bound),
    [{ kind: "SyncBindings", policyIds: [] }, "RecordBindings", release("Revoked"), "Settled"],
    shown,
  ],
  [
    "a retained object",
    seen(kept, ["p1 releasing"], bound),
    [
      { kind: "RecordBindings", bindings: { policies: inState("Abandoned", ["p1"]) } },
      release("Retained"),
      "Settled",
    ],
  ],
  ["a retained object in the caches", seen(kept, ["p1", "p1 releasing"]), ["ReadObjects"]],
  ["a late revocation, untried", seen(kept, ["p1 revoking"], {}, late), ["ListBindings"]],
  [
    "a late revocation that has failed",
    seen(kept, ["p1 revoking"], failed, late),
    [unrevoked, release("GaveUp"), { kind: "Waiting", afterMs: 1 }],
  ],
  [
    "a late revocation of a policy that another object declares",
    seen(kept, ["p1 revoking", "p1"], failed, late),
    [release("GaveUp"), { kind: "Waiting", afterMs: 1 }],
  ],
  ["a failure in time", seen(kept, ["p1 revoking"], failed, NOW), ["ListBindings"]],
  [
    "foreign policies that an answer lacks",
    seen(withForeign, ["p1"], { live: bound.live }),
    [{ kind: "Waiting", afterMs: 5_000 }],
  ],
  [
    "foreign policies that two answers lack",
    seen(withForeign, ["p1"], { live: bound.live, ...vanished }),
    ["RecordBindings"],
  ],
  [
    "a policy that is still to be unbound",
    seen({ ...owing, withdrawn: ["p1"] }, [], { ...bound }),
    [
      { kind: "SyncBindings", policyIds: [] },
      { kind: "RecordBindings", bindings: { policies: [], policyCount: 0 } },
      "Settled",
    ],
    shown,
  ],
  [
    "a policy that was to be unbound and is declared again",
    seen(owing, ["p1"], bound),
    [{ kind: "RecordBindings", bindings: { policies: inState("Declared", ["p1"]) } }, "Settled"],
  ],
  [
    "the same, if the console does not show it",
    seen(owing, ["p1"], unreadable),
    [{ kind: "SyncBindings", policyIds: ["p1"] }],
  ],
  [
    "no account, and nothing bound",
    seen(kept, ["p1, on record: "], { account: undefined, state: undefined, ...missing }),
    [waiting],
  ],
  ["no account in the caches, and something bound", seen(kept, ["p1"], missing), ["ReadObjects"]],
  [
    "no account on the server",
    seen(kept, ["p1 revoking"], { source: "Server", ...missing }),
    [release("AccountMissing"), waiting],
  ],
  ["an unusable account, a live object", seen(kept, ["p1, on record: "], unavailable()), [waiting]],
  [
    "an unusable account, a deleted object that has bound nothing",
    seen(kept, ["p1 revoking, on record: "], unavailable()),
    [release("NothingBound"), waiting],
  ],
  [
    "an unusable account, a late revocation",
    seen(kept, ["p1 revoking"], unavailable(), late),
    [unrevoked, release("GaveUp"), waiting],
  ],
  [
    "an unusable account, a revocation that is given up in a minute",
    seen(kept, ["p1 revoking"], unavailable(), NOW - 9 * MINUTE),
    [{ afterMs: MINUTE }],
  ],
])("a run with %s", (_, given, expected, answers) => {
  const effects = playRun(reconcileBindings(given), answers).take(expected.length).toArray();
  expect(effects).toMatchObject(
    expected.map((each) => (typeof each === "string" ? { kind: each } : each)),
  );
});

describe("the report", () => {
  const settled = { kind: "Settled" } as const;
  const failure = {
    kind: "Failed",
    error: new Error("no"),
    readiness: { state: "Reconciling", reason: "Unavailable", message: "no" },
  } as const;

  test.each([
    ["Caches", { resourceVersion: "7" }],
    ["Server", {}],
  ] as const)("of objects from %s is written with %j", (source, write) => {
    const given = seen(kept, ["p1"], { source });
    const { objects } = report(given, failure, undefined);
    expect(objects[0]).toMatchObject({ write });
    expect(objects[0]?.write).toEqual(write);
  });

  test("of a failure keeps an intent", () => {
    const given = withIntent();
    const { objects, state } = report(given, failure, undefined);
    expect(objects[0]).toMatchObject({
      status: { appliedPolicyIds: ["p1"] },
      readiness: { reason: "Unavailable" },
    });
    expect(state).toMatchObject({ hasFailed: true });
  });

  test("of a failed read does not say that there is no account", () => {
    const given = seen(kept, ["p1"], missing);
    const { objects } = report(given, failure, undefined);
    expect(objects[0]?.status).toMatchObject({ appliedPolicyIds: ["p1"] });
  });

  test("says nothing where nothing new is known, and forgets nothing", () => {
    const given = seen(kept, ["p1"], behind);
    const { state } = snapshot(kept, []);
    const [outcome] = playRun(reconcileBindings(given));
    const made = report(given, outcome as Outcome, state);
    expect(made).toEqual({ objects: [], state, requeueAfterMs: 1_000 });
  });

  test("leaves out what is released", () => {
    const given = seen(kept, ["p1", "p1 revoking"]);
    const released = { ...given, objects: new Map([...given.objects].slice(0, 1)) };
    const { objects } = report(released, settled, undefined);
    expect(objects.map(({ object }) => object.metadata.uid)).toEqual(["0-uid"]);
  });

  test("puts an object's own problem before that of the account", () => {
    const given = seen(kept, ["p1!"]);
    const { objects } = report(given, failure, undefined);
    expect(objects[0]?.readiness).toMatchObject({ state: "Stalled", reason: "PolicyNotGranted" });
  });

  const minuteAgo = toIso8601(NOW - MINUTE);
  const before = { appliedPolicyIds: ["p1"], observedGeneration: 1, lastSyncTime: minuteAgo };
  test.each<[string, object, Partial<BindingView>, string]>([
    ["everything is as reported", {}, {}, minuteAgo],
    ["other policies are bound", { appliedPolicyIds: [] }, {}, toIso8601(NOW)],
    ["the spec has changed", { observedGeneration: 0 }, {}, toIso8601(NOW)],
    ["a run was requested", {}, { requestedAt: "now" }, toIso8601(NOW)],
    ["an hour has passed", { lastSyncTime: toIso8601(NOW - HOUR) }, {}, toIso8601(NOW)],
    ["the object is suspended", { observedGeneration: 0 }, { suspended: true }, minuteAgo],
  ])("dates the sync if %s", (_, status, fields, lastSyncTime) => {
    const view = { ...bindingOf("p1"), ...fields };
    const given = snapshot(kept, [view], bound);
    const object = { ...stored(view), status: { ...before, ...status } } as PolicyBinding;
    const known = { ...given, objects: new Map([[view.uid, object]]) };
    const { objects } = report(known, settled, undefined);
    expect(objects[0]?.status).toMatchObject({ lastSyncTime });
  });

  test("forgets what it knew of an account that was made again", () => {
    const given = seen(kept, ["p1"]);
    const old = given.state && { ...given.state, accountUid: "old", isolating: true };
    const { state } = report(given, settled, old);
    expect(state).toMatchObject({ accountUid: "sa-uid", isolating: false });
  });
});
