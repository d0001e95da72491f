import { describe, expect, test } from "vitest";
import { next } from "../../../../src/controllers/policy-binding/rules/next.ts";
import { report } from "../../../../src/controllers/policy-binding/rules/report.ts";
import type {
  BindingsDone,
  BindingsSnapshot,
} from "../../../../src/controllers/policy-binding/rules/snapshot.ts";
import type { UnavailableAccount } from "../../../../src/controllers/policy-binding/rules/views.ts";
import { IamError } from "../../../../src/iam/errors.ts";
import { DAY, MINUTE } from "../../../../src/util/time.ts";
import {
  account,
  binding,
  NOW,
  recorded,
  refused,
  releasing,
  revoking,
  snapshot,
  stored,
} from "./builders.ts";

const fresh = { applied: [], hasFinalizer: false };
const nothing = { readable: true, policyIds: [] } as const;
const p1 = { readable: true, policyIds: ["p1"] } as const;
const server = { source: "Server", live: nothing } as const;
const refusal = new IamError("InvalidArgument", "no", { operation: "syncBindings", sent: true });
const kept = account(recorded(["p1"]));
const late = { ...revoking, blockedSince: NOW - 10 * MINUTE };
const held = binding("a", ["p1"], { applied: [] });
const ready = binding("a", ["p1"]);

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

/** The stored object as an intent has left it. */
function withIntent(given: BindingsSnapshot, policyIds: readonly string[]): BindingsSnapshot {
  const object = stored(binding("a", ["p1"], { applied: policyIds }));
  return { ...given, objects: new Map([["a-uid", object]]) };
}

