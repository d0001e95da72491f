import { describe, expect, test } from "vitest";
import type { UsableSnapshot } from "../../../../src/kinds/policy-binding/rules/evaluate.ts";
import {
  desiredState,
  dueAt,
  isReadDue,
  msUntilRead,
  pauseOf,
} from "../../../../src/kinds/policy-binding/rules/read-schedule.ts";
import type { AccountBindingsState } from "../../../../src/kinds/policy-binding/rules/state.ts";
import { HOUR, MINUTE, SECOND } from "../../../../src/util/time.ts";
import { live, NOW, recorded, usable } from "./builders.ts";

/** An account with one policy that is bound, as recorded; what the operator remembers of it. */
const remembering = (state: Partial<AccountBindingsState>, more: object = {}): UsableSnapshot => {
  const given = usable({ ...recorded(["p1"]), ...more }, ["p1"]);
  return { ...given, state: { ...given.state, lastReadTime: NOW, ...state } };
};
const next = (state: Partial<AccountBindingsState>) => {
  const given = remembering(state);
  return dueAt(given, given.state) - NOW;
};
const paused = (more: Partial<UsableSnapshot> = {}) => {
  const given = remembering({});
  const pause = { until: NOW + HOUR, desired: desiredState(given) };
  return { ...given, ...more, state: { ...given.state, pause } };
};

describe("the bindings are read", () => {
  test("after ten minutes at most, however long no answer could be read", () => {
    expect(next({ unreadSince: NOW - 8 * HOUR })).toBeLessThanOrEqual(10 * MINUTE);
  });

  test("at the regular time while an unanswered call is watched", () => {
    const regular = next({});
    const lastReadTime = NOW + regular - SECOND;
    const unanswered = { time: lastReadTime, policyIds: ["withdrawn"] };
    expect(next({ lastReadTime, unanswered })).toBe(regular);
  });

  test("for an imported account as seldom as for others, once they are on record", () => {
    expect(isReadDue(remembering({}, { created: false }))).toBe(false);
  });

  test("not for a request that was answered and taken back", () => {
    const given = remembering({ handledToken: "answered" });
    const bindings = given.bindings.map((each) => ({ ...each, handledAt: "answered" }));
    expect(isReadDue({ ...given, bindings })).toBe(false);
  });

  test("in every run while the record lacks what another client has changed", () => {
    const given = remembering({});
    const bindings = { ...given.account.status?.bindings, contendedUntil: "2026-01-01T00:30:00Z" };
    const account = { ...given.account, status: { ...given.account.status, bindings } };
    expect(isReadDue({ ...given, account })).toBe(true);
  });

  test("at most once a second, even if that is late", () => {
    const late = remembering({ lastReadTime: NOW - HOUR });
    expect(msUntilRead(late, late.state)).toBe(SECOND);
  });
});

describe("a pause", () => {
  test("ends a run that has read nothing", () => {
    expect(pauseOf(paused())).toMatchObject({ kind: "Waiting" });
  });

  test("does not end a run that has read the bindings", () => {
    expect(pauseOf(paused(live("p1")))).toBeUndefined();
  });

  test("ends with a change of what is declared", () => {
    const given = paused();
    const pause = { until: NOW + HOUR, desired: "other" };
    expect(pauseOf({ ...given, state: { ...given.state, pause } })).toBeUndefined();
  });

  test("puts off the next read only as long as it lasts", () => {
    const given = remembering({});
    const untilRead = (desired: string) =>
      msUntilRead(given, { ...given.state, pause: { until: NOW + HOUR, desired } });
    expect(untilRead(desiredState(given))).toBe(HOUR);
    expect(untilRead("other")).toBeLessThanOrEqual(10 * MINUTE);
  });

  test("ends with a request", () => {
    const { bindings } = paused();
    const asked = bindings.map((each) => ({ ...each, requestedAt: "now" }));
    const given = paused({ bindings: asked });
    const pause = { until: NOW + HOUR, desired: desiredState(given) };
    expect(pauseOf({ ...given, state: { ...given.state, pause } })).toBeUndefined();
  });
});
