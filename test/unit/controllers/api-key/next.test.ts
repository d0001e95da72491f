import { describe, expect, test } from "vitest";
import type { IssueCoordination } from "../../../../src/controllers/api-key/attempts.ts";
import { nextOfDeletion } from "../../../../src/controllers/api-key/rules/deletion.ts";
import { next } from "../../../../src/controllers/api-key/rules/next.ts";
import type {
  ApiKeyKind,
  ApiKeyProgress,
  ApiKeySnapshot,
} from "../../../../src/controllers/api-key/rules/snapshot.ts";
import { apiKeySteps } from "../../../../src/controllers/api-key/steps/steps.ts";
import type { ClockReading } from "../../../../src/controllers/frame/clock-reading.ts";
import type { KindController } from "../../../../src/controllers/frame/kind-controller.ts";
import { nextStep } from "../../../../src/controllers/frame/rules/next-step.ts";
import { DAY, HOUR } from "../../../../src/util/time.ts";
import { blockedSince } from "../blocked-cleanup.ts";
import {
  account,
  at,
  current,
  delivered,
  foreign,
  having,
  holding,
  keySpec,
  NOW,
  object,
  openAttempt,
  owner,
  pair,
  progressOf,
  read,
  snapshot,
  staged,
  superseded,
  timing,
} from "./builders.ts";

const self = { ...owner, deletingSince: undefined, rotateToken: undefined };
const held = { attemptId: "a1", pair: pair(2) };
const suspended = keySpec({ suspend: true });
const waiting = {
  kind: "Waiting",
  state: "Reconciling",
  reason: "ServiceAccountNotReady",
  message: "wait",
} as const;
const step = (world: ApiKeySnapshot | ApiKeyProgress) => next(progressOf(world), at(), timing);
const reading = { attemptId: "a1", since: 0 };
const recovery = { ...reading, firstRead: { at: 0, keyIds: ["sak_old"] } };
const secondRead = read(["sak_old", "sak_lost", "sak_peer"]);
const lost = (revision: number) => ({
  keyId: `sak_${revision}`,
  attemptId: "unknown",
  observedTime: NOW,
  expirationTime: NOW + 10 * DAY,
  late: undefined,
});
const late = { keyId: "sak_9", attemptId: "a9" };
const due = { current: current(1, { issueTime: NOW - 80 * DAY, expirationTime: NOW + 10 * DAY }) };

