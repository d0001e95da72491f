import { describe, expect, test } from "vitest";
import { IamError } from "../../../../src/console/errors.ts";
import { deleteApiKey } from "../../../../src/kinds/api-key/deletion.ts";
import { apiKeyEffects } from "../../../../src/kinds/api-key/effects/effects.ts";
import { verifyPair } from "../../../../src/kinds/api-key/effects/verify.ts";
import type {
  ApiKeyKind,
  ApiKeySnapshot,
  Rehearsal,
} from "../../../../src/kinds/api-key/rules/snapshot.ts";
import { reconcileApiKey } from "../../../../src/kinds/api-key/run.ts";
import type { IssuedPair } from "../../../../src/kinds/api-key/secret/pair.ts";
import type { KindDefinition } from "../../../../src/reconciler/kind-definition.ts";
import { PartialFailure } from "../../../../src/reconciler/rules/partial-failure.ts";
import { reconciling } from "../../../../src/reconciler/rules/waiting.ts";
import { effectsOf } from "../../../../src/reconciler/run-effects.ts";
import { DAY, HOUR } from "../../../../src/util/time.ts";
import { blockedSince } from "../blocked-cleanup.ts";
import { playRun } from "../play-run.ts";
import {
  account,
  answerOf,
  at,
  checked,
  current,
  delivered,
  firstOf,
  foreign,
  having,
  holding,
  keySpec,
  NOW,
  object,
  ofBot,
  openAttempt,
  owner,
  pair,
  play,
  playDeletion,
  prechecked,
  reportedStatus,
  rowsOf,
  same,
  snapshot,
  staged,
  superseded,
  timing,
  type World,
} from "./builders.ts";

type Changes = Parameters<typeof snapshot>[0];

const { monotonic: justNow } = at();
const refusedWrite = { reason: "SecretRejected", message: "It is so." };
const rehearsedAgo = (ms: number, changes: Partial<Rehearsal> = {}) => ({
  rehearsal: { from: justNow - ms, generation: 1, stop: undefined, ...changes },
});
const held = { attemptId: "a1", pair: pair(2) };
const suspended = keySpec({ suspend: true });
const otherTemplate = keySpec({ secret: { data: { all: "${keyId}:${secret}" } } });
const one = staged(pair(1));
const two = staged(pair(2));
const again = { ...pair(2), keyId: "sak_1" };
const edited = { ...one, pair: undefined } as never;
const noted = { NoteStaged: same };
const judged = (number: number, evidence: "Accepted" | "Rejected" = "Accepted") => ({
  verdicts: checked(`sak_${number}`, evidence),
});
const waiting = {
  kind: "Waiting",
  state: "Reconciling",
  reason: "ServiceAccountNotReady",
  message: "wait",
} as const;
/** With an attempt to issue key 1 that may have succeeded. */
const trying = (changes: Changes = {}) =>
  snapshot({ ...changes, status: { attempt: openAttempt(1), ...changes.status } });
const since = (monotonic: number) => ({ recovery: { attemptId: "a1", since: monotonic } });
const recovery = { attemptId: "a1", since: 0 };
const lost = (revision: number) => ({
  keyId: `sak_${revision}`,
  attemptId: "unknown",
  observedTime: NOW,
  expirationTime: NOW + 10 * DAY,
  late: undefined,
  ...ofBot,
});
const manyLost = Array.from({ length: 500 }, (_, index) => lost(index + 10));
const late = { keyId: "sak_9", attemptId: "a9" };
const intended = (before: ApiKeySnapshot): ApiKeySnapshot => ({
  ...before,
  status: { ...before.status, attempt: openAttempt(1) },
});
const due = { current: current(1, { issueTime: NOW - 80 * DAY, expirationTime: NOW + 10 * DAY }) };
const unverified = (revision: number) => ({
  current: current(revision, { verificationTime: undefined }),
});

const forecast = { type: "IssuanceAllowed", status: "False", message: "It is so." } as const;
const conditions = [{ ...forecast, reason: "SecretRejected", lastTransitionTime: "" }];
const refusing = object({ conditions });

