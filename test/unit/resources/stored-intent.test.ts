/** Which intents count: everything else of an annotation that anyone may have written says nothing. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/meta.ts";
import { asRead } from "../../../src/kube/resource.ts";
import { attemptId } from "../../../src/resources/marker.ts";
import { apiKeyType, serviceAccountType } from "../../../src/resources/resource-types.ts";
import { intentText } from "../../../src/resources/stored-intent.ts";

const UID = "7c8a2a3e";
const [A, B, C] = ["a", "b", "c"].map((name) => attemptId(UID, name)) as [string, string, string];

const attemptOf = (id: string) => ({
  id,
  revision: 1,
  reason: "NoKeyYet",
  startTime: "2026-01-01T00:00:00Z",
  knownKeyIds: [],
});
const recentIssues = [{ time: "2026-01-01T00:00:00Z" }];
const textOf = (id: string, lastAttemptId?: string) =>
  intentText(
    { attempt: attemptOf(id), recentIssues },
    lastAttemptId === undefined ? {} : { status: { lastAttemptId } },
  );

function read(text: string, status?: object, uid = UID) {
  const noted = { [annotations.intent]: text, other: "note" };
  const metadata = { name: "ci", namespace: "team-a", uid, annotations: noted };
  const object = asRead(apiKeyType, { metadata, ...(status && { status }) });
  expect(object.metadata.annotations).toEqual({ other: "note" });
  return (object as { status?: Record<string, unknown> }).status;
}

describe("an intent is open", () => {
  test.each<[string, string, object | undefined]>([
    ["of a new object", textOf(A), undefined],
    ["if the status names no closed attempt", textOf(A), { current: { keyId: "sak_1" } }],
    ["if the status has closed the attempt before it", textOf(B, A), { lastAttemptId: A }],
    ["of an object whose status was wiped", textOf(B, A), {}],
  ])("%s", (_, text, status) => {
    const { attempt } = JSON.parse(text);
    expect(read(text, status)).toEqual({ ...status, attempt, recentIssues });
  });
});

describe("an intent is not open", () => {
  test.each<[string, string, object | undefined]>([
    ["if the status has closed it", textOf(A), { lastAttemptId: A }],
    [
      "if the status has closed it and the text was written otherwise",
      ` ${textOf(A)}`,
      { lastAttemptId: A },
    ],
    ["if the status has it", textOf(A), { attempt: attemptOf(A) }],
    ["if the status has another open attempt", textOf(B), { attempt: attemptOf(A) }],
    [
      "if the status has closed a later one: an older annotation was put back",
      textOf(B, A),
      { lastAttemptId: C },
    ],
    ["if an older one was put back that was the first", textOf(A), { lastAttemptId: B }],
    ["if another object made it", textOf(attemptId("other", "a")), undefined],
    ["if it is no JSON", "yes", undefined],
    ["if it has no attempt", JSON.stringify({ recentIssues }), undefined],
    ["if its time is none", textOf(A).replace("2026-01-01T", "soon"), undefined],
    ["if its id is too long", textOf(`${A}${"a".repeat(64)}`), undefined],
  ])("%s", (_, text, status) => {
    expect(read(text, status)).toEqual(status);
  });
});

test("a copy of an object, which has another uid, has no open attempt", () => {
  expect(read(textOf(A), undefined, "a-copy")).toBeUndefined();
});

test("an object without the annotation is as it is", () => {
  const object = { metadata: { name: "ci", uid: UID, annotations: { a: "b" } } };
  expect(asRead(apiKeyType, object)).toBe(object);
});

test("of a ServiceAccount, only an attempt counts whose account a description has to name", () => {
  const attempt = { id: A, startTime: "2026-01-01T00:00:00Z" };
  const readAttempt = (noted: object) => {
    const metadata = {
      name: "bot",
      uid: UID,
      annotations: { [annotations.intent]: JSON.stringify({ attempt: noted }) },
    };
    return (asRead(serviceAccountType, { metadata }) as { status?: { attempt?: object } }).status
      ?.attempt;
  };
  expect(readAttempt({ ...attempt, described: true })).toEqual({ ...attempt, described: true });
  for (const forged of [attempt, { ...attempt, described: false }])
    expect(readAttempt(forged)).toBeUndefined();
});

test("whatever the annotation says, nothing but the fields of an intent gets into the status", () => {
  const status = { current: { keyId: "sak_1" }, orphaned: [] };
  const known = new Set([
    "attempt",
    "recentIssues",
    "lastHandledRotateAt",
    "earlierRotateRequests",
  ]);
  const anything = fc.oneof(
    fc.string(),
    fc.json(),
    fc
      .dictionary(fc.string(), fc.jsonValue())
      .map((fields) => JSON.stringify({ attempt: attemptOf(A), current: 1, ...fields })),
  );
  fc.assert(
    fc.property(anything, (text) => {
      const { current, orphaned, ...others } = read(text, status) ?? {};
      expect({ current, orphaned }).toEqual(status);
      expect(Object.keys(others).filter((field) => !known.has(field))).toEqual([]);
    }),
  );
});
