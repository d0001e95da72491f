import { describe, expect, test } from "vitest";
import type { Observed } from "../../../src/controllers/api-key/observed.ts";
import { plan } from "../../../src/controllers/api-key/plan.ts";
import { planDeletion } from "../../../src/controllers/api-key/plan-deletion.ts";
import { DAY, HOUR } from "../../../src/util/time.ts";
import {
  account,
  at,
  current,
  delivered,
  foreign,
  holding,
  keySpec,
  NOW,
  openAttempt,
  owner,
  pair,
  seen,
  staged,
  superseded,
  timing,
} from "./builders.ts";

const self = { ...owner, deletingSince: undefined, hasFinalizer: true, rotateToken: undefined };
const held = { attemptId: "a1", pair: pair(2) };
const suspended = keySpec({ suspend: true });
const waiting = { kind: "Waiting", reason: "ServiceAccountNotReady", message: "wait" } as const;
const reading = { attemptId: "a1", since: 0 };
const secondRead = {
  recovery: { ...reading, firstRead: { at: 0, keyIds: ["sak_old"] } },
  secondRead: { keyIds: ["sak_old", "sak_lost", "sak_peer"] },
};
const lost = (revision: number) => ({
  keyId: `sak_${revision}`,
  attemptId: "unknown",
  observedTime: NOW,
  expirationTime: NOW + 10 * DAY,
});
const due = { current: current(1, { issueTime: NOW - 80 * DAY, expirationTime: NOW + 10 * DAY }) };