/** The Secret is as the operator wrote it in an overlap. */
const overlapping = keySpec({
  secret: { data: { new: "${keyId}:${secret}", old: "${previousKeyId}:${previousSecret}" } },
});
const settled = delivered({
  spec: overlapping,
  secretsAreWatched: true,
  target: holding(pair(1), overlapping, pair(0)),
  status: { superseded: [superseded(0)] },
});
const { content } = reportedStatus(settled, { kind: "Settled" }, at());
const unread = (changes: Partial<ApiKeySnapshot> = {}): ApiKeySnapshot => ({
  ...settled,
  object: object({ content }),
  target: { kind: "Unread", keyId: "sak_1", previousKeyId: "sak_0" },
  ...changes,
});

test.each(
  rowsOf<World>({
    StagePair: {
      "a pair in memory": snapshot({ held }),
      "a pair in memory though suspended": snapshot({ held, spec: suspended }),
    },
    DeletePending: {
      "a pair in memory, and an old pending Secret is back": delivered({ held, pending: one }),
      "a staged pair that is in use": delivered({ pending: one }),
      "an edited pending Secret and an open attempt": trying({ pending: edited }),
    },
    Precheck: {
      "nothing at all": snapshot(),
      "a key due for renewal": delivered({ status: due }),
    },
    Rehearse: {
      "a day after the last rehearsal": delivered(rehearsedAgo(DAY)),
      "an hour after a refusal": delivered(rehearsedAgo(HOUR, { stop: refusedWrite })),
      "a Secret that was immutable, and was read again": delivered(
        rehearsedAgo(0, { stop: { ...refusedWrite, reason: "SecretImmutable" } }),
      ),
      "a refusal of another spec": delivered(
        rehearsedAgo(0, { stop: refusedWrite, generation: 7 }),
      ),
      "a refusal that an earlier process has reported": delivered({ object: refusing }),
    },
    ReadTarget: {
      "a Secret that the watch does not list": snapshot({ target: { kind: "Unlisted" } }),
      "an unread Secret after a change of the template": unread({ spec: otherTemplate }),
      "an unread Secret, and a key that the status forgot": unread({
        keysBeforeRestore: [lost(1)],
      }),
    },
    RecordIntent: { "all is checked": having({ Precheck: prechecked }, snapshot()) },
    IssueKey: {
      "the intent of this run": having(
        { Precheck: prechecked, RecordIntent: intended },
        snapshot(),
      ),
    },
    StartRecovery: {
      "an intent of another run": trying(),
      "the recovery of another attempt": trying({ recovery: { attemptId: "a0", since: 0 } }),
      "an open attempt, and a superseded key dressed as its pair": snapshot({
        status: { attempt: openAttempt(3), current: current(2), superseded: [superseded(1)] },
        target: holding({ ...pair(1), revision: 3 }),
      }),
      "a late key of the open attempt": trying({ lateKeys: [{ ...late, attemptId: "a1" }] }),
    },
    SettleAttempt: { "an open attempt after the time-out": trying(since(985_000)) },
    NoteStaged: {
      "a held pair that is staged": snapshot({ held, pending: two }),
      "the attempt's pair is staged": trying({ pending: one }),
    },
    VerifyPair: {
      "the attempt's pair is staged and noted": having(noted, trying({ pending: one })),
      "a staged pair": snapshot({ pending: one }),
      "a key that was never tried": delivered({ status: unverified(1) }),
    },
    SwitchSecret: {
      "a staged pair that is accepted": snapshot({ pending: one, ...judged(1) }),
    },
    CloseAttempt: {
      "a staged pair that is refused and listed as inactive": snapshot({
        pending: one,
        account: { ...account, inactiveKeyIds: ["sak_1"] },
        pendingRejection: { keyId: "sak_1", since: justNow - timing.endedPatienceMs },
        ...judged(1, "Rejected"),
      }),
    },
    CommitKey: {
      "the key in use, issued again by the attempt, is delivered": having(
        noted,
        delivered({
          target: holding(again),
          pending: staged(again),
          status: { attempt: openAttempt(2) },
        }),
      ),
      "the attempt's pair is delivered": trying({ target: holding(pair(1)) }),
    },
    RebuildStatus: {
      "a pair of no status is delivered": snapshot({ target: holding(pair(1)) }),
      "a late key that is in the Secret": snapshot({
        target: holding(pair(1)),
        lateKeys: [{ ...late, keyId: "sak_1" }],
      }),
    },
    ListKeysBeforeRestore: {
      "a key that nothing stored knows": snapshot({ keysBeforeRestore: [lost(1)] }),
    },
    ListLateKeys: { "a key that appeared late": delivered({ lateKeys: [late] }) },
    ListUnlistedKey: {
      "an older staged pair that no status lists": delivered({
        target: holding(pair(3)),
        pending: two,
        status: { current: current(3) },
      }),
    },
    RenderSecret: {
      "a template that changed": delivered({ spec: otherTemplate }),
      "an open attempt and the old key dressed as its pair": having(
        { Precheck: prechecked },
        trying({ target: holding(pair(1)), ...since(justNow), status: due }),
      ),
    },
    Waiting: {
      "an intent of another run whose recovery has started": trying(since(justNow)),
      "an open attempt whose time has not come": trying(since(999_999)),
      "an open attempt of a console with longer time-outs": trying({
        ...since(985_000),
        account: { ...account, callTimeoutMs: 60_000 },
      }),
      "an open attempt of a console with shorter time-outs": trying({
        ...since(985_001),
        account: { ...account, callTimeoutMs: 5_000 },
      }),
      "a staged pair that is refused": snapshot({ pending: one, ...judged(1, "Rejected") }),
      "a staged pair and a foreign target": snapshot({
        pending: one,
        target: foreign(),
        ...judged(1),
      }),
      "a staged pair and no account": snapshot({ pending: one, account: waiting, ...judged(1) }),
    },
    Settled: {
      "a key in use": delivered(),
      "an unread Secret": unread(),
      "an unread Secret while the account is not ready": unread({ account: waiting }),
      "a rehearsal of today": delivered(rehearsedAgo(DAY - 1)),
      "a refusal of this hour": delivered(rehearsedAgo(HOUR - 1, { stop: refusedWrite })),
      "a rehearsal of this run": having({ Rehearse: same }, delivered(rehearsedAgo(DAY))),
      "a key in the Secret that the status forgot": delivered({ keysBeforeRestore: [lost(1)] }),
      "late keys without end": delivered({
        lateKeys: [late],
        status: { orphaned: manyLost },
      }),
    },
  }),
)("the next effect is %s: %s", (kind, _, world) => {
  expect(firstOf(world).kind).toBe(kind);
});

