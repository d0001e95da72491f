/** When an old key may end. */
import { describe, expect, test } from "vitest";
import { next } from "../../../../src/controllers/api-key/rules/next.ts";
import type {
  ApiKeyDone,
  ApiKeySnapshot,
} from "../../../../src/controllers/api-key/rules/snapshot.ts";
import { DAY, HOUR } from "../../../../src/util/time.ts";
import {
  account,
  at,
  current,
  delivered,
  having,
  holding,
  NOW,
  pair,
  superseded,
  timing,
} from "./builders.ts";

const ending = { ...account, canDisableKeys: true, canDeleteKeys: true };
/** Key 2 in use, the overlap with key 1 long over. */
const rotated = (changes: Parameters<typeof delivered>[0] = {}): ApiKeySnapshot =>
  delivered({
    account: ending,
    target: holding(pair(2)),
    ...changes,
    status: {
      current: current(2),
      superseded: [superseded(1, { supersededTime: NOW - 2 * DAY })],
      ...changes.status,
    },
  });
/** So that nothing is issued in place of what is missing. */
const spent = { windowStartTime: NOW, count: 99 };
const nextOf = (world: ApiKeySnapshot, done: ApiKeyDone = {}) =>
  next(having(done, world), at(), timing);
/** As after a check in the same run. */
const accepted: ApiKeyDone = { verdicts: new Map([["sak_2", true]]) };

describe("an old key", () => {
  test("ends after the overlap: disabled, then deleted", () => {
    expect(nextOf(rotated(), accepted)).toEqual({ kind: "DisableKey", keyId: "sak_1" });
    const disabled = superseded(1, { supersededTime: NOW - 2 * DAY, state: "Disabled" });
    const deleting = { kind: "DeleteKey", keyId: "sak_1" };
    const status = { current: current(2), superseded: [disabled] };
    expect(nextOf(rotated({ status }), accepted)).toEqual(deleting);
    const only = { ...ending, canDisableKeys: false };
    expect(nextOf(rotated({ account: only }), accepted)).toEqual(deleting);
  });

  test("is not ended before the console has accepted the key in use once more", () => {
    expect(nextOf(rotated())).toEqual({ kind: "VerifyPair", pair: pair(2) });
    const rejection = { keyId: "sak_2", since: at().monotonic };
    const rejected = { verdicts: new Map([["sak_2", false]]) };
    expect(nextOf(rotated({ rejection, lastCheckTime: NOW }), rejected)).toMatchObject({
      kind: "Waiting",
      reason: "KeyRefused",
    });
  });

  test.each<[string, ApiKeySnapshot]>([
    [
      "the overlap lasts",
      rotated({ status: { superseded: [superseded(1, { supersededTime: NOW - HOUR })] } }),
    ],
    [
      "the new key was never accepted",
      rotated({ status: { current: current(2, { verificationTime: undefined }) } }),
    ],
    [
      "the console refuses the new key",
      rotated({ rejection: { keyId: "sak_2", since: at().monotonic }, lastCheckTime: NOW }),
    ],
    [
      "the Secret holds the old one",
      rotated({ target: holding(pair(1)), status: { issuances: spent } }),
    ],
    ["the Secret is gone", rotated({ target: { kind: "Absent" }, status: { issuances: spent } })],
    ["the connection names no calls for it", rotated({ account })],
    [
      "it has expired",
      rotated({
        status: {
          superseded: [superseded(1, { supersededTime: NOW - 60 * DAY, expirationTime: NOW })],
        },
      }),
    ],
  ])("does not end while %s", (_, world) => {
    expect(nextOf(world).kind).not.toMatch(/DisableKey|DeleteKey/);
  });
});
