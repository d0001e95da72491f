/** What counts towards the number of keys that a namespace may be issued in a day. */
import { expect, test } from "vitest";
import type { ApiKey } from "../../../../src/api/api-key.ts";
import { DeletedIssues } from "../../../../src/kinds/api-key/deleted-issues.ts";
import { NamespaceIssues } from "../../../../src/kinds/api-key/namespace-issues.ts";
import { DAY, HOUR, toIso8601 } from "../../../../src/util/time.ts";
import { cachesWith } from "../../../support/caches-with.ts";
import { NOW, object } from "./builders.ts";

const CONNECTION = "ClusterConnection/default";
const OTHER = "ClusterConnection/other";

function issued(...counts: readonly (readonly [time: number, count: number])[]) {
  return issuesOf(counts.map(([time, count]) => apiKey({ recentIssues: issuesAt(time, count) })));
}

function issuesAt(time: number, count: number) {
  return Array.from({ length: count }, (_, index) => ({
    time: toIso8601(time),
    ...(index % 2 === 0 ? { requested: true } : {}),
  }));
}

function apiKey(status: ApiKey["status"], uid = "uid-1"): ApiKey {
  const { metadata, ...rest } = object();
  return { ...rest, metadata: { ...metadata, namespace: "team-a", uid }, status } as ApiKey;
}

const AT = { now: NOW };

function issuesOf(apiKeys: readonly ApiKey[], deleted?: DeletedIssues) {
  const account = { metadata: { namespace: "team-a", name: "bot" } };
  const caches = cachesWith({
    serviceaccounts: { byIndex: (_: string, key: string) => (key === CONNECTION ? [account] : []) },
    apikeys: { byIndex: () => apiKeys },
  });
  return new NamespaceIssues(caches, deleted);
}

test("counts what the statuses tell of the last 24 hours, once", () => {
  const issues = issued([NOW - HOUR, 2], [NOW - DAY + HOUR, 3], [NOW - 2 * DAY, 4]);
  expect(issues.count(CONNECTION, "team-a", AT)).toBe(5);
  expect(issues.count(CONNECTION, "team-a", { now: NOW + 2 * HOUR })).toBe(2);
  expect(issues.count(CONNECTION, "team-b", AT)).toBe(0);
  expect(issues.count(OTHER, "team-a", AT)).toBe(0);
});

test("adds what is issued from then on, and takes back what did not come about", () => {
  const issues = issued([NOW - HOUR, 1]);
  expect(issues.count(CONNECTION, "team-a", AT)).toBe(1);
  issues.note(CONNECTION, "team-a", "uid", NOW);
  issues.note(CONNECTION, "team-a", "uid", NOW + 1);
  issues.remove(CONNECTION, "team-a", "uid", NOW);
  issues.remove(CONNECTION, "team-a", "uid", NOW + 7);
  expect(issues.count(CONNECTION, "team-a", { now: NOW + 1 })).toBe(2);
  expect(issues.count(CONNECTION, "team-a", { now: NOW + 1 + DAY })).toBe(0);
});

test("what was issued before anybody asked is in the statuses, and not counted twice", () => {
  const issues = issued([NOW, 1]);
  issues.note(CONNECTION, "team-a", "uid", NOW);
  expect(issues.count(CONNECTION, "team-a", AT)).toBe(1);
});

test("issues in the future were issued by a clock that ran ahead, and count for a day", () => {
  const deleted = new DeletedIssues();
  deleted.add(`${CONNECTION} team-a`, NOW + 70 * DAY, 2);
  const restored = new DeletedIssues();
  restored.restore(deleted.toText(NOW));
  const later = issuesOf([], restored);
  expect(later.count(CONNECTION, "team-a", { now: NOW + DAY + HOUR })).toBe(0);
  for (const known of [deleted, restored]) {
    const ahead = apiKey({ recentIssues: issuesAt(NOW + 70 * DAY, 3) });
    const issues = issuesOf([ahead], known);
    expect(issues.count(CONNECTION, "team-a", AT)).toBe(5);
    expect(issues.count(CONNECTION, "team-a", { now: NOW + DAY + HOUR })).toBe(0);
  }
});

test("a day that two clocks only say is over is not over", () => {
  const issues = issued([NOW - HOUR, 2]);
  expect(issues.count(CONNECTION, "team-a", { now: NOW + 2 * DAY, earliest: NOW })).toBe(2);
});

test("of more issues than a status reports, those of listed keys count", () => {
  const at = (hours: number) => toIso8601(NOW - hours * HOUR);
  const status = {
    current: { issueTime: at(1) },
    superseded: [{ issueTime: at(3) }, { issueTime: at(23) }, { issueTime: at(30) }],
    recentIssues: [{ time: at(1) }, { time: at(2) }, { time: at(3) }],
  };
  const issues = issuesOf([apiKey(status as ApiKey["status"])]);
  expect(issues.count(CONNECTION, "team-a", AT)).toBe(4);
  expect(issues.count(CONNECTION, "team-a", { now: NOW + 2 * HOUR })).toBe(3);
});

test("what was issued for deleted ApiKeys counts for the next leader, too, for a day", () => {
  const deleted = new DeletedIssues();
  const gone = apiKey({ recentIssues: issuesAt(NOW - 2 * HOUR, 3) });
  const issues = issuesOf([gone], deleted);
  expect(issues.count(CONNECTION, "team-a", AT)).toBe(3);
  issues.note(CONNECTION, "team-a", "uid-1", NOW);
  issues.note(CONNECTION, "team-a", "uid-2", NOW);
  expect(deleted.toText(NOW)).toBeUndefined();
  issues.onDeleted(gone);

  const next = new DeletedIssues();
  next.restore(deleted.toText(NOW));
  const standby = issuesOf([], next);
  expect(standby.count(CONNECTION, "team-a", AT)).toBe(4);
  expect(standby.count(OTHER, "team-a", AT)).toBe(0);
  expect(standby.count(CONNECTION, "team-b", AT)).toBe(0);
  expect(standby.count(CONNECTION, "team-a", { now: NOW + 23 * HOUR })).toBe(1);
  expect(standby.count(CONNECTION, "team-a", { now: NOW + 26 * HOUR })).toBe(0);
  expect(next.toText(NOW + 26 * HOUR)).toBeUndefined();
});

test.each([undefined, "", "{", "[]", "7", '{"a":7}', '{"a":[7,["x",1],[1,"y"],[null,null]]}'])(
  "%j from a Lease counts as nothing",
  (text) => {
    const deleted = new DeletedIssues();
    deleted.restore(text);
    expect(deleted.toText(NOW)).toBeUndefined();
  },
);

test.each([
  [0, Number.POSITIVE_INFINITY],
  [1, NOW - HOUR + DAY],
  [2, NOW - HOUR + DAY],
  [3, NOW - 2 * HOUR + DAY],
  [5, NOW - 2 * HOUR + DAY],
  [6, 0],
])("of five keys, a limit of %i permits another from %i on", (most, freeAt) => {
  const issues = issued([NOW - HOUR, 2], [NOW - 2 * HOUR, 3], [NOW - DAY, 4]);
  expect(issues.usage(CONNECTION, "team-a", most, AT)).toEqual({ most, count: 5, freeAt });
  const isFree = issues.count(CONNECTION, "team-a", { now: freeAt }) < most;
  expect(isFree).toBe(most > 0);
});