test("a clock that was set back delays no try", () => {
  const world = delivered({ status: unverified(1), lastCheckTime: NOW + DAY });
  expect(firstOf(world).kind).toBe("VerifyPair");
});

test("a check of the key in use without a clear answer stops no rotation, and is reported", () => {
  const failedCheck = new IamError("Unavailable", "no", { operation: "searchActions" });
  const world = delivered({ account: { ...account, liveKeyIds: [], lastKeyListTime: NOW } });
  const answers = { VerifyPair: (before: ApiKeySnapshot) => ({ ...before, failedCheck }) };
  expect(firstOf(having(answers, world))).toEqual({ kind: "Failing", error: failedCheck });
  const rotating = { ...world, status: { ...world.status, ...due } };
  expect(firstOf(having(answers, rotating))).toEqual({ kind: "Precheck" });
});

describe("an attempt is closed as the run of its account explains it", () => {
  const explained = (keyIds: string[] | undefined, missingKeyId?: string): World =>
    having(
      { VerifyPair: same },
      trying({
        recovery,
        explanation: { id: "a1", keyIds, missingKeyId },
        status: { superseded: [superseded(2)] },
      }),
    );

  test.each<[string, World, readonly (string | undefined)[], boolean, RegExp]>([
    [
      "one key",
      explained(["sak_3"]),
      ["sak_3"],
      false,
      /issued, but no Secret holds its pair: .*: sak_3$/,
    ],
    [
      "a key that the status lists",
      explained(["sak_2", "sak_3"]),
      ["sak_3"],
      false,
      /sak_2, sak_3/,
    ],
    ["none", explained([]), [], true, /^no key was issued$/],
    ["no list", explained(undefined), [undefined], false, /does not list keys/],
    [
      "a list without a key in use",
      explained(undefined, "sak_1"),
      [undefined],
      false,
      /lacks sak_1/,
    ],
  ])("%s", (_, world, keyIds, refund, because) => {
    const orphans = keyIds.map((keyId) => ({ keyId, attemptId: "a1" }));
    expect(firstOf(world)).toMatchObject({ kind: "CloseAttempt", refund, orphans });
    expect(firstOf(world)).toMatchObject({ because: expect.stringMatching(because) });
  });

  test("a lost key expires no earlier than the attempt's key, though the clock was set back", () => {
    const [closing] = play(explained(["sak_3"]), at(-HOUR));
    expect(closing).toMatchObject({ orphans: [{ expirationTime: NOW + 90 * DAY }] });
  });

  test("an attempt is settled once, and waits for its account", () => {
    const settled = { status: { attempt: { ...openAttempt(1), settled: true as const } } };
    expect(firstOf(trying({ recovery, ...settled }))).toMatchObject({ reason: "Recovering" });
    const [, end] = [...play(trying({ recovery }))];
    expect(end).toMatchObject({ kind: "Waiting", reason: "Recovering" });
  });
});