describe("given this world, the next step is", () => {
  test.each([
    ["a pair in memory: write it", seen({ held }), "StagePair"],
    ["a pair in memory though suspended: write it", seen({ held, spec: suspended }), "StagePair"],
    ["suspended: nothing", seen({ spec: suspended }), "Rest"],
    ["no finalizer: add it", seen({ self: { ...self, hasFinalizer: false } }), "AddFinalizer"],
    ["nothing at all: take the turn", seen(), "TakeTurn"],
    ["the turn taken: check", seen({ hasTurn: true }), "Precheck"],
    [
      "checked: write the intent down",
      seen({ hasTurn: true, precheck: { knownKeyIds: [] } }),
      "RecordAttempt",
    ],
    [
      "the intent of this pass: issue",
      seen({ armed: "a1", state: { attempt: openAttempt(1) } }),
      "IssueKey",
    ],
    [
      "an intent of another pass: never issue",
      seen({ state: { attempt: openAttempt(1) } }),
      "Rest",
    ],
    ["a staged pair: try it", seen({ staging: staged(pair(1)) }), "VerifyPair"],
    [
      "a staged pair that is proven: switch",
      seen({ staging: staged(pair(1)), provenKeyId: "sak_1" }),
      "SwitchSecret",
    ],
    [
      "a staged pair that is refused: wait",
      seen({ staging: staged(pair(1)), unprovenKeyId: "sak_1" }),
      "Rest",
    ],
    [
      "a staged pair and a foreign target: wait",
      seen({ staging: staged(pair(1)), provenKeyId: "sak_1", target: foreign() }),
      "Rest",
    ],
    [
      "a staged pair and no account: wait",
      seen({ staging: staged(pair(1)), provenKeyId: "sak_1", account: waiting }),
      "Rest",
    ],
    [
      "the attempt's pair delivered: commit",
      delivered({ target: holding(pair(2)), state: { attempt: openAttempt(2) } }),
      "CommitKey",
    ],
    ["a key that nothing stored knows: list it", seen({ forgotten: [lost(1)] }), "ListForgotten"],
    [
      "a key that the Secret holds, though the status forgot it: rebuild, and list nothing",
      delivered({ forgotten: [lost(1)] }),
      "Rest",
    ],
    ["a pair of no status delivered: rebuild", seen({ target: holding(pair(1)) }), "RebuildStatus"],
    [
      "a staged pair that is in use: tidy up",
      delivered({ staging: staged(pair(1)) }),
      "DeleteStaging",
    ],
    [
      "an older staged pair that nobody knows: list it",
      delivered({
        target: holding(pair(3)),
        staging: staged(pair(2)),
        state: { current: current(3) },
      }),
      "ListStray",
    ],
    ["a key in use: nothing", delivered(), "Rest"],
    ["a key due for renewal: take the turn", delivered({ state: due }), "TakeTurn"],
    [
      "a key due for renewal and suspended: nothing",
      delivered({ state: due, spec: suspended }),
      "Rest",
    ],
    [
      "a template that changed: render",
      delivered({ spec: keySpec({ secret: { data: { all: "${keyId}:${secret}" } } }) }),
      "RenderSecret",
    ],
    [
      "a key that was never tried: try it",
      delivered({ state: { current: current(1, { verificationTime: undefined }) } }),
      "VerifyPair",
    ],
    [
      "an open attempt whose time has not come: wait",
      seen({ state: { attempt: openAttempt(1) }, recovery: { attemptId: "a1", since: 999_999 } }),
      "Rest",
    ],
    [
      "an open attempt after the time-out: read the keys",
      seen({ state: { attempt: openAttempt(1) }, recovery: { attemptId: "a1", since: 985_000 } }),
      "ReadLeftovers",
    ],
    [
      "an open attempt of a console with longer time-outs: wait",
      seen({
        state: { attempt: openAttempt(1) },
        recovery: { attemptId: "a1", since: 985_000 },
        account: { ...account, callTimeoutMs: 60_000 },
      }),
      "Rest",
    ],
    [
      "both readings done: close the attempt",
      seen({ ...secondRead, state: { attempt: openAttempt(1) } }),
      "CloseAttempt",
    ],
    [
      "an edited staging Secret and an open attempt: the Secret goes first",
      seen({
        staging: { ...staged(pair(1)), pair: undefined } as never,
        state: { attempt: openAttempt(1) },
      }),
      "DeleteStaging",
    ],
    [
      "an open attempt and the old key dressed as its pair: never a new attempt",
      delivered({
        target: holding(pair(1)),
        state: { ...due, attempt: openAttempt(1) },
        hasTurn: true,
        precheck: { knownKeyIds: [] },
      }),
      "RenderSecret",
    ],
  ])("%s", (_, world, kind) => {
    expect(plan(world, at(), timing).kind).toBe(kind);
  });

  const retiring = { ...account, canDisableKeys: true, canDeleteKeys: true };
  test.each([
    ["within the overlap: nothing", NOW - 23 * HOUR, "Live", retiring, "Rest"],
    ["after the overlap: disable", NOW - 25 * HOUR, "Live", retiring, "DisableKey"],
    ["disabled: delete", NOW - 25 * HOUR, "Disabled", retiring, "DeleteKey"],
    ["without the calls: nothing", NOW - 25 * HOUR, "Live", account, "Rest"],
    ["deleted: nothing", NOW - 25 * HOUR, "Deleted", retiring, "Rest"],
  ] as const)("a superseded key %s", (_, supersededTime, state, with_, kind) => {
    const world = delivered({
      account: with_,
      target: holding(pair(2)),
      state: { current: current(2), superseded: [superseded(1, { supersededTime, state })] },
    });
    expect(plan(world, at(), timing).kind).toBe(kind);
    const unverified = { ...world.state, current: current(2, { verificationTime: undefined }) };
    expect(plan({ ...world, state: unverified }, at(), timing).kind).toBe("VerifyPair");
  });

  test("keys of peers, keys known before and keys listed already are no orphans", () => {
    const world = seen({
      ...secondRead,
      peerKeyIds: new Set(["sak_peer"]),
      state: { attempt: openAttempt(1), superseded: [superseded(1)] },
    });
    const withOwn = { ...world, secondRead: { keyIds: ["sak_1", "sak_lost", "sak_peer"] } };
    expect(plan(withOwn, at(), timing)).toMatchObject({
      kind: "CloseAttempt",
      refund: false,
      orphans: [{ keyId: "sak_lost", attemptId: "a1" }],
    });
    expect(plan({ ...world, secondRead: { keyIds: ["sak_old"] } }, at(), timing)).toMatchObject({
      kind: "CloseAttempt",
      refund: true,
      orphans: [],
    });
  });

  test("a console that lists no keys costs one orphan of unknown id", () => {
    const world = seen({ ...secondRead, secondRead: { keyIds: undefined } });
    const attempt = { ...openAttempt(1), knownKeyIds: undefined };
    expect(plan({ ...world, state: { ...world.state, attempt } }, at(), timing)).toMatchObject({
      kind: "CloseAttempt",
      refund: false,
      orphans: [{ keyId: undefined }],
    });
  });

  describe("a list of keys that lacks one in use", () => {
    const world = delivered({
      recovery: { ...reading, firstRead: { at: 0, keyIds: [] } },
      secondRead: { keyIds: [] },
      state: { attempt: openAttempt(2) },
    });
    const first = seen({
      ...world,
      target: { kind: "Absent" },
      state: { attempt: openAttempt(1) },
    });
    const cases: readonly (readonly [string, Observed, "lost" | "nothing"])[] = [
      ["of this ApiKey", world, "lost"],
      ["of another ApiKey", { ...first, peerKeysInUse: ["sak_peer"] }, "lost"],
      ["and nobody holds any other", first, "nothing"],
      [
        "that was never accepted",
        {
          ...world,
          state: { ...world.state, current: current(1, { verificationTime: undefined }) },
        },
        "nothing",
      ],
      [
        "that has expired",
        { ...world, state: { ...world.state, current: current(1, { expirationTime: NOW }) } },
        "nothing",
      ],
      [
        "that the console refuses",
        { ...world, rejection: { keyId: "sak_1", since: at().monotonic } },
        "nothing",
      ],
      ["at one of two looks", { ...world, secondRead: { keyIds: ["sak_1"] } }, "nothing"],
    ];
    test.each(cases)("%s", (_, situation, outcome) => {
      const one = { keyId: undefined, attemptId: "a1" };
      expect(plan(situation, at(), timing)).toMatchObject({
        kind: "CloseAttempt",
        refund: outcome === "nothing",
        orphans: outcome === "nothing" ? [] : [one],
      });
    });

    test("still shows a key that nobody knows, and no other is assumed then", () => {
      const shown = { ...world, secondRead: { keyIds: ["sak_lost"] } };
      expect(plan(shown, at(), timing)).toMatchObject({
        refund: false,
        orphans: [{ keyId: "sak_lost" }],
      });
    });
  });

  test("a clock that was set back delays a try by no more than its interval", () => {
    const world = delivered({
      state: { current: current(1, { verificationTime: undefined }) },
      triedAt: NOW + DAY,
    });
    expect(plan(world, at(), timing)).toMatchObject({
      kind: "Rest",
      afterMs: timing.verifyRetryMs,
    });
  });
});