const steps: readonly [string, BindingsSnapshot, BindingsDone, object][] = [
  [
    "caches that are behind",
    snapshot(kept, [ready], { source: "Behind" }),
    {},
    { kind: "Waiting", afterMs: 1_000 },
  ],
  [
    "a replaced account",
    snapshot(kept, [ready], server),
    { accountReplaced: true },
    { kind: "Waiting", afterMs: 1_000 },
  ],
  ["everything as recorded", snapshot(kept, [ready]), {}, { kind: "Settled" }],
  [
    "a deleted binding of an imported account whose bindings cannot be read",
    snapshot(account({ created: false }), [binding("a", ["p1"], revoking)], {
      source: "Server",
      live: { readable: false },
    }),
    { recorded: true },
    { kind: "Settled" },
  ],
  [
    "a new binding",
    snapshot(kept, [ready, binding("b", ["p2"], fresh)]),
    {},
    { kind: "ListBindings" },
  ],
  [
    "a drift check that is due",
    snapshot(kept, [ready], withState({ askedAt: NOW - DAY })),
    {},
    { kind: "ListBindings" },
  ],
  [
    "an account without bindings",
    snapshot(kept, [], withState({ askedAt: NOW - DAY })),
    {},
    { kind: "Settled" },
  ],
  [
    "revoked access",
    snapshot(account({ ...recorded(["p1"]), accessRevoked: true }), []),
    {},
    { kind: "ListBindings" },
  ],
  [
    "an answer that changes something",
    snapshot(account(), [binding("a", ["p1"], fresh)], { live: nothing }),
    {},
    { kind: "ReadLive" },
  ],
  [
    "a policy that is bound already",
    snapshot(kept, [ready, binding("b", ["p1"], fresh)]),
    {},
    { kind: "ReadLive" },
  ],
  [
    "an object without finalizer",
    snapshot(account(), [binding("a", ["p1"], fresh)], server),
    {},
    { kind: "AddFinalizers", uids: ["a-uid"] },
  ],
  [
    "an object without intent",
    snapshot(account(), [held], server),
    {},
    { kind: "WriteIntents", intents: [{ uid: "a-uid", policyIds: ["p1"] }] },
  ],
  [
    "a recorded intent",
    withIntent(snapshot(account(), [held], server), ["p1"]),
    {},
    { kind: "SyncBindings", policyIds: ["p1"], reason: "PoliciesSynced", isDrift: false },
  ],
  [
    "drift",
    snapshot(kept, [ready], server),
    {},
    { kind: "SyncBindings", policyIds: ["p1"], reason: "DriftCorrected", isDrift: true },
  ],
  [
    "a PUT that is done",
    withIntent(snapshot(account(), [held], server), ["p1"]),
    { synced: true },
    { kind: "RecordBindings", bindings: { policyIds: ["p1"], policyCount: 1 } },
  ],
  [
    "a record that is written",
    withIntent(snapshot(account(), [held], server), ["p1"]),
    { synced: true, recorded: true },
    { kind: "Settled" },
  ],
  [
    "a refused list",
    withIntent(snapshot(account(), [held], server), ["p1"]),
    { refusal },
    { kind: "WriteIntents", intents: [{ uid: "a-uid", policyIds: [] }] },
  ],
  [
    "a refused list without intents",
    snapshot(account(), [held], server),
    { refusal },
    { kind: "AttributeRefusal", suspects: [held] },
  ],
  [
    "a refusal that is attributed",
    snapshot(account(), [held], server),
    { refusal, refusalAttributed: true },
    { kind: "Waiting", afterMs: 1 },
  ],
  [
    "a deleted object whose policies are unbound",
    snapshot(kept, [binding("a", ["p1"], revoking)], { source: "Server", live: p1 }),
    { synced: true, recorded: true },
    { kind: "RemoveFinalizers", because: "Revoked" },
  ],
  [
    "a retained object",
    snapshot(kept, [binding("a", ["p1"], releasing)], { source: "Server", live: p1 }),
    { recorded: true },
    { kind: "RemoveFinalizers", because: "Retained" },
  ],
  [
    "a retained object in the caches",
    snapshot(kept, [ready, binding("b", ["p1"], releasing)]),
    {},
    { kind: "ReadLive" },
  ],
  [
    "a late revocation that was not tried",
    snapshot(kept, [binding("a", ["p1"], late)]),
    {},
    { kind: "ListBindings" },
  ],
  [
    "a late revocation that has failed",
    snapshot(kept, [binding("a", ["p1"], late)], withState({ hasFailed: true })),
    {},
    { kind: "RecordUnrevoked", policyIds: ["p1"] },
  ],
  [
    "a late revocation that has failed and is recorded",
    snapshot(kept, [binding("a", ["p1"], late)], withState({ hasFailed: true })),
    { unrevoked: ["p1"] },
    { kind: "RemoveFinalizers", because: "GaveUp" },
  ],
  [
    "a revocation that has failed and may be tried still",
    snapshot(
      kept,
      [binding("a", ["p1"], { ...revoking, blockedSince: NOW })],
      withState({ hasFailed: true }),
    ),
    {},
    { kind: "ListBindings" },
  ],
  [
    "foreign policies that an answer lacks",
    snapshot(account(recorded(["p1"], ["f"])), [ready], { live: p1 }),
    {},
    { kind: "Waiting", afterMs: 5_000 },
  ],
  [
    "foreign policies that two answers lack",
    snapshot(account(recorded(["p1"], ["f"])), [ready], {
      live: p1,
      ...withState({ vanished: { ids: ["f"], since: NOW - 5_000 } }),
    }),
    {},
    { kind: "RecordBindings" },
  ],
  [
    "no account, and nothing bound",
    snapshot(kept, [held], {
      account: undefined,
      state: undefined,
      ...unavailable({ endsAs: "AccountMissing" }),
    }),
    {},
    { kind: "Waiting", reason: "WaitingForServiceAccount" },
  ],
  [
    "no account in the caches, and something bound",
    snapshot(kept, [ready], unavailable({ endsAs: "AccountMissing" })),
    {},
    { kind: "ReadLive" },
  ],
  [
    "no account on the server",
    snapshot(kept, [binding("a", ["p1"], revoking)], {
      source: "Server",
      ...unavailable({ endsAs: "AccountMissing" }),
    }),
    {},
    { kind: "RemoveFinalizers", because: "AccountMissing" },
  ],
  [
    "an account that cannot be used, and a live object",
    snapshot(kept, [held], unavailable()),
    {},
    { kind: "Waiting", reason: "WaitingForServiceAccount" },
  ],
  [
    "an account that cannot be used, and a deleted one that has bound nothing",
    snapshot(kept, [binding("a", ["p1"], { ...revoking, applied: [] })], unavailable()),
    {},
    { kind: "RemoveFinalizers", because: "NothingBound" },
  ],
  [
    "an account that cannot be used, and a late one",
    snapshot(kept, [binding("a", ["p1"], late)], unavailable()),
    { unrevoked: ["p1"] },
    { kind: "RemoveFinalizers", because: "GaveUp" },
  ],
];

