/** Nothing about a key is due, over or forgotten by a time that a server's clock contradicts. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withCorrectedTimes } from "../../../../src/kinds/api-key/rules/corrected-times.ts";
import { safetyLimit } from "../../../../src/kinds/api-key/rules/schedule.ts";
import type { ApiKeySnapshot } from "../../../../src/kinds/api-key/rules/snapshot.ts";
import { withAttempt } from "../../../../src/kinds/api-key/rules/transitions.ts";
import type { ClockReading } from "../../../../src/reconciler/clock-reading.ts";
import { DAY, HOUR, type Instant, MINUTE, toIso8601 } from "../../../../src/util/time.ts";
import { effort } from "../../../setup/effort.ts";
import {
  account,
  at,
  checked,
  current,
  delivered,
  firstOf,
  having,
  NOW,
  noKeys,
  object,
  ofBot,
  openAttempt,
  owner,
  play,
  playDeletion,
  prechecked,
  reportedStatus,
  superseded,
} from "./builders.ts";

/** Two clocks show that time, and a server shows `NOW`. */
const contradicted = (now: Instant): ClockReading => ({ ...at(), now, earliest: NOW });

const orphan = {
  keyId: "sak_7",
  attemptId: "a7",
  observedTime: NOW - DAY,
  expirationTime: NOW + 2 * DAY,
  late: undefined,
  ...ofBot,
};
const mayEnd = { ...account, canDisableKeys: true, canDeleteKeys: true };
const full = { recentIssues: Array(4).fill({ time: NOW - HOUR, requested: undefined }) };
const missing = { target: { kind: "Absent" } } as const;
const verdicts = checked("sak_1");

/** Something of each would be due, over or forgotten some days later. */
const worlds: Readonly<Record<string, ApiKeySnapshot>> = {
  "a key in use": delivered(),
  "an overlap": delivered({ account: mayEnd, status: { superseded: [superseded(2)] } }),
  "a superseded key that has just expired": delivered({
    status: { superseded: [superseded(2, { expirationTime: NOW - HOUR })] },
  }),
  "a lost key": delivered({ status: { orphaned: [orphan] } }),
  "a used budget": delivered({ ...missing, status: full }),
};

describe.each(Object.entries(worlds))("with %s", (_, world) => {
  const limit = safetyLimit(current(1));
  const ahead = fc.integer({ min: NOW, max: limit - 1 }).map(contradicted);
  const settled = { kind: "Settled" } as const;
  const run = { ...world, verdicts };
  const step = (reading: ClockReading) => firstOf(run, play(run, reading));
  const keysAt = (reading: ClockReading) => {
    const {
      superseded: old,
      orphaned,
      orphanCount,
      current: inUse,
    } = reportedStatus(world, settled, reading);
    return { old, orphaned, orphanCount, inUse };
  };

  test("a time that one server contradicts decides nothing", () => {
    fc.assert(
      fc.property(ahead, (reading) => {
        expect(step(reading)).toEqual(step(at()));
        expect(keysAt(reading)).toEqual(keysAt(at()));
      }),
      { numRuns: 100 * effort },
    );
  });
});

test("a key is renewed in its last tenth though a server contradicts that", () => {
  const limit = safetyLimit(current(1));
  const reasonAt = (reading: ClockReading) => {
    const given = having({ Precheck: prechecked }, delivered());
    const { kind, because } = firstOf(given, play(given, reading));
    return because?.reason ?? kind;
  };
  expect(reasonAt(contradicted(limit - 1))).toBe("Settled");
  expect(reasonAt(contradicted(limit))).toBe("RotationDue");
  // What has expired by two clocks only is due, and is not said to have expired.
  expect(reasonAt(contradicted(NOW + 100 * DAY))).toBe("RotationDue");
});

test("a key that has expired by two clocks only is still Ready, until the console rejects it", () => {
  const settled = { kind: "Settled" } as const;
  const ready = reportedStatus(
    delivered(),
    settled,
    contradicted(NOW + 100 * DAY),
  ).conditions?.find(({ type }) => type === "Ready");
  expect(ready?.status).toBe("True");
});

