/** What two lists of an account's keys show about attempts of its ApiKeys. */
import { describe, expect, test } from "vitest";
import type { ApiKey } from "../../../../src/api/api-key.ts";
import type { IamKeyRecord } from "../../../../src/console/model.ts";
import { readApiKeysAgain } from "../../../../src/kinds/service-account/observe.ts";
import { fromConsole } from "../../../../src/kinds/service-account/rules/account.ts";
import {
  explainAttempts,
  isAttemptListDue,
} from "../../../../src/kinds/service-account/rules/issue-attempts.ts";
import { report } from "../../../../src/kinds/service-account/rules/report.ts";
import type { AccountSnapshot } from "../../../../src/kinds/service-account/rules/snapshot.ts";
import { attemptId, describeKey } from "../../../../src/resources/marker.ts";
import { DAY, HOUR, MINUTE, SECOND, toIso8601 } from "../../../../src/util/time.ts";
import { cachesWith } from "../../../support/caches-with.ts";
import {
  account,
  at,
  deleted,
  key,
  NOW,
  play,
  serviceAccount,
  snapshotOf,
  using,
} from "./objects.ts";

const idOf = (name: string) => attemptId(`${name}-uid`, "1");
const attemptOf = (name: string, changes: object = {}) => ({
  id: idOf(name),
  revision: 1,
  reason: "NoKeyYet",
  startTime: toIso8601(NOW - MINUTE),
  knownKeyIds: ["sak_old"],
  settled: true,
  ...changes,
});

function apiKey(name: string, status: object, changes: object = {}): ApiKey {
  return {
    metadata: { namespace: "team-a", name, uid: `${name}-uid` },
    spec: { serviceAccountRef: { name: "ci-bot" } },
    status,
    ...changes,
  } as unknown as ApiKey;
}

const trying = (name: string, changes: object = {}, more: object = {}) =>
  apiKey(name, { attempt: attemptOf(name, changes), ...more });
const mark = (name: string) =>
  describeKey("for CI", { namespace: "team-a", name }, idOf(name), undefined);
const inUse = (keyId: string, changes: object = {}) => ({
  current: {
    keyId,
    verificationTime: toIso8601(NOW - DAY),
    expirationTime: toIso8601(NOW + DAY),
    ...changes,
  },
});

interface Lists {
  readonly apiKeys: readonly ApiKey[];
  /** The ApiKeys from the second list on, if they change. */
  readonly later?: readonly ApiKey[];
  /** `undefined`: the console lists no keys; `Gone`: it no longer has the account. */
  readonly lists: readonly (readonly string[] | undefined | "Gone")[];
  readonly descriptions?: Readonly<Record<string, string>>;
  readonly gapMs?: number;
  readonly changes?: Partial<AccountSnapshot>;
  readonly status?: object;
  /** Known before the lists. */
  readonly state?: AccountSnapshot["state"];
}

function answerFor(list: Lists["lists"][number], descriptions: Readonly<Record<string, string>>) {
  if (list === "Gone") return { detail: undefined };
  const keyRecords = new Map<string, IamKeyRecord>(
    Object.entries(descriptions).map(([keyId, description]) => [keyId, { description }]),
  );
  const keyIds = list && [...list];
  return { detail: { saId: "sa-1", keyIds, keyRecords } };
}

/** What is known after these lists, each read in a run. */
function afterLists({ apiKeys, lists, descriptions = {}, gapMs = 5 * SECOND, ...given }: Lists) {
  let state = given.state ?? {};
  let found = explainAttempts(snapshotOf(), NOW);
  for (const [index, list] of lists.entries()) {
    const now = NOW + index * gapMs;
    const answer = answerFor(list, descriptions);
    const { detail } = answer;
    const snapshot = snapshotOf({
      object: serviceAccount({ status: given.status ?? {} }),
      account: detail === undefined ? account : fromConsole(detail, account),
      answer,
      lookTime: now,
      apiKeys: index === 0 ? apiKeys : (given.later ?? apiKeys),
      state,
      ...given.changes,
    });
    found = explainAttempts(snapshot, now);
    state = { evidence: found.evidence };
  }
  return found;
}

const explained = (given: Lists) =>
  Object.fromEntries(
    afterLists(given).explained.map(({ id, keyIds, missingKeyId }) => [
      id,
      keyIds ?? missingKeyId ?? "unknown",
    ]),
  );