describe("an old key", () => {
  const ending = { ...account, canDisableKeys: true, canDeleteKeys: true };
  const onlyDeletes = { ...ending, canDisableKeys: false };
  /** Key 2 is in use, and the overlap with key 1 was over long ago. */
  const rotated = ({ status, ...changes }: Changes = {}, old: object = {}) =>
    delivered({
      account: ending,
      target: holding(pair(2)),
      ...changes,
      status: {
        current: current(2),
        superseded: [superseded(1, { supersededTime: NOW - 2 * DAY, ...old })],
        ...status,
      },
    });
  const rejection = { keyId: "sak_2", since: justNow };
  /** So that nothing is issued in place of what is missing. */
  const recentIssues = Array(9).fill({ time: NOW, requested: undefined });
  const absent = { kind: "Absent" } as const;
  const unknownAfter = (answeredCall: string) => ({ state: "Unknown", answeredCall });
  const disabledAfterDelete = { state: "Disabled", answeredCall: "deleteKey" };

  test.each<[string, string, ApiKeySnapshot]>([
    ["DisableKey", "after the overlap", rotated()],
    ["DeleteKey", "that is disabled", rotated({}, { state: "Disabled" })],
    ["DeleteKey", "that cannot be disabled", rotated({ account: onlyDeletes })],
    ["DeleteKey", "of an unknown state after disableKey", rotated({}, unknownAfter("disableKey"))],
    ["DisableKey", "that works after all", rotated({}, { answeredCall: "deleteKey" })],
  ])("%s: %s, once the console has accepted the key in use again", (kind, _, world) => {
    expect(firstOf(world)).toEqual({ kind: "VerifyPair", pair: pair(2) });
    expect(firstOf({ ...world, ...judged(2) })).toEqual({ kind, keyId: "sak_1" });
    const reject = (before: ApiKeySnapshot) => ({
      ...before,
      ...judged(2, "Rejected"),
      rejection,
    });
    expect(firstOf(having({ VerifyPair: reject }, world))).toMatchObject({ kind: "Rehearse" });
    const refused = { ...world, rejection, lastCheckTime: NOW, ...rehearsedAgo(0) };
    const held = { kind: "Waiting", reason: "KeyRefused" };
    for (const known of [{}, judged(2, "Rejected")])
      expect(firstOf({ ...refused, ...known })).toMatchObject(held);
  });

  test.each<[string, ApiKeySnapshot]>([
    ["the overlap lasts", rotated({}, { supersededTime: NOW - 23 * HOUR })],
    ["the new key was never accepted", rotated({ status: unverified(2) })],
    ["the Secret holds it", rotated({ target: holding(pair(1)), status: { recentIssues } })],
    ["the Secret is gone", rotated({ target: absent, status: { recentIssues } })],
    ["the connection names no calls for it", rotated({ account })],
    ["the status lists it as expired", rotated({}, { state: "Expired" })],
    ["it is deleted", rotated({}, { state: "Deleted" })],
    ["the answer to its deletion is believed", rotated({}, unknownAfter("deleteKey"))],
    ["it is disabled and deleteKey was answered", rotated({}, disabledAfterDelete)],
    ["it has expired", rotated({}, { supersededTime: NOW - 60 * DAY, expirationTime: NOW })],
  ])("is left alone while %s", (_, world) => {
    for (const known of [{}, judged(2)])
      expect(firstOf({ ...world, ...known }).kind).not.toMatch(/DisableKey|DeleteKey/);
  });

  test("is not ended while only an answer that any gateway gives shows that the new key works", async () => {
    const denied = new IamError("PermissionDenied", "no", { operation: "searchActions" });
    const { answer } = await answerOf(verifyPair(rotated(), { pair: pair(2) }), {
      console: () => ({ searchActions: () => Promise.reject(denied) }),
      clock: { now: () => NOW, monotonic: () => justNow },
    });
    expect(failureOf(answer)).toMatchObject({ code: "MalformedResponse" });
  });
});