describe("a deleted ApiKey", () => {
  const gone = { ...self, deletingSince: NOW };
  const state = { current: current(1) };
  const ends = { ...account, canDisableKeys: true };
  test.each([
    ["without finalizer: nothing", delivered({ self: { ...gone, hasFinalizer: false } }), "Rest"],
    ["suspended: held", delivered({ self: gone, spec: suspended }), "Rest"],
    ["with a pair on its way: list it", delivered({ self: gone, held }), "ListStray"],
    [
      "with a staged pair: list it",
      delivered({ self: gone, staging: staged(pair(2)) }),
      "ListStray",
    ],
    ["with a call for it: disable", delivered({ self: gone, account: ends }), "DisableKey"],
    [
      "whose Secret is retained: keep the key",
      delivered({
        self: gone,
        account: ends,
        spec: keySpec({ secret: { deletionPolicy: "Retain" } }),
      }),
      "LetGo",
    ],
    ["with its Secret: delete it", delivered({ self: gone }), "DeleteTarget"],
    ["with a foreign Secret: leave it", seen({ self: gone, target: foreign(), state }), "LetGo"],
    [
      "with an open attempt: wait for the console",
      seen({ self: gone, state: { attempt: openAttempt(1) } }),
      "Rest",
    ],
    [
      "with an open attempt for too long: put it down as lost",
      seen({
        self: { ...gone, deletingSince: NOW - timing.deletionPatienceMs },
        state: { attempt: openAttempt(1) },
      }),
      "CloseAttempt",
    ],
    [
      "whose key cannot be ended for too long: go on",
      delivered({
        self: { ...gone, deletingSince: NOW - timing.deletionPatienceMs },
        account: ends,
      }),
      "DeleteTarget",
    ],
  ])("%s", (_, world, kind) => {
    expect(planDeletion(world, at(), timing).kind).toBe(kind);
  });
});