describe("given this world, the next step is", () => {
  test.each([
    ["a pair in memory: write it", snapshot({ held }), "StagePair"],
    [
      "a pair in memory though suspended: write it",
      snapshot({ held, spec: suspended }),
      "StagePair",
    ],
    [
      "a pair in memory, and an old staging Secret is back: delete that first",
      delivered({ held, staging: staged(pair(1)) }),
      "DeleteStaging",
    ],
    ["nothing at all: check", snapshot(), "Precheck"],
    [
      "an attempt of another ApiKey unexplained: queue",
      snapshot({ unsettledPeer: "b" }),
      "QueueForAccount",
    ],
    ["queued: wait", having({ isQueued: true }, snapshot({ unsettledPeer: "b" })), "Waiting"],
    [
      "a Secret that nobody lists: read it",
      snapshot({ target: { kind: "Unlisted" } }),
      "ReadTarget",
    ],
    [
      "checked: record the intent",
      having({ precheck: { knownKeyIds: [] } }, snapshot()),
      "RecordIntent",
    ],
    [
      "the intent of this run: issue",
      having({ intentRecorded: "a1" }, snapshot({ status: { attempt: openAttempt(1) } })),
      "IssueKey",
    ],
    [
      "an intent of another run: recover it",
      snapshot({ status: { attempt: openAttempt(1) } }),
      "StartRecovery",
    ],
    [
      "an intent of another run whose recovery has started: never issue",
      snapshot({
        recovery: { ...reading, since: at().monotonic },
        status: { attempt: openAttempt(1) },
      }),
      "Waiting",
    ],
    [
      "the recovery of another attempt: start anew",
      snapshot({
        recovery: { ...reading, attemptId: "a0" },
        status: { attempt: openAttempt(1) },
      }),
      "StartRecovery",
    ],
    [
      "a held pair that is staged: note it",
      snapshot({ held, staging: staged(pair(2)) }),
      "NoteStaged",
    ],
    [
      "the attempt's pair staged: note it",
      snapshot({ staging: staged(pair(1)), status: { attempt: openAttempt(1) } }),
      "NoteStaged",
    ],
    [
      "the attempt's pair staged and noted: try it",
      having(
        { hasNotedStaged: true },
        snapshot({ staging: staged(pair(1)), status: { attempt: openAttempt(1) } }),
      ),
      "VerifyPair",
    ],
    ["a staged pair: try it", snapshot({ staging: staged(pair(1)) }), "VerifyPair"],
    [
      "a staged pair that is proven: switch",
      having({ verdicts: new Map([["sak_1", true]]) }, snapshot({ staging: staged(pair(1)) })),
      "SwitchSecret",
    ],
    [
      "a staged pair that is refused: wait",
      having({ verdicts: new Map([["sak_1", false]]) }, snapshot({ staging: staged(pair(1)) })),
      "Waiting",
    ],
    [
      "a staged pair and a foreign target: wait",
      having(
        { verdicts: new Map([["sak_1", true]]) },
        snapshot({ staging: staged(pair(1)), target: foreign() }),
      ),
      "Waiting",
    ],
    [
      "a staged pair and no account: wait",
      having(
        { verdicts: new Map([["sak_1", true]]) },
        snapshot({ staging: staged(pair(1)), account: waiting }),
      ),
      "Waiting",
    ],
    [
      "the attempt's pair delivered: commit",
      delivered({ target: holding(pair(2)), status: { attempt: openAttempt(2) } }),
      "CommitKey",
    ],
    [
      "a key that nothing stored knows: list it",
      snapshot({ keysBeforeRestore: [lost(1)] }),
      "ListKeysBeforeRestore",
    ],
    [
      "a key that the Secret holds, though the status forgot it: rebuild, and list nothing",
      delivered({ keysBeforeRestore: [lost(1)] }),
      "Settled",
    ],
    ["a key that appeared late: list it", delivered({ lateKeys: [late] }), "ListLateKeys"],
    [
      "a late key that another run may list: wait",
      having({ defersLateKeys: true }, delivered({ lateKeys: [late] })),
      "Settled",
    ],
    [
      "a late key of the open attempt: its recovery lists it",
      snapshot({
        lateKeys: [{ keyId: "sak_9", attemptId: "a1" }],
        status: { attempt: openAttempt(1) },
      }),
      "StartRecovery",
    ],
    [
      "a late key that is in the Secret: rebuild",
      snapshot({ target: holding(pair(1)), lateKeys: [{ keyId: "sak_1", attemptId: "a9" }] }),
      "RebuildStatus",
    ],
    [
      "late keys without end: leave them to the account's report",
      delivered({
        lateKeys: [late],
        status: { orphaned: Array.from({ length: 500 }, (_, index) => lost(index + 10)) },
      }),
      "Settled",
    ],
    [
      "a pair of no status delivered: rebuild",
      snapshot({ target: holding(pair(1)) }),
      "RebuildStatus",
    ],
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
        status: { current: current(3) },
      }),
      "ListUnlistedKey",
    ],
    ["a key in use: nothing", delivered(), "Settled"],
    ["a key due for renewal: check", delivered({ status: due }), "Precheck"],
    [
      "a template that changed: render",
      delivered({ spec: keySpec({ secret: { data: { all: "${keyId}:${secret}" } } }) }),
      "RenderSecret",
    ],
    [
      "a key that was never tried: try it",
      delivered({ status: { current: current(1, { verificationTime: undefined }) } }),
      "VerifyPair",
    ],
    [
      "an open attempt whose time has not come: wait",
      snapshot({
        status: { attempt: openAttempt(1) },
        recovery: { attemptId: "a1", since: 999_999 },
      }),
      "Waiting",
    ],
    [
      "an open attempt after the time-out: read the keys",
      snapshot({
        status: { attempt: openAttempt(1) },
        recovery: { attemptId: "a1", since: 985_000 },
      }),
      "ReadUnexplainedKeys",
    ],
    [
      "an open attempt of a console with longer time-outs: wait",
      snapshot({
        status: { attempt: openAttempt(1) },
        recovery: { attemptId: "a1", since: 985_000 },
        account: { ...account, callTimeoutMs: 60_000 },
      }),
      "Waiting",
    ],
    [
      "both readings done: close the attempt",
      having({ secondRead }, snapshot({ recovery, status: { attempt: openAttempt(1) } })),
      "CloseAttempt",
    ],
    [
      "an edited staging Secret and an open attempt: the Secret goes first",
      snapshot({
        staging: { ...staged(pair(1)), pair: undefined } as never,
        status: { attempt: openAttempt(1) },
      }),
      "DeleteStaging",
    ],
    [
      "an open attempt and the old key dressed as its pair: never a new attempt",
      having(
        { precheck: { knownKeyIds: [] } },
        delivered({
          target: holding(pair(1)),
          recovery: { ...reading, since: at().monotonic },
          status: { ...due, attempt: openAttempt(1) },
        }),
      ),
      "RenderSecret",
    ],
  ])("%s", (_, world, kind) => {
    expect(step(world).kind).toBe(kind);
  });

  const retiring = { ...account, canDisableKeys: true, canDeleteKeys: true };
  test.each([
    ["within the overlap: nothing", NOW - 23 * HOUR, "Live", retiring, "Settled"],
    ["after the overlap: disable", NOW - 25 * HOUR, "Live", retiring, "DisableKey"],
    ["disabled: delete", NOW - 25 * HOUR, "Disabled", retiring, "DeleteKey"],
    ["without the calls: nothing", NOW - 25 * HOUR, "Live", account, "Settled"],
    ["deleted: nothing", NOW - 25 * HOUR, "Deleted", retiring, "Settled"],
  ] as const)("a superseded key %s", (_, supersededTime, state, with_, kind) => {
    const world = delivered({
      account: with_,
      target: holding(pair(2)),
      status: { current: current(2), superseded: [superseded(1, { supersededTime, state })] },
    });
    const isEnded = kind !== "Settled";
    expect(step(world).kind).toBe(isEnded ? "VerifyPair" : kind);
    expect(step(having({ verdicts: new Map([["sak_2", true]]) }, world)).kind).toBe(kind);
    const unverified = { ...world.status, current: current(2, { verificationTime: undefined }) };
    expect(step({ ...world, status: unverified }).kind).toBe("VerifyPair");
  });

  test("keys of peers, keys known before and keys listed already are no orphans", () => {
    const world = snapshot({
      recovery,
      status: { attempt: openAttempt(1), superseded: [superseded(1)] },
    });
    const withOwn = having(
      { secondRead: read(["sak_1", "sak_lost", "sak_peer"], { known: ["sak_peer"] }) },
      world,
    );
    expect(step(withOwn)).toMatchObject({
      kind: "CloseAttempt",
      refund: false,
      orphans: [{ keyId: "sak_lost", attemptId: "a1" }],
    });
    expect(step(having({ secondRead: read(["sak_old"]) }, world))).toMatchObject({
      kind: "CloseAttempt",
      refund: true,
      orphans: [],
    });
  });

  test("as long as a key of another ApiKey may be among the listed ones, nothing is concluded", () => {
    const world = snapshot({ recovery, status: { attempt: openAttempt(1) } });
    const early = read(["sak_lost"], { isConclusive: false });
    expect(step(having({ secondRead: early }, world))).toMatchObject({
      kind: "Waiting",
      reason: "Recovering",
    });
  });

  test("an attempt whose key another ApiKey lists counts against the budget all the same", () => {
    const world = snapshot({ recovery, status: { attempt: openAttempt(1) } });
    const listed = read(["sak_lost"], { known: ["sak_lost"], surplus: 1 });
    expect(step(having({ secondRead: listed }, world))).toMatchObject({
      kind: "CloseAttempt",
      refund: false,
      orphans: [],
    });
  });

  test("a console that lists no keys costs one orphan of unknown id", () => {
    const attempt = { ...openAttempt(1), knownKeyIds: undefined };
    const world = snapshot({ recovery, status: { attempt } });
    expect(step(having({ secondRead: read(undefined) }, world))).toMatchObject({
      kind: "CloseAttempt",
      refund: false,
      orphans: [{ keyId: undefined }],
    });
  });

  describe("a list of keys that lacks one in use", () => {
    const world = delivered({
      recovery: { ...reading, firstRead: { at: 0, keyIds: [] } },
      status: { attempt: openAttempt(2) },
    });
    const first = snapshot({
      ...world,
      target: { kind: "Absent" },
      status: { attempt: openAttempt(1) },
    });
    const cases: readonly (readonly [
      string,
      ApiKeySnapshot | ApiKeyProgress,
      "lost" | "nothing",
    ])[] = [
      ["of this ApiKey", world, "lost"],
      [
        "of another ApiKey",
        having({ secondRead: read([], { inUse: ["sak_peer"] }) }, first),
        "lost",
      ],
      ["and nobody holds any other", first, "nothing"],
      [
        "that was never accepted",
        {
          ...world,
          status: { ...world.status, current: current(1, { verificationTime: undefined }) },
        },
        "nothing",
      ],
      [
        "that has expired",
        { ...world, status: { ...world.status, current: current(1, { expirationTime: NOW }) } },
        "nothing",
      ],
      [
        "that the console refuses",
        { ...world, rejection: { keyId: "sak_1", since: at().monotonic } },
        "nothing",
      ],
      ["at one of two looks", having({ secondRead: read(["sak_1"]) }, world), "nothing"],
    ];
    const none = { secondRead: read([]) };
    test.each(cases)("%s", (_, situation, outcome) => {
      const one = { keyId: undefined, attemptId: "a1" };
      const read = "snapshot" in situation ? situation : having(none, situation);
      expect(step(read)).toMatchObject({
        kind: "CloseAttempt",
        refund: outcome === "nothing",
        orphans: outcome === "nothing" ? [] : [one],
      });
    });

    test("still shows a key that nobody knows, and no other is assumed then", () => {
      const shown = having({ secondRead: read(["sak_lost"]) }, world);
      expect(step(shown)).toMatchObject({
        refund: false,
        orphans: [{ keyId: "sak_lost" }],
      });
    });
  });

  test("a clock that was set back delays a try by no more than its interval", () => {
    const world = delivered({
      status: { current: current(1, { verificationTime: undefined }) },
      lastCheckTime: NOW + DAY,
    });
    expect(step(world)).toMatchObject({
      kind: "Waiting",
      afterMs: timing.verifyRetryMs,
    });
  });
});