/** Why the run fails in the middle. */
function failureOf(world: World): unknown {
  try {
    return [...play(world)];
  } catch (error) {
    return error instanceof PartialFailure ? error.cause : error;
  }
}

describe("a key is issued, delivered and recorded in this order", () => {
  /** The console accepts every key but key 1. */
  const judge = (before: ApiKeySnapshot, { pair: { keyId } }: { pair: IssuedPair }) => {
    const isAccepted = keyId !== "sak_1" || before.status.current === undefined;
    const verdict = checked(keyId, isAccepted ? "Accepted" : "Rejected");
    const verdicts = new Map([...(before.verdicts ?? []), ...verdict]);
    return isAccepted
      ? { ...before, verdicts }
      : { ...before, verdicts, rejection: before.rejection ?? { keyId, since: justNow } };
  };
  const reads = { Precheck: prechecked, VerifyPair: judge };
  const kindsOf = (world: World) => [...play(world)].map((each) => "kind" in each && each.kind);
  const delivery = ["VerifyPair", "SwitchSecret", "CommitKey", "DeletePending"];
  const issue = ["Precheck", "RecordIntent", "IssueKey", "StagePair", ...delivery];

  test.each<[string, ApiKeySnapshot, readonly string[]]>([
    ["first", snapshot(), [...issue, "Settled"]],
    ["next", delivered({ status: due }), [...issue, "Settled"]],
    [
      "in place of a rejected one that is tried once more",
      delivered({ rejection: { keyId: "sak_1", since: 0 }, lastCheckTime: NOW }),
      ["Precheck", "VerifyPair", ...issue.slice(1), "Settled"],
    ],
    [
      "after a Secret that the watch did not list",
      snapshot({ target: { kind: "Unlisted" } }),
      ["ReadTarget", ...issue, "Settled"],
    ],
    ["by an earlier run", trying({ pending: one }), ["NoteStaged", ...delivery, "Settled"]],
    [
      "and is only in memory",
      trying({ held: { ...held, pair: pair(1) } }),
      ["StagePair", ...delivery, "Settled"],
    ],
  ])("%s", (_, world, expected) => {
    const absent = (before: ApiKeySnapshot) => ({ ...before, target: { kind: "Absent" } });
    expect(kindsOf(having({ ...reads, ReadTarget: absent }, world))).toEqual(expected);
  });

  test("although an older pending Secret holds another pair with its ID, which is listed", () => {
    const newer = { ...pair(1), secret: pair(2).secret };
    const world = trying({ held: { ...held, pair: newer }, pending: staged(pair(1), "a0") });
    const [list, clean, stage] = play(world);
    expect([list, clean]).toMatchObject([{ kind: "ListUnlistedKey" }, { kind: "DeletePending" }]);
    expect(stage).toMatchObject({ kind: "StagePair", pair: newer });
  });

  test("by the rules of a run that has found a pending Secret", () => {
    let found = 0;
    const precheck = (before: ApiKeySnapshot) =>
      found++ === 0 ? { ...before, pending: two } : prechecked(before);
    expect(kindsOf(having({ ...reads, Precheck: precheck }, snapshot()))).toEqual([
      "Precheck",
      ...["VerifyPair", "SwitchSecret", "RebuildStatus", "DeletePending"],
      "Settled",
    ]);
  });

  test("not beyond the budget that other ApiKeys have used up meanwhile", () => {
    const used = { ...account, namespaceIssues: { most: 1, count: 1, freeAt: NOW + HOUR } };
    const counted = (before: ApiKeySnapshot) => ({ ...before, account: used });
    const given = having({ ...reads, RecordIntent: counted }, snapshot());
    expect([...play(given)]).toMatchObject([
      { kind: "Precheck" },
      { kind: "RecordIntent" },
      { kind: "Waiting", reason: "NamespaceBudgetExceeded" },
    ]);
  });

  test.each(["StagePair", "SwitchSecret"])("no further if %s is not stored as sent", (kind) => {
    const message = "the API server stores the Secret without the key pair";
    const given = having({ ...reads, [kind]: same }, snapshot());
    expect(failureOf(given)).toMatchObject({ message });
  });

  test("at once if the key in use does not work: what spares a working key stops nothing", () => {
    const orphaned = [5, 6].map((number) => ({ ...lost(number), attemptId: `a${number}` }));
    const blind = { ...account, liveKeyIds: [], lastKeyListTime: NOW };
    const inUse = pair(1, 80 * DAY);
    const world = delivered({
      account: blind,
      target: holding(inUse),
      status: { ...due, orphaned },
    });
    const accepting = having({ VerifyPair: same }, world);
    expect(firstOf(accepting)).toMatchObject({ reason: "TooManyOrphanedKeys" });
    expect(kindsOf(having(reads, world))).toEqual(["VerifyPair", ...issue, "Settled"]);
  });
});

