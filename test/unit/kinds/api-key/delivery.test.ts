/** Which staged pair is news to the consumers, and which late keys get into the status. */
import { expect, test } from "vitest";
import {
  lateKeysToList,
  pairToDeliver,
  previousOf,
} from "../../../../src/kinds/api-key/rules/delivery.ts";
import type { ApiKeySnapshot } from "../../../../src/kinds/api-key/rules/snapshot.ts";
import type { OrphanedKey } from "../../../../src/kinds/api-key/rules/status.ts";
import { DAY } from "../../../../src/util/time.ts";
import {
  at,
  current,
  delivered,
  holding,
  keySpec,
  NOW,
  ofBot,
  pair,
  snapshot,
  staged,
  superseded,
} from "./builders.ts";

const orphan = (keyId: string, attemptId: string): OrphanedKey => ({
  ...{ keyId, attemptId, ...ofBot },
  ...{ expirationTime: NOW + DAY, observedTime: NOW, late: undefined },
});
const second = pair(2);

test.each<[string, Partial<ApiKeySnapshot["status"]>, string | undefined]>([
  ["of which the status knows nothing", {}, "sak_2"],
  ["after a later key", { superseded: [superseded(3, { issueTime: NOW })] }, "sak_2"],
  ["that was superseded", { superseded: [superseded(2, { issueTime: NOW })] }, undefined],
  ["beside another key of its attempt", { orphaned: [orphan("sak_3", "a1")] }, "sak_2"],
  ["that was given up", { orphaned: [orphan("sak_2", "a1")] }, undefined],
])("a staged pair %s is delivered, or not: %j", (_, status, expected) => {
  const given = delivered({ pending: staged(second), status });
  expect(pairToDeliver(given)?.keyId).toBe(expected);
});

test("a pair that the Secret holds is not delivered again, whatever its revision in the status", () => {
  const status = { current: current(2, { revision: 1 }) };
  const given = snapshot({ pending: staged(second), target: holding(second), status });
  expect(pairToDeliver(given)).toBeUndefined();
});

test.each([
  [499, 1],
  [500, 0],
  [501, 0],
])("beside %i orphaned keys, %i late keys are listed", (count, listed) => {
  const orphaned = Array.from({ length: count }, (_, index) => orphan(`old_${index}`, "a0"));
  const lateKeys = ["sak_8", "sak_9"].map((keyId) => ({ keyId, attemptId: "a9", ...ofBot }));
  const given = delivered({ status: { orphaned }, lateKeys: lateKeys as never });
  expect(lateKeysToList(given)).toHaveLength(listed);
});

test.each<[string, ApiKeySnapshot, string | undefined]>([
  ["the pair in the Secret", delivered(), "sak_1"],
  ["the key of a Secret that was lost", snapshot({ status: { current: current(1) } }), "sak_1"],
  [
    "no key that has expired",
    snapshot({ status: { current: current(1, { expirationTime: NOW }) } }),
    undefined,
  ],
  ["nothing before the first key", snapshot({}), undefined],
  [
    "no ID without the secret that an entry needs",
    snapshot({
      spec: keySpec({ secret: { data: { secret: "${secret}", old: "${previousSecret}" } } }),
      status: { current: current(1) },
    }),
    undefined,
  ],
  ["not its own ID", snapshot({ status: { current: current(2) } }), undefined],
])("a new pair is shown with %s as previous", (_, given, expected) => {
  expect(previousOf(second, given, at())?.keyId).toBe(expected);
});