const twice = (list: readonly string[] | undefined | "Gone") => [list, list];
const ci = [trying("ci")];
const marked = { sak_1: mark("ci"), sak_2: mark("other") };
const beforeClockWasSetBack = new Map([
  [idOf("ci"), { firstTime: NOW + DAY, isComplete: false, keys: new Map(), missingKeyIds: [] }],
]);
const both = [trying("ci"), trying("other", { startTime: toIso8601(NOW - SECOND) })];
const underWay = trying("other", { settled: undefined });
const large = { ...apiKey("other", {}), lacksStatus: true } as ApiKey;

describe("an attempt has issued", () => {
  test.each<[string, Lists, object]>([
    ["a new key", { apiKeys: ci, lists: twice(["sak_old", "sak_1"]) }, { ci: ["sak_1"] }],
    ["nothing, if no key is new", { apiKeys: ci, lists: twice(["sak_old"]) }, { ci: [] }],
    [
      "keys of either list",
      { apiKeys: ci, lists: [["sak_1"], ["sak_2"]] },
      { ci: ["sak_1", "sak_2"] },
    ],
    [
      "no key that only a third list shows",
      { apiKeys: ci, lists: [...twice(["sak_1"]), ["sak_1", "sak_2"]] },
      { ci: ["sak_1"] },
    ],
    [
      "a key of two lists since the clock was set back",
      { apiKeys: ci, lists: twice(["sak_1"]), state: { evidence: beforeClockWasSetBack } },
      { ci: ["sak_1"] },
    ],
    [
      "no key that an ApiKey names",
      { apiKeys: [...ci, apiKey("b", inUse("sak_1"))], lists: twice(["sak_1"]) },
      { ci: [] },
    ],
    [
      "no key of an ApiKey that was deleted between the lists",
      { apiKeys: [...ci, apiKey("b", inUse("sak_1"))], later: ci, lists: [["sak_1"], []] },
      { ci: [] },
    ],
    [
      "a new key, even if the lists lack a key in use",
      { apiKeys: [trying("ci", {}, inUse("sak_used"))], lists: twice(["sak_1"]) },
      { ci: ["sak_1"] },
    ],
    [
      "no key whose description names another attempt",
      { apiKeys: ci, lists: twice(["sak_2"]), descriptions: marked },
      { ci: [] },
    ],
    [
      "an unknown key, if none are listed",
      { apiKeys: ci, lists: twice(undefined) },
      { ci: "unknown" },
    ],
    [
      "an unknown key, if none were listed before",
      { apiKeys: [trying("ci", { knownKeyIds: undefined })], lists: twice(["sak_1"]) },
      { ci: "unknown" },
    ],
    [
      "what one of two lists shows",
      { apiKeys: ci, lists: [["sak_1"], undefined] },
      { ci: ["sak_1"] },
    ],
    ["nothing on an account that is gone", { apiKeys: ci, lists: twice("Gone") }, { ci: [] }],
  ])("%s", (_, given, expected) => {
    const byId = Object.entries(expected).map(([name, found]) => [idOf(name), found]);
    expect(explained(given)).toEqual(Object.fromEntries(byId));
  });

  test.each<[string, object, object, unknown]>([
    ["its own", {}, inUse("sak_used"), "sak_used"],
    ["its own, unless it replaces it", { reason: "KeyRefused" }, inUse("sak_used"), []],
    ["none that was never accepted", {}, inUse("sak_used", { verificationTime: undefined }), []],
    ["none that has expired", {}, inUse("sak_used", { expirationTime: toIso8601(NOW) }), []],
    ["none of another account", {}, inUse("sak_used", { saId: "sa-2" }), []],
    ["none of another ServiceAccount", {}, inUse("sak_used", { serviceAccount: "b" }), []],
  ])("an unknown key, if the lists lack a key in use: %s", (_, attempt, status, expected) => {
    const serviceAccountName = { serviceAccount: "ci-bot" };
    const apiKeys = [trying("ci", { ...attempt, ...serviceAccountName }, status)];
    expect(explained({ apiKeys, lists: twice([]) })).toEqual({ [idOf("ci")]: expected });
  });

  test("an unknown key, if the lists lack that of another ApiKey, unless that is being deleted", () => {
    const other = apiKey("b", inUse("sak_b"));
    const lists = twice([]);
    const replacing = trying("ci", { reason: "KeyRefused" });
    for (const attempt of [...ci, replacing])
      expect(explained({ apiKeys: [attempt, other], lists })).toEqual({ [idOf("ci")]: "sak_b" });
    expect(explained({ apiKeys: [...ci, other], lists: [["sak_b"], []] })).toEqual({
      [idOf("ci")]: [],
    });
    const metadata = { ...other.metadata, deletionTimestamp: toIso8601(NOW) };
    expect(explained({ apiKeys: [...ci, { ...other, metadata }], lists })).toEqual({
      [idOf("ci")]: [],
    });
  });
});

