/** What counts towards the number of keys that a namespace may be issued in a day. */
import { expect, test } from "vitest";
import type { ApiKey } from "../../../../src/api/api-key.ts";
import { NamespaceIssues } from "../../../../src/controllers/api-key/namespace-issues.ts";
import { DAY, HOUR, toIso8601 } from "../../../../src/util/time.ts";
import { cachesWith } from "../../../support/caches-with.ts";
import { NOW, object } from "./builders.ts";

const CONNECTION = "ClusterConnection/default";
const OTHER = "ClusterConnection/other";

function issued(...windows: readonly (readonly [start: number, count: number])[]) {
  const apiKeys = windows.map(([start, count]) => ({
    ...object(),
    status: { issuances: { windowStartTime: toIso8601(start), count } },
  })) as readonly ApiKey[];
  const account = { metadata: { namespace: "team-a", name: "bot" } };
  const caches = cachesWith({
    serviceaccounts: { byIndex: (_: string, key: string) => (key === CONNECTION ? [account] : []) },
    apikeys: { byIndex: () => apiKeys },
  });
  return new NamespaceIssues(caches);
}

test("counts what the statuses tell of the last 24 hours, once", () => {
  const issues = issued([NOW - HOUR, 2], [NOW - DAY + HOUR, 3], [NOW - 2 * DAY, 4]);
  expect(issues.count(CONNECTION, "team-a", NOW)).toBe(5);
  expect(issues.count(CONNECTION, "team-a", NOW + 2 * HOUR)).toBe(2);
  expect(issues.count(CONNECTION, "team-b", NOW)).toBe(0);
  expect(issues.count(OTHER, "team-a", NOW)).toBe(0);
});

test("adds what is issued from then on, and takes back what did not come about", () => {
  const issues = issued([NOW - HOUR, 1]);
  expect(issues.count(CONNECTION, "team-a", NOW)).toBe(1);
  issues.note(CONNECTION, "team-a", NOW);
  issues.note(CONNECTION, "team-a", NOW + 1);
  issues.takeBack(CONNECTION, "team-a", NOW);
  issues.takeBack(CONNECTION, "team-a", NOW + 7);
  expect(issues.count(CONNECTION, "team-a", NOW + 1)).toBe(2);
  expect(issues.count(CONNECTION, "team-a", NOW + 1 + DAY)).toBe(0);
});

test("what was issued before anybody asked is in the statuses, and not counted twice", () => {
  const issues = issued([NOW, 1]);
  issues.note(CONNECTION, "team-a", NOW);
  expect(issues.count(CONNECTION, "team-a", NOW)).toBe(1);
});

test("a status with an absurd number costs no memory", () => {
  expect(issued([NOW, 2 ** 40]).count(CONNECTION, "team-a", NOW)).toBe(2 ** 40);
});
