import { describe, expect, test } from "vitest";
import type { KeyLifetime } from "../../../../src/console/model.ts";
import { heldPair, notesOn } from "../../../../src/kinds/api-key/effects/issued-pair.ts";
import type { KeyStatus } from "../../../../src/kinds/api-key/rules/status.ts";
import { Redacted } from "../../../../src/util/redacted.ts";
import { DAY, HOUR, MINUTE } from "../../../../src/util/time.ts";
import { current, NOW, noKeys, ofBot, superseded } from "./builders.ts";

const attempt = { id: "a1", revision: 2 };
const SECRET = new Redacted("s".repeat(43));

function issued(lifetime: KeyLifetime, consoleAheadMs: number | null = 0) {
  const consoleTime = consoleAheadMs === null ? undefined : NOW + consoleAheadMs;
  const answer = { keyId: "sak_1", secret: SECRET, lifetime };
  return heldPair(attempt, answer, { issueTime: NOW, expiresInDays: 90, consoleTime }).pair;
}

describe("a key for which 90 days were requested expires after", () => {
  test.each<[string, KeyLifetime, number | null, number]>([
    ["90 days if the answer shows nothing", {}, 0, 90 * DAY],
    ["90 days if the answer says so", { lifetimeMs: 90 * DAY }, 0, 90 * DAY],
    ["a day if the answer says so", { lifetimeMs: DAY }, 0, DAY],
    ["90 days if the answer shows more", { lifetimeMs: 365 * DAY }, 0, 90 * DAY],
    ["a day if it expires then", { expiresAt: NOW + DAY }, 0, DAY],
    ["the shorter of both", { lifetimeMs: 30 * DAY, expiresAt: NOW + DAY }, 0, DAY],
    ["90 days if the times differ by minutes", { expiresAt: NOW + 90 * DAY - MINUTE }, 0, 90 * DAY],
    ["90 days if it expires later", { expiresAt: NOW + 365 * DAY }, 0, 90 * DAY],
    ["90 days by a console that is behind", { expiresAt: NOW + 20 * DAY }, -70 * DAY, 90 * DAY],
    ["a day by a console that is ahead", { expiresAt: NOW + 71 * DAY }, 70 * DAY, DAY],
    ["90 days if the console's time is unknown", { expiresAt: NOW + DAY }, null, 90 * DAY],
    ["90 days if it has expired already", { expiresAt: NOW - HOUR }, 0, 90 * DAY],
  ])("%s", (_, lifetime, consoleAheadMs, expected) => {
    expect(issued(lifetime, consoleAheadMs).expirationTime - NOW).toBe(expected);
  });
});

describe("what is said about a new key", () => {
  const orphan = { keyId: "sak_1", attemptId: "a0", observedTime: NOW, late: undefined, ...ofBot };
  const lost = { ...orphan, expirationTime: NOW + DAY };

  test.each<[string, KeyLifetime, Partial<KeyStatus>, readonly string[]]>([
    ["nothing", {}, {}, []],
    ["a shorter lifetime", { lifetimeMs: DAY }, {}, ["LifetimeShortened"]],
    ["a longer lifetime is not used", { lifetimeMs: 365 * DAY }, {}, []],
    ["it is the key in use", {}, { current: current(1) }, ["KeyReissued"]],
    ["it is a superseded key", {}, { superseded: [superseded(1)] }, ["KeyReissued"]],
    ["it is an orphaned key", {}, { orphaned: [lost] }, ["KeyReissued"]],
    ["there are other keys", {}, { current: current(2) }, []],
  ])("%s", (_, lifetime, status, expected) => {
    const notes = notesOn(issued(lifetime), 90, { ...noKeys, ...status });
    expect(notes.map(({ reason }) => reason)).toEqual(expected);
  });

  test.each([
    [DAY, "after 1 day instead of 90"],
    [DAY / 2, "after 0.5 days instead of 90"],
  ])("its lifetime of %i ms", (lifetimeMs, expected) => {
    expect(notesOn(issued({ lifetimeMs }), 90, noKeys)[0]?.note).toContain(expected);
  });

  test("its form", () => {
    const odd = { ...issued({}), keyId: "key-1", secret: new Redacted("short") };
    expect(notesOn(odd, 90, noKeys).map(({ reason }) => reason)).toEqual(["UnexpectedKeyForm"]);
  });
});