describe("an attempt is not explained", () => {
  test.each<[string, Lists]>([
    ["by one list", { apiKeys: ci, lists: [["sak_1"]] }],
    ["by lists that follow each other at once", { apiKeys: ci, lists: twice([]), gapMs: 4_999 }],
    [
      "before its call is over",
      { apiKeys: [trying("ci", { settled: undefined })], lists: twice([]) },
    ],
    [
      "by the list of another account",
      { apiKeys: [trying("ci", { saId: "sa-2" })], lists: twice([]) },
    ],
    [
      "by the list of an account that is not the object's",
      {
        apiKeys: ci,
        lists: twice([]),
        changes: { answer: { detail: { saId: "sa-1", name: "other", keyIds: [] } } },
      },
    ],
    [
      "by the list of another ServiceAccount",
      { apiKeys: [trying("ci", { serviceAccount: "b" })], lists: twice([]) },
    ],
    [
      "while the cache lacks its keys",
      { apiKeys: [{ ...trying("ci"), lacksStatus: true } as ApiKey], lists: twice([]) },
    ],
    [
      "while a call under way may have issued the key",
      { apiKeys: [...ci, underWay], lists: twice(["sak_1"]) },
    ],
    [
      "while the keys of an ApiKey are not known",
      { apiKeys: [...ci, large], lists: twice(["sak_1"]) },
    ],
    [
      "while an ApiKey may name the key in a status that the cache lacks",
      { apiKeys: ci, lists: twice(["sak_1"]), changes: { apiKeysAreCurrent: false } },
    ],
  ])("%s", (_, given) => {
    expect(afterLists(given).explained).toEqual([]);
  });

  test.each<[string, Lists]>([
    [
      "the key is described",
      { apiKeys: [...ci, underWay], lists: twice(["sak_1"]), descriptions: marked },
    ],
    [
      "the key is described, though those of another ApiKey are not known",
      { apiKeys: [...ci, large], lists: twice(["sak_1"]), descriptions: marked },
    ],
    [
      "the key was there before the other call",
      {
        apiKeys: [...ci, trying("other", { settled: undefined, knownKeyIds: ["sak_1"] })],
        lists: twice(["sak_1"]),
      },
    ],
    [
      "it is an hour old",
      {
        apiKeys: [trying("ci", { startTime: toIso8601(NOW - HOUR) }), underWay],
        lists: twice(["sak_1"]),
      },
    ],
  ])("for long by another call, if %s", (_, given) => {
    expect(explained(given)).toEqual({ [idOf("ci")]: ["sak_1"] });
  });

  test("twice, and not again after a list", () => {
    const status = { explainedAttempts: [{ id: idOf("ci"), keyIds: [] }] };
    expect(afterLists({ apiKeys: ci, lists: twice(["sak_1"]), status })).toEqual({
      explained: [{ id: idOf("ci"), keyIds: [], missingKeyId: undefined }],
      evidence: undefined,
      afterMs: undefined,
    });
    const closed = [apiKey("ci", { lastAttemptId: idOf("ci") })];
    expect(afterLists({ apiKeys: closed, lists: twice([]), status }).explained).toEqual([]);
  });
});

