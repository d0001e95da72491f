import { describe, expect, test } from "vitest";
import type { PolicyBinding } from "../../../../src/api/policy-binding.ts";
import { IamError } from "../../../../src/console/errors.ts";
import { choose, isUsable } from "../../../../src/kinds/policy-binding/rules/choose.ts";
import { next } from "../../../../src/kinds/policy-binding/rules/next.ts";
import { report } from "../../../../src/kinds/policy-binding/rules/report.ts";
import type {
  BindingsDone,
  BindingsSnapshot,
} from "../../../../src/kinds/policy-binding/rules/snapshot.ts";
import type {
  BindingView,
  BoundAccount,
  UnavailableAccount,
} from "../../../../src/kinds/policy-binding/rules/views.ts";
import { DAY, HOUR, MINUTE, toIso8601 } from "../../../../src/util/time.ts";
import { account, bindingOf, NOW, recorded, snapshot, stored } from "./builders.ts";

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

const due = withState({ askedAt: NOW - DAY });
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
const intent = (policyIds: string[]) => ({
  kind: "WriteIntents",
  intents: [{ uid: "0-uid", policyIds }],
});
const record = { kind: "RecordBindings", bindings: { policyIds: ["p1"], policyCount: 1 } };
const release = (because: string) => ({ kind: "RemoveFinalizers", because });
const attribute = { kind: "AttributeRefusal", suspects: [bindingOf("p1, on record: ")] };
const done = { synced: "Shown", recorded: true } as const;
const gaveUp = { unrevoked: ["p1"] };
const corrected = withState({ corrections: [1, 2, 3, 4, 5].map((ago) => NOW - ago * MINUTE) });
const foreignAgain = { source: "Server", live: { readable: true, policyIds: ["f"] } } as const;
const revokedBefore = account({ ...recorded([]), accessRevoked: true });
const vanished = withState({ vanished: { ids: ["f"], since: NOW - 5_000 } });

test("after five corrections, the message names the cluster that the account's description names", () => {
  const messageFor = (describedCluster: string | undefined) => {
    const contended = seen({ ...kept, describedCluster }, ["p1"], { ...server, ...corrected });
    return isUsable(contended) ? choose(contended).decision.blocked?.message : undefined;
  };
  expect(messageFor("blue")).toContain("names cluster blue, whose operator may change them.");
  expect(messageFor(undefined)).toContain("5 corrections within an hour. The next");
});

/** The kind of step, or what it has to be like. */
type Case = [string, BindingsSnapshot, string | object, BindingsDone?];

