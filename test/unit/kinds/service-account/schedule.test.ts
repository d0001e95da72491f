/** How often accounts are read from the console: within the interval, and within a fifth of the connection's rate limit. */
import { describe, expect, test } from "vitest";
import { AccountLists } from "../../../../src/kinds/service-account/account-lists.ts";
import {
  isListDue,
  nextListTime,
  nextReadTime,
  readTimeAfter,
} from "../../../../src/kinds/service-account/rules/read-schedule.ts";
import type {
  AccountRead,
  AccountSnapshot,
} from "../../../../src/kinds/service-account/rules/snapshot.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../../../src/util/time.ts";
import { seededRandom } from "../../../support/seeded-random.ts";
import { connectionSpec } from "../connection/specs.ts";
import { access, account, NOW, serviceAccount, snapshotOf } from "./objects.ts";

const orphaned = {
  object: serviceAccount({ status: { orphanedAccounts: [{ saId: "sa-2", observedTime: "" }] } }),
};

interface Fleet {
  readonly accounts: number;
  readonly spec?: object;
  /** Share of accounts that are not in order. */
  readonly unready?: number;
}

/** The times at which a fleet is read from the start of the operator on: all accounts one after the other, then by schedule. */
function readTimes({ accounts, spec = {}, unready = 0 }: Fleet, untilMs: number) {
  const connection = { ok: true, access: { ...access, spec: connectionSpec(spec) } } as const;
  const { requestsPerSecond } = connection.access.spec.limits;
  const random = seededRandom(7);
  const seen = snapshotOf({ account, connection, accountCount: accounts });
  const read = { ...seen, state: { lastRead: {} as AccountRead } };
  return Array.from({ length: accounts }, (_, index) => {
    const times: number[] = [];
    for (let now = NOW + (index / requestsPerSecond) * SECOND; now < NOW + untilMs; ) {
      times.push(now);
      const at = { now, monotonic: 0, fraction: random.fraction() };
      now = readTimeAfter(times.length === 1 ? seen : read, index >= accounts * unready, at);
    }
    return times;
  });
}

function longestGap(fleet: readonly (readonly number[])[]): number {
  let longest = 0;
  for (const times of fleet)
    for (const [index, time] of times.entries())
      longest = Math.max(longest, time - (times[index - 1] ?? time));
  return longest;
}

