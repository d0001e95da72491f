import { describe, expect, test } from "vitest";
import type { ApiKey } from "../../../../src/api/api-key.ts";
import type { IamKeyRecord } from "../../../../src/console/model.ts";
import { fromConsole } from "../../../../src/kinds/service-account/rules/account.ts";
import { auditKeys } from "../../../../src/kinds/service-account/rules/audit.ts";
import {
  auditConditions,
  auditEvents,
} from "../../../../src/kinds/service-account/rules/audit-report.ts";
import type {
  AccountSnapshot,
  UnnamedKeys,
} from "../../../../src/kinds/service-account/rules/snapshot.ts";
import { attemptId, describeKey, markerOf } from "../../../../src/resources/marker.ts";
import { DAY, HOUR, MINUTE, SECOND, toIso8601 } from "../../../../src/util/time.ts";
import { account, deleted, NOW, serviceAccount, snapshotOf } from "./objects.ts";

const ATTEMPT = attemptId("ci-uid", "a1");
const OPEN = { id: ATTEMPT, revision: 1, reason: "NoKeyYet", startTime: toIso8601(NOW - MINUTE) };
const READY = { type: "Ready", status: "True", reason: "", message: "", lastTransitionTime: "" };

function apiKey(status: object, name = "ci"): ApiKey {
  return {
    metadata: { namespace: "team-a", name, uid: `${name}-uid` },
    spec: { serviceAccountRef: { name: "ci-bot" } },
    status: { conditions: [READY], ...status },
  } as unknown as ApiKey;
}

const named = (keyId: string, left = DAY) => ({ keyId, expirationTime: toIso8601(NOW + left) });

interface Given {
  /** What the console lists. */
  readonly list?: readonly string[];
  /** What it listed before; a minute ago, without other words. */
  readonly before?: readonly string[];
  /** The keys of `before` appeared so long ago. */
  readonly ageMs?: number;
  /** Whether `list` was read in this run. */
  readonly isRead?: boolean;
  readonly records?: Readonly<Record<string, IamKeyRecord>>;
  readonly apiKeys?: readonly ApiKey[];
  readonly status?: object;
  readonly changes?: Partial<AccountSnapshot>;
  readonly spec?: object;
}

function given({
  list = ["sak_1"],
  before = list,
  ageMs = MINUTE,
  isRead = true,
  records = {},
  apiKeys = [apiKey({})],
  status = {},
  changes = {},
  spec = {},
}: Given): AccountSnapshot {
  const keyIds = [...list];
  const markers = (keyId: string) => markerOf(records[keyId]?.description ?? "");
  const unnamed: UnnamedKeys = new Map(
    before.map((keyId) => [keyId, { noticedTime: NOW - ageMs, marker: markers(keyId) }]),
  );
  const keyRecords = new Map(Object.entries(records));
  return snapshotOf(
    {
      object: serviceAccount({ status }),
      account: fromConsole({ saId: "sa-1", keyIds, keyRecords }, account),
      answer: isRead ? { detail: { saId: "sa-1", keyIds, keyRecords } } : undefined,
      apiKeys,
      state: { unnamed },
      ...changes,
    },
    spec,
  );
}

const idsOf = (keys: readonly { keyId: string }[] = []) => keys.map(({ keyId }) => keyId);
const mark = (name: string, attempt = ATTEMPT, namespace = "team-a", cluster?: string) => ({
  sak_1: { description: describeKey("for CI", { namespace, name }, attempt, cluster) },
});
const blue = { changes: { clusterName: "blue" } };
const inCluster = (cluster: string) => ({ records: mark("ci", ATTEMPT, "team-a", cluster) });

const entry = (keyId: string, more: object = {}) => ({
  keyId,
  observedTime: toIso8601(NOW - HOUR),
  ...more,
});
const naming = (status: object): Given => ({ apiKeys: [apiKey(status)] });
const open = (changes: object = {}) => naming({ attempt: { ...OPEN, ...changes } });
const inactive = { records: { sak_1: { state: "Inactive" as const } } };
const active = { records: { sak_1: { state: "Active" as const } } };
const started = { changes: { state: {} } };
const anHourAgo = toIso8601(NOW - HOUR);