describe("of a suspended ApiKey", () => {
  const kind = {
    next: (progress: ApiKeyProgress, reading: ClockReading) => next(progress, reading, timing),
    nextOfDeletion: (progress: ApiKeyProgress, reading: ClockReading) =>
      nextOfDeletion(progress, reading, timing),
    steps: apiKeySteps({} as IssueCoordination),
  } as unknown as KindController<ApiKeyKind>;
  const deleting = {
    ...object(),
    metadata: { ...object().metadata, deletionTimestamp: "2026-01-10T00:00:00Z" },
  };
  test.each([
    ["nothing is issued", snapshot(), "Suspended"],
    ["nothing is renewed", delivered({ status: due }), "Suspended"],
    ["a pair in memory is written", snapshot({ held }), "StagePair"],
    [
      "a staged pair is noted, and not delivered",
      snapshot({ held, staging: staged(pair(2)) }),
      "NoteStaged",
    ],
    [
      "a staged pair is not tried",
      having({ hasNotedStaged: true }, snapshot({ staging: staged(pair(2)) })),
      "Suspended",
    ],
    [
      "an open attempt is given time",
      snapshot({ status: { attempt: openAttempt(1) } }),
      "StartRecovery",
    ],
    ["the deletion waits", delivered({ object: deleting, held }), "Waiting"],
  ])("%s", (_, world, expected) => {
    expect(nextStep(kind, progressOf(world), suspended, at()).kind).toBe(expected);
  });
});

