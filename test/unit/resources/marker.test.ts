import { expect, test } from "vitest";
import {
  attemptId,
  describeAccount,
  describeKey,
  isOfAttempt,
  isOfObject,
  markerOf,
} from "../../../src/resources/marker.ts";

const key = { namespace: "team-a", name: "ci-bot" };
const other = { namespace: "team-b", name: "ci-bot" };
const attempt = attemptId("u1", "a");
const marker = `k8s team-a/ci-bot#${attempt}`;

test.each([
  ["alone", undefined, marker, marker],
  ["after the user's words", "builds", `builds ${marker}`, `builds (${marker})`],
])("a marker stands %s", (_, text, ofAccount, ofKey) => {
  expect(describeAccount(text, key, attempt)).toBe(ofAccount);
  expect(describeKey(text, key, attempt)).toBe(ofKey);
  for (const description of [ofAccount, ofKey])
    expect(markerOf(description)).toEqual({ ...key, attempt, cluster: undefined });
});

test("a marker stands alone after empty words, and may name a cluster", () => {
  expect(describeAccount("", key, attempt)).toBe(marker);
  expect(describeAccount("builds", key, attempt, "blue")).toBe(
    `builds k8s@blue team-a/ci-bot#${attempt}`,
  );
});

test.each([
  ["its attempt", marker, key, true, true],
  [
    "another attempt of the object",
    describeAccount("", key, attemptId("u1", "b")),
    key,
    false,
    true,
  ],
  ["an earlier object", describeAccount("", key, attemptId("u0", "a")), key, false, false],
  ["an object of another namespace", marker, other, false, false],
  ["nothing, as words follow it", `${marker} and more`, key, false, false],
])("a marker names %s", (_, text, object, isAttempt, isObject) => {
  expect(isOfAttempt(text, object, attempt)).toBe(isAttempt);
  expect(isOfObject(text, object, "u1")).toBe(isObject);
});