describe("a key in the list is unmanaged", () => {
  test.each<[string, Given, boolean]>([
    ["if no ApiKey names it", {}, true],
    ["without any ApiKey", { apiKeys: [] }, true],
    ["even without a list of this run", { isRead: false }, true],
    ["but not at once: statuses may lag", { before: [] }, false],
    ["nor at once after a start", { status: { liveKeyIds: ["sak_1"] }, ...started }, false],
    ["nor within 30 seconds", { ageMs: 29 * SECOND }, false],
    ["unless an ApiKey uses it", naming({ current: named("sak_1") }), false],
    ["unless it is pending", naming({ pending: named("sak_1") }), false],
    [
      "unless an ApiKey names it since the list",
      { isRead: false, ...naming({ current: named("sak_1") }) },
      false,
    ],
    ["unless it is superseded", naming({ superseded: [named("sak_1")] }), false],
    ["unless it is orphaned", naming({ orphaned: [named("sak_1")] }), false],
    ["unless it has expired", naming({ current: named("sak_1", 0) }), false],
    ["unless it has expired and is forgotten", { status: { expiredKeyIds: ["sak_1"] } }, false],
    ["unless the console shows it as inactive", inactive, false],
    ["even if the console shows it as active", active, true],
    ["but not while an open attempt may have issued it", open(), false],
    ["but if it is older than the open attempt", open({ knownKeyIds: ["sak_1"] }), true],
    ["but if the attempt is open for an hour", open({ startTime: anHourAgo }), true],
    ["but if it is of another attempt", { ...open({ id: "other" }), records: mark("ci") }, true],
    ["but not if it is of the open attempt", { ...open(), records: mark("ci") }, false],
    ["but not before every ApiKey was reported on", naming({ conditions: [] }), false],
    ["but not before the cache is current", { changes: { apiKeysAreCurrent: false } }, false],
  ])("%s", (_, world, isUnmanaged) => {
    const audit = auditKeys(given(world), NOW);
    expect(idsOf(audit?.unmanagedKeys)).toEqual(isUnmanaged ? ["sak_1"] : []);
    expect(audit?.unmanagedKeyCount).toBe(isUnmanaged ? 1 : 0);
  });

  test("only once a list showed it unnamed: an older list proves nothing", () => {
    const world = given({ before: [], isRead: false });
    const audit = auditKeys(world, NOW);
    expect(audit).toMatchObject({ unmanagedKeyCount: 0, afterMs: undefined });
    expect(audit?.unnamed?.size).toBe(0);
  });

  test("only once a list of the object's own account showed it", () => {
    const answer = { detail: { saId: "sa-1", name: "other", keyIds: ["sak_1"] } };
    const audit = auditKeys(given({ before: [], changes: { answer } }), NOW);
    expect(audit?.unnamed?.size).toBe(0);
  });

  test("and is judged 30 seconds after it was noticed", () => {
    expect(auditKeys(given({ before: [] }), NOW)?.afterMs).toBe(30 * SECOND);
    expect(auditKeys(given({ ageMs: 10 * SECOND }), NOW)?.afterMs).toBe(20 * SECOND);
    const future = auditKeys(given({ ageMs: -HOUR }), NOW);
    expect(future?.afterMs).toBe(30 * SECOND);
    expect(future?.unnamed?.get("sak_1")?.noticedTime).toBe(NOW);
    const two = given({ list: ["sak_1", "sak_2"], before: ["sak_1"], ageMs: 10 * SECOND });
    expect(auditKeys(two, NOW)?.afterMs).toBe(20 * SECOND);
    expect(auditKeys(given({}), NOW)?.afterMs).toBeUndefined();
    const held = given({ apiKeys: [apiKey({ attempt: OPEN })] });
    expect(auditKeys(held, NOW)?.afterMs).toBe(30 * SECOND);
  });

  test("unless the console lists no keys", () => {
    const known = { ...account, liveKeyIds: undefined };
    expect(auditKeys(given({ changes: { account: known } }), NOW)).toBeUndefined();
  });
});