const effects = apiKeyEffects({} as never);
const kind = {
  run: (world, readNow) => reconcileApiKey(world, { effects, timing, readNow }),
  runOfDeletion: (world, readNow) => deleteApiKey(world, { effects, timing, readNow }),
} as KindDefinition<ApiKeyKind>;
const deleting = {
  ...object(),
  metadata: { ...object().metadata, deletionTimestamp: "2026-01-10T00:00:00Z" },
};

test.each(
  rowsOf<ApiKeySnapshot>({
    Suspended: {
      "nothing is issued": snapshot(),
      "nothing is renewed": delivered({ status: due }),
      "a staged pair is not tried": snapshot({ pending: two }),
    },
    VerifyPair: {
      "a key that a list lacks is checked": delivered({
        account: { ...account, liveKeyIds: [], lastKeyListTime: NOW },
      }),
    },
    ReadTarget: {
      "the Secret is read for the check": delivered({
        account: { ...account, liveKeyIds: [], lastKeyListTime: NOW },
        target: { kind: "Unread", keyId: "sak_1", previousKeyId: undefined },
      }),
    },
    StagePair: { "a pair in memory is written": snapshot({ held }) },
    NoteStaged: { "a staged pair is noted": snapshot({ held, pending: two }) },
    StartRecovery: { "an open attempt is given time": trying() },
    Waiting: { "the deletion waits": delivered({ object: deleting, held }) },
  }),
)("the next effect of a suspended ApiKey is %s: %s", (expected, _, world) => {
  const [first] = playRun(effectsOf(kind, world, suspended, at));
  expect(first).toMatchObject({ kind: expected });
});

