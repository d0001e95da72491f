import { describe, expect, test } from "vitest";
import { IamError } from "../../../../src/console/errors.ts";
import type { PairEvidence } from "../../../../src/console/evidence.ts";
import { commitKey } from "../../../../src/kinds/api-key/effects/secret.ts";
import { report } from "../../../../src/kinds/api-key/rules/report.ts";
import type { ReadyAccount } from "../../../../src/kinds/api-key/rules/snapshot.ts";
import {
  deletedAccount,
  inactiveAccount,
} from "../../../../src/kinds/api-key/rules/unusable-account.ts";
import {
  isCheckRequested,
  nextCheckMs,
  replacedInMs,
  waitForKeyInUse,
} from "../../../../src/kinds/api-key/rules/verification.ts";
import { HOUR, MINUTE, SECOND } from "../../../../src/util/time.ts";
import {
  account,
  checked,
  at as clockAt,
  delivered,
  holding,
  NOW,
  object,
  openAttempt,
  pair,
  planOf,
  snapshot,
  timing,
} from "./builders.ts";

const at = clockAt();
const rest = { kind: "Settled" } as const;
const blind = { account: { ...account, listsKeyStates: false } };

function listing(changes: Partial<ReadyAccount>) {
  return { account: { ...account, lastKeyListTime: NOW + SECOND, ...changes } };
}

describe("the key in use is checked next", () => {
  test.each<[string, Parameters<typeof delivered>[0], number | undefined]>([
    ["never if a list shows it as active", listing({ liveKeyIds: ["sak_1"] }), undefined],
    ["at once if a newer list lacks it", listing({ liveKeyIds: [] }), 0],
    [
      "at once if a newer list shows it as inactive",
      listing({ liveKeyIds: [], inactiveKeyIds: ["sak_1"] }),
      0,
    ],
    [
      "within an hour if no list shows its state",
      { ...blind, regularCheckFrom: at.monotonic - HOUR },
      0,
    ],
  ])("%s", (_, changes, expected) => {
    expect(nextCheckMs(delivered(changes), at, timing)).toBe(expected);
  });

  test("between 30 and 60 minutes after the start of the process or the last check", () => {
    const [first, later] = [undefined, at.monotonic - 10 * MINUTE].map((regularCheckFrom) =>
      nextCheckMs(delivered({ ...blind, regularCheckFrom }), at, timing),
    );
    expect(first).toBeGreaterThanOrEqual(HOUR / 2);
    expect(first).toBeLessThanOrEqual(HOUR);
    expect(later).toBe((first ?? 0) - 10 * MINUTE);
  });
});

test("a check of a suspended key that fails is repeated after a minute, not at once", () => {
  const failedCheck = new IamError("Unavailable", "down", { operation: "searchActions" });
  const world = delivered({ ...listing({ liveKeyIds: [] }), failedCheck });
  expect(report(world, { kind: "Suspended" }, at, timing).requeueAfterMs).toBe(MINUTE);
});

describe("what a report remembers", () => {
  const remembered = (changes: Parameters<typeof delivered>[0]) =>
    report(delivered(changes), rest, at, timing).state?.regularCheckFrom;

  test("the first run, if no list shows the state of the key", () => {
    expect(remembered(blind)).toBe(at.monotonic);
  });

  test("nothing more, otherwise", () => {
    expect(remembered({})).toBeUndefined();
    expect(remembered({ ...blind, regularCheckFrom: 1 })).toBeUndefined();
    expect(report(snapshot(blind), rest, at, timing).state).toBeUndefined();
  });
});

test("a rejected key that a list shows as inactive is replaced after 30 seconds", () => {
  const rejection = { keyId: "sak_1", since: at.monotonic };
  const listed = listing({ liveKeyIds: [], inactiveKeyIds: ["sak_1"] });
  const rejected = delivered({ ...listed, rejection, lastCheckTime: NOW });
  expect(replacedInMs(rejected, at, timing)).toBe(30 * SECOND);
  const step = waitForKeyInUse(rejected, at, timing);
  expect(step).toMatchObject({ reason: "KeyRefused" });
  expect(step).toMatchObject({
    message: expect.stringContaining("lists it as inactive or expired"),
  });
});

test.each([
  ["deleted", deletedAccount("sa-1")],
  ["inactive", inactiveAccount("sa-1", "inactive")],
])("a key of an account that is %s is not Ready, whatever else is so", (_, unusable) => {
  const { message } = unusable;
  const { objects } = report(delivered({ account: unusable }), rest, at, timing);
  const readiness = objects[0]?.readiness;
  expect(readiness).toEqual({ state: "Stalled", reason: "ServiceAccountNotReady", message });
});

test("a rejected key that the console accepts again is waited for no longer", () => {
  const rejection = { keyId: "sak_1", since: 0 };
  expect(waitForKeyInUse(delivered({ rejection }), at, timing)).toBeDefined();
  const verdicts = checked("sak_1");
  expect(waitForKeyInUse(delivered({ rejection, verdicts }), at, timing)).toBeUndefined();
});

test("a check whose request was removed is not requested", () => {
  const handled = { ...object(), status: { lastHandledReconcileAt: "one" } };
  expect(isCheckRequested({ ...delivered(), object: handled as never })).toBe(false);
});

test("a key that no list shows as active is not checked while its account is not ready", () => {
  const account = { ...inactiveAccount("sa-1", "disabled"), endsKeys: undefined } as never;
  expect(nextCheckMs(delivered({ account }), at, timing)).toBeUndefined();
});

test.each<[string, PairEvidence | undefined, boolean]>([
  ["was accepted", "Accepted", true],
  ["was rejected", "Rejected", false],
  ["no process remembers to have tried", undefined, false],
])("a delivered key that %s counts as verified: %s %s", async (_, evidence, isVerified) => {
  const verdicts = new Map(evidence === undefined ? [] : [["sak_1", evidence]]);
  const given = snapshot({
    target: holding(pair(1)),
    status: { attempt: openAttempt(1) },
    verdicts,
  });
  const run = { clock: { now: () => NOW } };
  const { answer } = await planOf(commitKey(given, { pair: pair(1) }), run);
  expect(answer.status.current?.verificationTime !== undefined).toBe(isVerified);
});