describe("what was reported", () => {
  const stored = { unmanagedKeys: [entry("sak_1")], unmanagedKeyCount: 1, liveKeyIds: ["sak_1"] };

  test.each<[string, Given, readonly string[]]>([
    ["stays, with its time", {}, ["sak_1"]],
    ["stays without a list", { isRead: false }, ["sak_1"]],
    ["goes with the key", { list: [] }, []],
    ["goes if an ApiKey has named it since the list", { before: [], isRead: false }, []],
    ["goes when an ApiKey names it", naming({ orphaned: [named("sak_1")] }), []],
    ["goes when the key is disabled", inactive, []],
  ])("%s", (_, world, expected) => {
    const audit = auditKeys(given({ status: stored, ...world }), NOW);
    expect(idsOf(audit?.unmanagedKeys)).toEqual(expected);
    expect(audit?.found).toEqual([]);
    for (const key of audit?.unmanagedKeys ?? []) expect(key.observedTime).toBe(NOW - HOUR);
  });

  test("stays after a restart, until the first list", () => {
    const status = { ...stored, unmanagedKeyCount: 3 };
    const audit = auditKeys(given({ status, isRead: false, changes: { state: {} } }), NOW);
    expect(audit).toMatchObject({ unmanagedKeyCount: 3, unnamed: undefined });
    const uncounted = given({
      status: { ...stored, unmanagedKeyCount: undefined },
      isRead: false,
      ...started,
    });
    expect(auditKeys(uncounted, NOW)?.unmanagedKeyCount).toBe(1);
  });

  test("is bounded, and still counted, also after a restart", () => {
    const list = Array.from({ length: 60 }, (_, index) => `sak_${index}`);
    const audit = auditKeys(given({ list }), NOW);
    expect(audit?.unmanagedKeys).toHaveLength(50);
    expect(audit?.unmanagedKeyCount).toBe(60);
    const status = {
      unmanagedKeys: list.slice(0, 50).map((keyId) => entry(keyId)),
      unmanagedKeyCount: 60,
      liveKeyIds: list,
    };
    const restarted = auditKeys(given({ list, status, changes: { state: {} } }), NOW);
    expect(restarted).toMatchObject({ unmanagedKeyCount: 60, found: [] });
    const all = [...list, "sak_dropped"];
    const dropped = given({ list: all, before: list, status: { ...status, liveKeyIds: all } });
    expect(auditKeys(dropped, NOW)?.unmanagedKeyCount).toBe(60);
  });

  test("keys that have expired are remembered while the console lists them", () => {
    const expired = { list: ["sak_1"], apiKeys: [apiKey({ superseded: [named("sak_1", -1)] })] };
    expect(auditKeys(given(expired), NOW)?.expiredKeyIds).toEqual(["sak_1"]);
    const gone = { list: [], status: { expiredKeyIds: ["sak_1"] } };
    expect(auditKeys(given(gone), NOW)?.expiredKeyIds).toEqual([]);
    const orphaned = apiKey({ orphaned: [named("sak_1", -1)] });
    expect(auditKeys(given({ apiKeys: [orphaned] }), NOW)?.expiredKeyIds).toEqual(["sak_1"]);
    const late = apiKey({ orphaned: [{ ...named("sak_1", -1), late: true }] });
    expect(auditKeys(given({ apiKeys: [late] }), NOW)?.expiredKeyIds).toEqual([]);
  });
});

const EARLIER = attemptId("old-uid", "a1");
const reported = entry("sak_1", { apiKey: "gone", attemptId: ATTEMPT });

describe("an ApiKey is to list a key", () => {
  test.each<[string, Given, string | undefined]>([
    ["that its own attempt issued", { records: mark("ci") }, "ci"],
    ["even if it had no cluster name then", { records: mark("ci"), ...blue }, "ci"],
    ["that its own attempt issued in this cluster", { ...inCluster("blue"), ...blue }, "ci"],
    ["but not one of another cluster", { ...inCluster("green"), ...blue }, undefined],
    ["but not one without a description", {}, undefined],
    ["nor one of another namespace", { records: mark("ci", ATTEMPT, "team-b") }, undefined],
    ["nor one of an ApiKey of another account", { records: mark("elsewhere") }, undefined],
    ["nor one of an earlier object of that name", { records: mark("ci", EARLIER) }, undefined],
    [
      "nor one of an ApiKey that was created again since",
      { status: { unmanagedKeys: [entry("sak_1", { apiKey: "ci", attemptId: EARLIER })] } },
      undefined,
    ],
    ["nor one of a deleted ApiKey", { status: { unmanagedKeys: [reported] } }, undefined],
  ])("%s", (_, world, name) => {
    const [key] = auditKeys(given(world), NOW)?.unmanagedKeys ?? [];
    expect(key).toMatchObject({ keyId: "sak_1", apiKey: name });
    expect(key?.attemptId).toBe(name === undefined ? undefined : ATTEMPT);
  });

  test("before the list is full", () => {
    const list = [...Array.from({ length: 60 }, (_, index) => `sak_x${index}`), "sak_1"];
    const [first] = auditKeys(given({ list, records: mark("ci") }), NOW)?.unmanagedKeys ?? [];
    expect(first).toMatchObject({ keyId: "sak_1", apiKey: "ci" });
  });
});