describe("a deleted ApiKey", () => {
  const gone = { ...self, deletingSince: NOW - DAY };
  const tooLong = blockedSince(snapshot({}).object, NOW - timing.deletionPatienceMs);
  const state = { current: current(1) };
  const ends = { ...account, canDisableKeys: true };
  test.each([
    ["with a pair on its way: list it", delivered({ self: gone, held }), "ListUnlistedKey"],
    [
      "with a staged pair: list it",
      delivered({ self: gone, staging: staged(pair(2)) }),
      "ListUnlistedKey",
    ],
    ["with a call for it: disable", delivered({ self: gone, account: ends }), "DisableKey"],
    [
      "whose Secret is retained: keep the key",
      delivered({
        self: gone,
        account: ends,
        spec: keySpec({ secret: { deletionPolicy: "Retain" } }),
      }),
      "Released",
    ],
    ["with its Secret: delete it", delivered({ self: gone }), "DeleteTarget"],
    [
      "with a foreign Secret: leave it",
      snapshot({ self: gone, target: foreign(), status: state }),
      "Released",
    ],
    [
      "with an open attempt: recover it",
      snapshot({ self: gone, status: { attempt: openAttempt(1) } }),
      "StartRecovery",
    ],
    [
      "with an attempt in recovery: wait for the console",
      snapshot({
        self: gone,
        recovery: { ...reading, since: at().monotonic },
        status: { attempt: openAttempt(1) },
      }),
      "Waiting",
    ],
    [
      "with a staged pair of an open attempt: note it",
      snapshot({ self: gone, staging: staged(pair(1)), status: { attempt: openAttempt(1) } }),
      "NoteStaged",
    ],
    [
      "with an open attempt for too long: put it down as lost",
      snapshot({
        self: gone,
        object: tooLong,
        status: { attempt: openAttempt(1) },
      }),
      "CloseAttempt",
    ],
    [
      "whose key cannot be ended for too long: go on",
      delivered({
        self: gone,
        object: tooLong,
        account: ends,
      }),
      "DeleteTarget",
    ],
  ])("%s", (_, world, kind) => {
    expect(nextOfDeletion(progressOf(world), at(), timing).kind).toBe(kind);
  });
});