/** Calls per second in each window of five minutes after the first hour. */
function rates(fleet: readonly (readonly number[])[], untilMs: number): readonly number[] {
  const width = 5 * MINUTE;
  const counts = new Array<number>((untilMs - HOUR) / width).fill(0);
  for (const time of fleet.flat()) {
    const index = Math.floor((time - NOW - HOUR) / width);
    if (index >= 0 && index < counts.length) counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts.map((count) => (count / width) * SECOND);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

describe("accounts are read", () => {
  test("every five minutes", () => {
    const fleet = readTimes({ accounts: 100 }, 3 * HOUR);
    expect(longestGap(fleet)).toBeLessThanOrEqual(5 * MINUTE);
    expect(longestGap(fleet)).toBeGreaterThan(4 * MINUTE);
  });

  test("at the interval that the connection asks for", () => {
    const fleet = readTimes({ accounts: 10, spec: { accountPollInterval: "30m" } }, 5 * HOUR);
    expect(longestGap(fleet)).toBeLessThanOrEqual(30 * MINUTE);
    expect(longestGap(fleet)).toBeGreaterThan(26 * MINUTE);
  });

  test("by 10,000 within a fifth of the rate limit, evenly, and each at least every 47 minutes", () => {
    const fleet = readTimes({ accounts: 10_000 }, 6 * HOUR);
    const perSecond = rates(fleet, 6 * HOUR);
    expect(mean(perSecond)).toBeLessThanOrEqual(4);
    expect(Math.max(...perSecond)).toBeLessThanOrEqual(5);
    expect(Math.min(...perSecond)).toBeGreaterThan(2.5);
    expect(longestGap(fleet)).toBeLessThanOrEqual(47 * MINUTE);
  });

  test("within a fifth of the rate limit, however many are not in order", () => {
    const fleet = readTimes({ accounts: 10_000, unready: 1 }, 6 * HOUR);
    expect(mean(rates(fleet, 6 * HOUR))).toBeLessThanOrEqual(4);
    const few = readTimes({ accounts: 100, unready: 1 }, HOUR);
    expect(longestGap(few)).toBeLessThanOrEqual(MINUTE);
  });
});

test.each<[string, Partial<AccountSnapshot>, Partial<AccountRead> | undefined, number]>([
  ["at once after a start", {}, undefined, NOW],
  ["by schedule", {}, {}, NOW + 5 * MINUTE],
  [
    "30 seconds after a read that came before a key",
    { unlistedKeyTime: NOW },
    {},
    NOW + MINUTE / 2,
  ],
  ["a minute after an unknown outcome", { keyRecoveryTime: NOW }, {}, NOW + MINUTE],
  [
    "by schedule, if that is sooner than for all other reasons",
    { unlistedKeyTime: NOW, keyRecoveryTime: NOW },
    { nextTime: NOW + 20 * SECOND },
    NOW + 20 * SECOND,
  ],
])("an account is read %s", (_, seen, read, time) => {
  const lastRead = read && ({ startTime: NOW, nextTime: NOW + 5 * MINUTE, ...read } as AccountRead);
  expect(nextReadTime(snapshotOf({ state: { lastRead }, ...seen }), NOW)).toBe(time);
});

describe("after the clock was set back", () => {
  test("an account is read at once", () => {
    const lastRead = { startTime: NOW + DAY, nextTime: NOW + DAY + 5 * MINUTE } as AccountRead;
    expect(nextReadTime(snapshotOf({ state: { lastRead } }), NOW)).toBe(NOW);
    const recent = { startTime: NOW, nextTime: NOW + 5 * MINUTE } as AccountRead;
    expect(nextReadTime(snapshotOf({ state: { lastRead: recent } }), NOW)).toBe(NOW + 5 * MINUTE);
  });

  test("all accounts are listed when they would be if the last list had just been made", () => {
    const lists = new AccountLists();
    lists.noteCreation("c", NOW + DAY);
    lists.noteList("c", NOW + DAY);
    expect(lists.beginAudit("c", NOW, false)).toBe(false);
    expect(lists.beginAudit("c", NOW + 15 * MINUTE, false)).toBe(true);
    expect(lists.beginAudit("c", NOW + 16 * MINUTE, false)).toBe(false);
    expect(lists.beginAudit("c", NOW + 15 * MINUTE + DAY, false)).toBe(true);
  });

  test("orphaned accounts are listed at once, and an attempt is followed up", () => {
    const state = { listTime: NOW + DAY };
    expect(nextListTime(snapshotOf({ state, ...orphaned }), NOW)).toBe(NOW);
    expect(nextListTime(snapshotOf({ state, recoveryTime: NOW }), NOW)).toBe(NOW + MINUTE);
  });
});

test.each<[string, Partial<AccountSnapshot>, number | undefined]>([
  ["not without a reason", {}, undefined],
  ["hourly while there are orphaned accounts", orphaned, NOW + HOUR],
  ["at once on request while there are orphaned accounts", { ...orphaned, request: "now" }, NOW],
  ["after an attempt with an unknown outcome", { recoveryTime: NOW }, NOW + MINUTE],
  ["less often later", { recoveryTime: NOW - MINUTE }, NOW + 4 * MINUTE],
  ["a third time after a quarter", { recoveryTime: NOW - 5 * MINUTE }, NOW + 10 * MINUTE],
  ["and a last time after an hour", { recoveryTime: NOW - 15 * MINUTE }, NOW + 45 * MINUTE],
  ["no longer after a day", { recoveryTime: NOW - DAY }, undefined],
])("all accounts are listed %s", (_, seen, time) => {
  expect(nextListTime(snapshotOf({ state: { listTime: NOW }, ...seen }), NOW)).toBe(time);
});

test("all accounts are listed once in a run", () => {
  const due = { recoveryTime: NOW - MINUTE };
  expect(isListDue(snapshotOf(due), NOW)).toBe(true);
  expect(isListDue(snapshotOf({ ...due, listTime: NOW }), NOW)).toBe(false);
});