test("a key's cluster is named as far as its description shows", () => {
  const world = given({ ...inCluster("green"), ...blue });
  const audit = auditKeys(world, NOW);
  expect(audit?.unmanagedKeys).toMatchObject([{ cluster: "green" }]);
  expect(auditConditions(world, audit)[0]).toMatchObject({
    message: expect.stringContaining(
      "Delete in the console sak_1 (its description names cluster green), unless something uses it, such as a retained Secret; or ",
    ),
  });
  expect(auditEvents(world, audit)[0]?.event.note).toContain(
    "no ApiKey names. Its description names cluster green.",
  );
  const status = { unmanagedKeys: [entry("sak_1", { cluster: "green" })] };
  const later = auditKeys(given({ status, ...blue }), NOW);
  expect(later?.unmanagedKeys).toMatchObject([{ cluster: "green" }]);
});

describe("the report", () => {
  const reportOf = (world: Given) => {
    const snapshot = given(world);
    const audit = auditKeys(snapshot, NOW);
    const [condition] = auditConditions(snapshot, audit);
    return { condition, events: auditEvents(snapshot, audit).map(({ event }) => event.reason) };
  };
  const ok = (reason: string) => ({ status: "True", reason });
  const wasManaged = { status: { conditions: [{ ...READY, type: "KeysManaged" }] } };
  const many = Array.from({ length: 60 }, (_, n) => `k${n}`);
  const unlisted = { changes: { account: { ...account, liveKeyIds: undefined } } };

  test.each<[string, Given, object, number]>([
    ["without one", { list: [] }, ok("NoUnmanagedKeys"), 0],
    ["of one", {}, { status: "False", reason: "UnmanagedKeys" }, 1],
    ["of an expected one", { spec: { unmanagedKeys: "Expect" } }, ok("UnmanagedKeysExpected"), 0],
    ["of one that an ApiKey reports", { records: mark("ci") }, { status: "False" }, 0],
    ["of one beside a new one", { list: ["k1", "k2"], before: ["k1"] }, { status: "False" }, 1],
    ["of many", { list: many }, { status: "False" }, 10],
    ["before the first list is confirmed", { ageMs: 0 }, { status: "Unknown" }, 0],
    [
      "of a new key of an account that was managed",
      { ageMs: 0, ...wasManaged },
      { status: "Unknown", reason: "KeysNotConfirmed" },
      0,
    ],
    [
      "of a key that a first issue has just issued",
      { ageMs: 0, ...open() },
      { status: "Unknown", reason: "KeysNotConfirmed" },
      0,
    ],
    [
      "of a key that a rotation has just issued",
      { ageMs: 0, ...wasManaged, ...open() },
      ok("NoUnmanagedKeys"),
      0,
    ],
    ["if keys are not listed", unlisted, { status: "Unknown" }, 0],
  ])("%s", (_, world, condition, events) => {
    const said = reportOf(world);
    expect(said.condition).toMatchObject({ type: "KeysManaged", ...condition });
    expect(said.events).toEqual(Array.from({ length: events }, () => "UnmanagedKey"));
  });

  test("is Unknown if the account is gone", () => {
    const snapshot = given({ list: [] });
    expect(auditConditions(snapshot, auditKeys(snapshot, NOW), true)).toMatchObject([
      { type: "KeysManaged", status: "Unknown", reason: "KeysNotListed" },
    ]);
  });

  test("is absent without an account", () => {
    const snapshot = given({ changes: { account: undefined } });
    expect(auditConditions(snapshot, auditKeys(snapshot, NOW))).toEqual([{ type: "KeysManaged" }]);
  });

  test("a deletion leaves the condition as it is, unless it says that all is well", () => {
    expect(auditConditions(given({ changes: { object: deleted } }), undefined)).toEqual([]);
    const managed = { type: "KeysManaged", status: "True" };
    const object = { ...deleted, status: { conditions: [managed] } } as never;
    expect(auditConditions(given({ changes: { object } }), undefined)).toMatchObject([
      { status: "Unknown", reason: "KeysNotCompared" },
    ]);
  });

  test("the condition says what to do", () => {
    const { condition } = reportOf({ list: ["sak_1", "sak_2"] });
    expect(condition && "message" in condition && condition.message).toBe(
      "The console lists 2 valid keys that no ApiKey names. Delete in the console sak_1, sak_2, unless something uses them, such as a retained Secret; or set spec.unmanagedKeys: Expect if keys are issued outside the operator.",
    );
  });
});