describe("several attempts of one account", () => {
  test("have one key each, and the last has what is left", () => {
    const lists = twice(["sak_1", "sak_2", "sak_3"]);
    expect(explained({ apiKeys: both, lists })).toEqual({
      [idOf("ci")]: ["sak_1"],
      [idOf("other")]: ["sak_2", "sak_3"],
    });
  });

  test("that started at the same time have the same keys in every order", () => {
    const same = [trying("ci"), trying("other")];
    const lists = twice(["sak_1", "sak_2"]);
    const found = explained({ apiKeys: same, lists });
    expect(explained({ apiKeys: same.toReversed(), lists })).toEqual(found);
  });

  test("have their own keys, if the console shows descriptions", () => {
    const lists = twice(["sak_1", "sak_2"]);
    const descriptions = { sak_1: mark("other"), sak_2: mark("ci") };
    expect(explained({ apiKeys: both, lists, descriptions })).toEqual({
      [idOf("ci")]: ["sak_2"],
      [idOf("other")]: ["sak_1"],
    });
  });

  test("are a hundred at a time, with a hundred keys each", () => {
    const many = Array.from({ length: 120 }, (_, n) => trying(`k${n}`));
    const { explained: first, afterMs } = afterLists({ apiKeys: many, lists: twice(["sak_old"]) });
    expect([first.length, afterMs]).toEqual([100, 5 * SECOND]);
    const list = Array.from({ length: 120 }, (_, n) => `sak_${n}`);
    expect(afterLists({ apiKeys: ci, lists: twice(list) }).explained[0]?.keyIds).toHaveLength(100);
  });
});

describe("the account's keys are listed", () => {
  const lastRead = (ago: number) => ({ startTime: NOW - ago });
  const evidence = new Map([
    [idOf("ci"), { firstTime: NOW, isComplete: true, keys: undefined, missingKeyIds: [] }],
  ]);
  const isDue = (apiKeys: readonly ApiKey[], state: object, status: object = {}) =>
    isAttemptListDue(
      snapshotOf({ account, apiKeys, state, object: serviceAccount({ status }) }),
      NOW,
    );

  test.each<[string, boolean, boolean]>([
    ["at once for a settled attempt", isDue(ci, { lastRead: lastRead(SECOND) }), true],
    ["not for a call under way", isDue([underWay], { lastRead: lastRead(SECOND) }), false],
    ["again after five seconds", isDue(ci, { lastRead: lastRead(5 * SECOND), evidence }), true],
    ["but not sooner", isDue(ci, { lastRead: lastRead(4 * SECOND), evidence }), false],
    [
      "nor once it is explained",
      isDue(ci, { evidence }, { explainedAttempts: [{ id: idOf("ci") }] }),
      false,
    ],
  ])("%s", (_, is, expected) => {
    expect(is).toBe(expected);
  });

  test("in a run that has nothing else to read, which names the time of the next list", () => {
    const lastRead = {
      saId: "sa-1",
      consoleURL: account.consoleURL,
      generation: 1,
      startTime: NOW - SECOND,
      nextTime: NOW + MINUTE,
      keyRequests: [],
      finding: undefined,
    };
    const given = { account, apiKeys: ci, state: { lastRead } };
    expect(play(given).step).toMatchObject({ kind: "GetAccount" });
    expect(play({ ...given, apiKeys: [] }).step).toMatchObject({ kind: "Settled" });
    const { requeueAfterMs } = report(snapshotOf(given), { kind: "Settled" }, at, { lastRead });
    expect(requeueAfterMs).toBe(5 * SECOND);
  });

  test("while the account is being deleted, before its users are looked at", () => {
    const given = { object: deleted, account, apiKeys: ci, users: [using("Keys", "ApiKey ci")] };
    expect(play(given).step).toMatchObject({ kind: "GetAccount", saId: "sa-1" });
    expect(play({ ...given, apiKeys: [] }).step).toMatchObject({ reason: "InUse" });
  });
});

test("ApiKeys too large for the cache are read live, if they have a settled attempt", async () => {
  const small = apiKey("small", {});
  const cut = { ...trying("ci", { knownKeyIds: undefined }), lacksStatus: true } as ApiKey;
  const apiKeys = [small, cut, large];
  const caches = cachesWith({ apikeys: { byIndex: () => apiKeys, isCurrent: () => true } });
  const read: unknown[] = [];
  const get = (_: unknown, { name }: { readonly name: string }) => {
    read.push(name);
    return Promise.resolve(trying("ci"));
  };
  const run = { caches, kube: { get }, signal: new AbortController().signal } as never;
  const found = await readApiKeysAgain(serviceAccount({ metadata: key }), run);
  expect(read).toEqual(["ci"]);
  expect(found.apiKeys).toEqual([small, large, trying("ci")]);
});