describe("the next step", () => {
  test.each(steps)("with %s", (_, given, done, expected) => {
    expect(next({ snapshot: given, done })).toMatchObject(expected);
  });

  test("a wait ends when the next revocation is given up", () => {
    const blockedSince = NOW - 9 * MINUTE;
    const given = snapshot(
      kept,
      [binding("a", ["p1"], { ...revoking, blockedSince })],
      unavailable(),
    );
    expect(next({ snapshot: given, done: {} })).toMatchObject({ afterMs: MINUTE });
  });
});

describe("the report", () => {
  const settled = { kind: "Settled" } as const;
  const failed = {
    kind: "Failed",
    error: new Error("no"),
    readiness: { state: "Reconciling", reason: "Unavailable", message: "no" },
  } as const;

  test.each([
    ["Caches", { resourceVersion: "7" }],
    ["Server", {}],
  ] as const)("of objects from %s is written with %j", (source, write) => {
    const given = snapshot(kept, [ready], { source });
    const { objects } = report({ snapshot: given, done: {} }, failed, undefined);
    expect(objects[0]).toMatchObject({ write });
    expect(objects[0]?.write).toEqual(write);
  });

  test("of a failure keeps an intent", () => {
    const given = withIntent(snapshot(account(), [held], server), ["p1"]);
    const { objects, state } = report({ snapshot: given, done: {} }, failed, undefined);
    expect(objects[0]).toMatchObject({
      status: { appliedPolicyIds: ["p1"] },
      readiness: { reason: "Unavailable" },
    });
    expect(state).toMatchObject({ hasFailed: true });
  });

  test("of a failed read does not say that there is no account", () => {
    const given = snapshot(kept, [ready], unavailable({ endsAs: "AccountMissing" }));
    const { objects } = report({ snapshot: given, done: {} }, failed, undefined);
    expect(objects[0]?.status).toMatchObject({ appliedPolicyIds: ["p1"] });
  });

  test("says nothing where nothing new is known, and forgets nothing", () => {
    const behind = snapshot(kept, [ready], { source: "Behind" });
    const { state } = snapshot(kept, []);
    const outcome = next({ snapshot: behind, done: {} });
    if (outcome.kind !== "Waiting") throw new Error("it waits");
    const made = report({ snapshot: behind, done: {} }, outcome, state);
    expect(made).toEqual({ objects: [], state, requeueAfterMs: 1_000 });
  });

  test("leaves out what is released", () => {
    const given = snapshot(kept, [ready, binding("b", ["p1"], revoking)]);
    const released = { ...given, objects: new Map([...given.objects].slice(0, 1)) };
    const { objects } = report({ snapshot: released, done: {} }, settled, undefined);
    expect(objects.map(({ object }) => object.metadata.uid)).toEqual(["a-uid"]);
  });

  test("puts an object's own problem before that of the account", () => {
    const given = snapshot(kept, [binding("a", ["p1"], refused)]);
    const { objects } = report({ snapshot: given, done: {} }, failed, undefined);
    expect(objects[0]?.readiness).toMatchObject({ state: "Stalled", reason: "PolicyNotGranted" });
  });

  test("forgets what it knew of an account that was made again", () => {
    const given = snapshot(kept, [ready]);
    const old = given.state && { ...given.state, accountUid: "old", isolating: true };
    const { state } = report({ snapshot: given, done: {} }, settled, old);
    expect(state).toMatchObject({ accountUid: "sa-uid", isolating: false });
  });
});
