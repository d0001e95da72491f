/** What a process remembers of an account after its clock was set back. */
import { expect, test } from "vitest";
import { withoutTimesToCome } from "../../../../src/kinds/policy-binding/rules/set-back.ts";
import {
  type AccountBindingsState,
  NEVER_READ,
} from "../../../../src/kinds/policy-binding/rules/state.ts";
import { DAY, HOUR, type Instant, MINUTE } from "../../../../src/util/time.ts";

const NOW = Date.UTC(2026, 0, 1);
const problem = { reason: "R", message: "M." } as never;

const stateAt = (time: Instant): AccountBindingsState => ({
  accountUid: "u",
  lastReadTime: time,
  unreadSince: time,
  corrections: [],
  isolating: false,
  refusals: new Map([
    ["b", { generation: 1, requestedAt: undefined, until: time + HOUR, policyIds: ["p"], problem }],
  ]),
  vanished: { ids: ["p"], since: time },
  pause: { desired: "d", until: time + HOUR },
  handledToken: undefined,
  hasFailed: false,
  unanswered: { time, policyIds: ["p"] },
  unbound: { time, policyIds: ["p"] },
});

test.each([0, -DAY, 5 * MINUTE])("times up to now stay as they are: %s ms from now", (ms) => {
  expect(withoutTimesToCome(stateAt(NOW + ms), NOW)).toEqual(stateAt(NOW + ms));
});

test("bindings are read at once, pauses are over, and a call is watched as if it had just been made", () => {
  expect(withoutTimesToCome(stateAt(NOW + DAY), NOW)).toEqual({
    ...stateAt(NOW),
    lastReadTime: NEVER_READ,
    unreadSince: undefined,
    refusals: new Map(),
    vanished: undefined,
    pause: undefined,
    unbound: undefined,
  });
});

test("a state without such times stays without them", () => {
  const bare = {
    ...stateAt(NOW),
    unreadSince: undefined,
    refusals: new Map(),
    vanished: undefined,
    pause: undefined,
    unanswered: undefined,
    unbound: undefined,
  };
  expect(withoutTimesToCome(bare, NOW)).toEqual(bare);
});