const gone = { self: { ...owner, deletingSince: NOW - DAY, rotateToken: undefined } };
const tooLong = {
  ...gone,
  object: blockedSince(object(), NOW - timing.deletionPatienceMs),
};
const disabling = { ...account, canDisableKeys: true };
const refuseToEnd = (before: ApiKeySnapshot, { keyId }: { keyId: string }): ApiKeySnapshot => ({
  ...before,
  failedRevocations: new Map([[keyId, new IamError("Unavailable", "no", { operation: "x" })]]),
});
const later = { ...reconciling("ConnectionNotReady", "It is so."), canEndKeys: true };
const retained = keySpec({ secret: { deletionPolicy: "Retain" } });

test.each(
  rowsOf<World>({
    ListUnlistedKey: {
      "a pair in memory": delivered({ ...gone, held }),
      "a staged pair": delivered({ ...gone, pending: two }),
    },
    DisableKey: {
      "there is a call for it": delivered({ ...gone, account: disabling }),
      "once more after the deadline": delivered({ ...tooLong, account: disabling }),
    },
    Failing: {
      "its key could not be ended": having(
        { DisableKey: refuseToEnd },
        delivered({ ...gone, account: disabling }),
      ),
    },
    Released: {
      "its Secret is retained": delivered({ ...gone, account: disabling, spec: retained }),
      "its Secret is retained, and its connection not ready": delivered({
        ...gone,
        account: later,
        spec: retained,
      }),
      "a foreign Secret": snapshot({
        ...gone,
        target: foreign(),
        status: { current: current(1) },
      }),
    },
    DeleteTarget: {
      "its Secret": delivered(gone),
      "no call ends keys, and its connection is not ready": delivered({
        ...gone,
        account: { ...later, canEndKeys: false },
      }),
      "its account is gone": delivered({ ...gone, account: { ...later, isGone: true } }),
      "its connection is not ready for too long": delivered({ ...tooLong, account: later }),
      "its key cannot be ended for too long": having(
        { DisableKey: refuseToEnd },
        delivered({ ...tooLong, account: disabling }),
      ),
    },
    StartRecovery: { "an open attempt": trying(gone) },
    Waiting: {
      "its key can be ended once the connection is ready": delivered({ ...gone, account: later }),
      "an attempt in recovery": trying({ ...gone, ...since(justNow) }),
    },
    NoteStaged: { "a staged pair of an open attempt": trying({ ...gone, pending: one }) },
    CloseAttempt: { "an open attempt for too long": trying(tooLong) },
  }),
)("the next effect of a deleted ApiKey is %s: %s", (expected, _, world) => {
  expect(firstOf(world, playDeletion(world)).kind).toBe(expected);
});

test("the last event of a deleted ApiKey names the keys for which no end was shown or answered", () => {
  const states = ["Live", "Inactive", "Disabled", "Deleted", "Unknown"] as const;
  const status = { superseded: states.map((state, index) => superseded(index + 1, { state })) };
  const [released] = playDeletion(snapshot({ ...gone, status }));
  const note = expect.stringMatching(/: sak_1\.$/);
  expect(released).toMatchObject({ events: [{ reason: "KeysNotRevoked", note }] });
});

test("the last event of a deleted ApiKey names no key of an account that is known to be gone", () => {
  const kept = superseded(2, { serviceAccount: "former", saId: "sa-former" });
  const status = { superseded: [superseded(1), kept] };
  const accounts = {
    account: { ...account, isGone: true },
    otherAccounts: new Map([["sa-former", { ...account, saId: "sa-former" }]]),
  };
  const world = snapshot({ ...gone, ...accounts, status });
  const note = expect.stringMatching(/: sak_2\.$/);
  const [released] = playDeletion(world);
  expect(released).toMatchObject({ events: [{ note }] });
});