test("a deletion ends and names keys that may have expired by two clocks only", () => {
  const self = { ...owner, deletingSince: NOW, rotateToken: undefined };
  const later = contradicted(NOW + 100 * DAY);
  const gone = { target: { kind: "Absent" } } as const;
  const [ending] = playDeletion(delivered({ self, account: mayEnd }), later);
  expect(ending).toEqual({ kind: "DisableKey", keyId: "sak_1" });
  const [released] = playDeletion(delivered({ self, ...gone }), later);
  expect(released).toMatchObject({ events: [{ reason: "KeysNotRevoked" }] });
});

test("a day of the budget is over when a day has certainly passed", () => {
  const recentIssues = [{ time: NOW - HOUR, requested: undefined }];
  const attempt = { ...openAttempt(2), startTime: NOW + 2 * DAY };
  const issue = { time: attempt.startTime, requested: undefined };
  const status = { ...noKeys, recentIssues };
  expect(withAttempt(status, attempt, undefined, NOW).recentIssues).toEqual([
    issue,
    ...recentIssues,
  ]);
  expect(withAttempt(status, attempt, undefined).recentIssues).toEqual([issue]);
});

describe("times that a clock ahead of all others has stored", () => {
  const AHEAD = NOW + 70 * DAY;
  const life = { issueTime: AHEAD, expirationTime: AHEAD + 90 * DAY };
  const status = {
    ...noKeys,
    current: { ...current(1), ...life, verificationTime: AHEAD },
    attempt: { ...openAttempt(2), startTime: AHEAD },
    superseded: [
      superseded(3, { supersededTime: AHEAD, state: "Disabled", stateTime: AHEAD }),
      superseded(4, { ...life, supersededTime: AHEAD }),
    ],
    orphaned: [{ ...orphan, observedTime: AHEAD, expirationTime: AHEAD + DAY }],
    recentIssues: [{ time: AHEAD, requested: undefined }],
    lastRecoveryTime: AHEAD,
  };

  test("become the present, and what expires keeps its lifetime", () => {
    const now = { issueTime: NOW, expirationTime: NOW + 90 * DAY };
    expect(withCorrectedTimes(status, { now: NOW })).toEqual({
      ...status,
      current: { ...status.current, ...now, verificationTime: NOW },
      attempt: { ...status.attempt, startTime: NOW },
      superseded: [
        superseded(3, { supersededTime: NOW, state: "Disabled", stateTime: NOW }),
        superseded(4, { ...now, supersededTime: NOW }),
      ],
      orphaned: [{ ...orphan, observedTime: NOW, expirationTime: NOW + DAY }],
      recentIssues: [{ time: NOW, requested: undefined }],
      lastRecoveryTime: NOW,
    });
  });

  test("stay while clocks contradict each other, and for ever if they have come to pass", () => {
    expect(withCorrectedTimes(status, { now: NOW, earliest: NOW - DAY })).toEqual(status);
    expect(withCorrectedTimes(status, { now: AHEAD })).toEqual(status);
    expect(withCorrectedTimes(noKeys, { now: NOW })).toEqual(noKeys);
  });

  test("do not stay in conditions and in what is known of the Secret either", () => {
    const ready = { type: "Ready", status: "True", reason: "KeyDelivered", message: "" } as const;
    const stored = {
      content: { hash: "h", replacementTime: toIso8601(AHEAD) },
      conditions: [{ ...ready, lastTransitionTime: toIso8601(AHEAD) }],
    } as never;
    const world = delivered({ object: object(stored) });
    const report = (reading: ClockReading) => {
      const { content, conditions } = reportedStatus(world, { kind: "Settled" }, reading);
      return [content?.replacementTime, conditions?.[0]?.lastTransitionTime];
    };
    expect(report(at(MINUTE))[1]).toBe(toIso8601(NOW + MINUTE));
    expect(report({ ...at(), earliest: NOW - DAY })[1]).toBe(toIso8601(AHEAD));
    const waiting = {
      ...world,
      account: { kind: "Waiting", state: "Reconciling", reason: "R", message: "M." },
    } as const;
    const { content } = reportedStatus(waiting, { kind: "Settled" }, at());
    expect(content?.replacementTime).toBe(toIso8601(NOW));
  });
});
