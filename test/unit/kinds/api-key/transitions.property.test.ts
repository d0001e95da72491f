/** No transition of a status loses a key that it lists (S5). */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type KeyStatus,
  listedKeyIds,
  type OrphanedKey,
} from "../../../../src/kinds/api-key/rules/status.ts";
import * as transitions from "../../../../src/kinds/api-key/rules/transitions.ts";
import { DAY } from "../../../../src/util/time.ts";
import { maybe } from "../requeue.ts";
import { current, NOW, noKeys, ofBot, openAttempt, pair, superseded } from "./builders.ts";

const attemptId = fc.constantFrom("a1", "a2");
const orphan = (keyId: string | undefined, attempt: string): OrphanedKey => ({
  keyId,
  attemptId: attempt,
  observedTime: NOW,
  expirationTime: NOW + DAY,
  late: undefined,
  ...ofBot,
});
/** Six keys, each in one list or in none; and orphans whose IDs are not known. */
const status = fc
  .record({
    places: fc.array(fc.constantFrom("superseded", "orphaned", "nowhere"), {
      minLength: 6,
      maxLength: 6,
    }),
    inUse: maybe(fc.integer({ min: 1, max: 6 })),
    attempts: fc.array(attemptId, { minLength: 6, maxLength: 6 }),
    unknown: fc.uniqueArray(attemptId),
    isOpen: fc.boolean(),
  })
  .map(({ places, inUse, attempts, unknown, isOpen }): KeyStatus => {
    const at = (place: string) =>
      places.flatMap((each, index) => (each === place && index + 1 !== inUse ? [index + 1] : []));
    return {
      ...noKeys,
      attempt: isOpen ? openAttempt(7) : undefined,
      current: inUse === undefined ? undefined : current(inUse),
      superseded: at("superseded").map((revision) => superseded(revision)),
      orphaned: [
        ...at("orphaned").map((revision) =>
          orphan(pair(revision).keyId, attempts[revision - 1] ?? "a1"),
        ),
        ...unknown.map((each) => orphan(undefined, each)),
      ],
    };
  });
const entries = ({ current: inUse, superseded: past, orphaned }: KeyStatus) =>
  (inUse === undefined ? 0 : 1) + past.length + orphaned.length;
const unknownOf = ({ orphaned }: KeyStatus, attempt: string) =>
  orphaned.filter((key) => key.keyId === undefined && key.attemptId === attempt).length;

test("whatever happens to a key, each key that the status lists stays listed", () => {
  const given = fc.record({ before: status, revision: fc.integer({ min: 1, max: 7 }), attemptId });
  fc.assert(
    fc.property(given, ({ before, revision, attemptId: attempt }) => {
      const it = pair(revision);
      const { keyId } = it;
      const lost = orphan("sak_lost", attempt);
      const late = [{ keyId: "sak_late", attemptId: attempt }];
      // Every transition has a line here: the compiler asks for those to come.
      const after: Record<keyof typeof transitions, KeyStatus> = {
        withAttempt: transitions.withAttempt(before, openAttempt(8), undefined),
        withoutAttempt: transitions.withoutAttempt(before, false, [lost]),
        withLateKeys: transitions.withLateKeys(before, late, 1, NOW),
        withDeliveredKey: transitions.withDeliveredKey(before, it, true, NOW),
        withFoundKey: transitions.withFoundKey(before, it, undefined, NOW),
        withAcceptedKey: transitions.withAcceptedKey(before, keyId, NOW),
        withUnlistedKey: transitions.withUnlistedKey(before, it, NOW),
        withEndedKey: transitions.withEndedKey(before, keyId, { state: "Disabled" }, NOW),
      };
      for (const each of Object.values(after)) {
        expect(listedKeyIds(each)).toEqual(expect.arrayContaining([...listedKeyIds(before)]));
        expect(entries(each)).toBeGreaterThanOrEqual(entries(before));
      }
      expect(listedKeyIds(after.withoutAttempt)).toContain("sak_lost");
      expect(listedKeyIds(after.withLateKeys)).toContain("sak_late");
      expect(listedKeyIds(after.withDeliveredKey)).toContain(keyId);
      expect(listedKeyIds(after.withFoundKey)).toContain(keyId);
      expect(listedKeyIds(after.withUnlistedKey)).toContain(keyId);
      // A late key is the unknown one of its attempt, if there is one.
      expect(unknownOf(after.withLateKeys, attempt)).toBe(
        Math.max(unknownOf(before, attempt) - 1, 0),
      );
      const ended = after.withEndedKey;
      const states = ended.superseded.filter((key) => key.keyId === keyId);
      const wasListed = [before.current, ...before.superseded].some((key) => key?.keyId === keyId);
      expect(states.map(({ state }) => state)).toEqual(wasListed ? ["Disabled"] : []);
      expect(
        transitions.withEndedKey(ended, keyId, { state: "Deleted" }, NOW).superseded,
      ).toHaveLength(ended.superseded.length);
    }),
    { numRuns: 500 },
  );
});

test("a rotation request is handled from its attempt on, once", () => {
  const first = transitions.withAttempt(noKeys, openAttempt(1), "one");
  expect(first.lastHandledRotateAt).toBe("one");
  const second = transitions.withAttempt(first, openAttempt(2), "two");
  const again = transitions.withAttempt(second, openAttempt(3), "one");
  const handled = { lastHandledRotateAt: "two", earlierRotateRequests: ["one"] };
  expect(second).toMatchObject(handled);
  expect(again).toMatchObject(handled);
});
