import { expect, test } from "vitest";
import type { KeyStatus } from "../../../../src/kinds/api-key/rules/status.ts";
import {
  withAcceptedKey,
  withAttempt,
  withDeliveredKey,
  withFoundKey,
  withoutAttempt,
  withUnlistedKey,
} from "../../../../src/kinds/api-key/rules/transitions.ts";
import { DAY, MINUTE } from "../../../../src/util/time.ts";
import { current, NOW, noKeys, openAttempt, pair, superseded } from "./builders.ts";

const requested = { ...openAttempt(1), reason: "RotationRequested" } as const;
const issueAt = (time: number) => ({ time, requested: undefined });

test("a requested issue is marked in the budget, and no other", () => {
  const marks = [openAttempt(1), requested].map(
    (attempt) => withAttempt(noKeys, attempt, undefined).recentIssues[0]?.requested,
  );
  expect(marks).toEqual([undefined, true]);
});

test("a new rotation request is the last one, and those before it stay handled", () => {
  const before = { ...noKeys, lastHandledRotateAt: "two", earlierRotateRequests: ["one"] };
  const after = withAttempt(before, requested, "three");
  expect(after.lastHandledRotateAt).toBe("three");
  expect(after.earlierRotateRequests).toEqual(["two", "one"]);
});

test.each([
  ["returns its attempt", NOW, [NOW - MINUTE]],
  ["returns no other", NOW - 2 * MINUTE, [NOW, NOW - MINUTE]],
])("a refund %s to the budget", (_, startTime, left) => {
  const attempt = { ...openAttempt(1), startTime };
  const before = { ...noKeys, attempt, recentIssues: [NOW, NOW - MINUTE].map(issueAt) };
  expect(withoutAttempt(before, true).recentIssues).toEqual(left.map(issueAt));
});

test.each([
  ["of a requested rotation", { attempt: requested }, true],
  ["of another", { attempt: openAttempt(1) }, false],
  ["of another while one is pending", { attempt: openAttempt(1), rotationPending: true }, true],
])(
  "whether an attempt %s, closed without a pair, leaves the rotation pending",
  (_, changes, is) => {
    const before: KeyStatus = { ...noKeys, rotationPending: false, ...changes };
    expect(withoutAttempt(before, false).rotationPending).toBe(is);
  },
);

test.each([
  [true, NOW],
  [false, undefined],
])("a delivered key counts as verified if it is proven: %s", (isProven, time) => {
  const after = withDeliveredKey(noKeys, pair(1), isProven, NOW);
  expect(after.current?.verificationTime).toBe(time);
});

test("a pair found without a status marks the request as handled", () => {
  expect(withFoundKey(noKeys, pair(1), "now", NOW).lastHandledRotateAt).toBe("now");
});

test("a pair found beside a status leaves the request open", () => {
  const before = { ...noKeys, current: current(1), lastHandledRotateAt: "then" };
  expect(withFoundKey(before, pair(2), "now", NOW).lastHandledRotateAt).toBe("then");
});

test.each([
  ["the first time", "sak_1", undefined, NOW],
  ["no later time", "sak_1", NOW - DAY, NOW - DAY],
  ["another key", "sak_2", undefined, undefined],
])("of the accepted key, %s counts", (_, keyId, verificationTime, time) => {
  const before = { ...noKeys, current: current(1, { verificationTime }) };
  expect(withAcceptedKey(before, keyId, NOW).current?.verificationTime).toBe(time);
});

test("a key that is listed is not listed again", () => {
  const before = { ...noKeys, superseded: [superseded(1)] };
  expect(withUnlistedKey(before, pair(1), NOW)).toEqual(before);
});

test("a key does not supersede itself", () => {
  const before = { ...noKeys, current: current(1), superseded: [superseded(1)] };
  expect(withDeliveredKey(before, pair(1), true, NOW).superseded).toEqual([]);
});