test.each<Case>([
  ["caches that are behind", seen(kept, ["p1"], behind), inASecond],
  ["a replaced account", seen(kept, ["p1"], server), inASecond, { accountReplaced: true }],
  ["everything as recorded", seen(kept, ["p1"]), "Settled"],
  [
    "a deleted binding of an imported account whose bindings cannot be read",
    seen(account({ created: false }), ["p1 revoking"], unreadable),
    "Settled",
    { recorded: true },
  ],
  ["a new binding", seen(kept, ["p1", "p2 new"]), "ListBindings"],
  ["a drift check that is due", seen(kept, ["p1"], due), "ListBindings"],
  ["an account without bindings", seen(kept, [], due), "Settled"],
  ["bindings that are in place, after a failed run", seen(kept, ["p1"], failed), "ListBindings"],
  ["revoked access", seen(closed, []), "ListBindings"],
  ["an answer that changes something", seen(created, ["p1 new"], { live: nothing }), "ReadLive"],
  ["a policy that is bound already", seen(kept, ["p1", "p1 new"]), "ReadLive"],
  [
    "an object without finalizer",
    seen(created, ["p1 new"], server),
    { kind: "AddFinalizers", uids: ["0-uid"] },
  ],
  ["an object without intent", seen(created, ["p1, on record: "], server), intent(["p1"])],
  ["a recorded intent", withIntent(), sync],
  ["drift", seen(kept, ["p1"], server), correct],
  ["drift after five corrections", seen(kept, ["p1"], { ...server, ...corrected }), "Settled"],
  [
    "drift after five corrections where access is revoked",
    seen(revokedBefore, ["p1, on record: "], { ...foreignAgain, ...corrected }),
    { ...correct, policyIds: [], reason: "AccessRevoked" },
  ],
  ["a PUT that is done", withIntent(), record, { synced: "Shown" }],
  ["a record that is written", withIntent(), "Settled", done],
  ["a refused list", withIntent(), intent([]), { refusal }],
  [
    "a refused list without intents",
    seen(created, ["p1, on record: "], server),
    attribute,
    { refusal },
  ],
  [
    "a refusal that is attributed",
    seen(created, ["p1, on record: "], server),
    { kind: "Waiting", afterMs: 1 },
    { refusal, refusalAttributed: true },
  ],
  ["a deleted, unbound object", seen(kept, ["p1 revoking"], bound), release("Revoked"), done],
  [
    "a retained object",
    seen(kept, ["p1 releasing"], bound),
    release("Retained"),
    { recorded: true },
  ],
  ["a retained object in the caches", seen(kept, ["p1", "p1 releasing"]), "ReadLive"],
  ["a late revocation, untried", seen(kept, ["p1 revoking"], {}, late), "ListBindings"],
  [
    "a late revocation that has failed",
    seen(kept, ["p1 revoking"], failed, late),
    { kind: "RecordUnrevoked", policyIds: ["p1"] },
  ],
  ["a recorded late failure", seen(kept, ["p1 revoking"], failed, late), release("GaveUp"), gaveUp],
  ["a failure in time", seen(kept, ["p1 revoking"], failed, NOW), "ListBindings"],
  [
    "foreign policies that an answer lacks",
    seen(withForeign, ["p1"], { live: bound.live }),
    { kind: "Waiting", afterMs: 5_000 },
  ],
  [
    "foreign policies that two answers lack",
    seen(withForeign, ["p1"], { live: bound.live, ...vanished }),
    "RecordBindings",
  ],
  [
    "no account, and nothing bound",
    seen(kept, ["p1, on record: "], { account: undefined, state: undefined, ...missing }),
    waiting,
  ],
  ["no account in the caches, and something bound", seen(kept, ["p1"], missing), "ReadLive"],
  [
    "no account on the server",
    seen(kept, ["p1 revoking"], { source: "Server", ...missing }),
    release("AccountMissing"),
  ],
  ["an unusable account, a live object", seen(kept, ["p1, on record: "], unavailable()), waiting],
  [
    "an unusable account, a deleted object that has bound nothing",
    seen(kept, ["p1 revoking, on record: "], unavailable()),
    release("NothingBound"),
  ],
  [
    "an unusable account, a late revocation",
    seen(kept, ["p1 revoking"], unavailable(), late),
    release("GaveUp"),
    gaveUp,
  ],
  [
    "an unusable account, a revocation that is given up in a minute",
    seen(kept, ["p1 revoking"], unavailable(), NOW - 9 * MINUTE),
    { afterMs: MINUTE },
  ],
])("the next step with %s", (_, given, expected, before = {}) => {
  const step = typeof expected === "string" ? { kind: expected } : expected;
  expect(next({ snapshot: given, done: before })).toMatchObject(step);
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
    const { objects } = report({ snapshot: given, done: {} }, failure, undefined);
    expect(objects[0]).toMatchObject({ write });
    expect(objects[0]?.write).toEqual(write);
  });

  test("of a failure keeps an intent", () => {
    const given = withIntent();
    const { objects, state } = report({ snapshot: given, done: {} }, failure, undefined);
    expect(objects[0]).toMatchObject({
      status: { appliedPolicyIds: ["p1"] },
      readiness: { reason: "Unavailable" },
    });
    expect(state).toMatchObject({ hasFailed: true });
  });

  test("of a failed read does not say that there is no account", () => {
    const given = seen(kept, ["p1"], missing);
    const { objects } = report({ snapshot: given, done: {} }, failure, undefined);
    expect(objects[0]?.status).toMatchObject({ appliedPolicyIds: ["p1"] });
  });

  test("says nothing where nothing new is known, and forgets nothing", () => {
    const given = seen(kept, ["p1"], behind);
    const { state } = snapshot(kept, []);
    const outcome = next({ snapshot: given, done: {} });
    if (outcome.kind !== "Waiting") throw new Error("it waits");
    const made = report({ snapshot: given, done: {} }, outcome, state);
    expect(made).toEqual({ objects: [], state, requeueAfterMs: 1_000 });
  });

  test("leaves out what is released", () => {
    const given = seen(kept, ["p1", "p1 revoking"]);
    const released = { ...given, objects: new Map([...given.objects].slice(0, 1)) };
    const { objects } = report({ snapshot: released, done: {} }, settled, undefined);
    expect(objects.map(({ object }) => object.metadata.uid)).toEqual(["0-uid"]);
  });

  test("puts an object's own problem before that of the account", () => {
    const given = seen(kept, ["p1!"]);
    const { objects } = report({ snapshot: given, done: {} }, failure, undefined);
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
    const { objects } = report({ snapshot: known, done: {} }, settled, undefined);
    expect(objects[0]?.status).toMatchObject({ lastSyncTime });
  });

  test("forgets what it knew of an account that was made again", () => {
    const given = seen(kept, ["p1"]);
    const old = given.state && { ...given.state, accountUid: "old", isolating: true };
    const { state } = report({ snapshot: given, done: {} }, settled, old);
    expect(state).toMatchObject({ accountUid: "sa-uid", isolating: false });
  });
});
