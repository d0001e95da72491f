import { describe, expect, test } from "vitest";
import { describeFormer, stateOfFormer } from "../../../../src/kinds/api-key/rules/former-key.ts";
import {
  deletedAccount,
  inactiveAccount,
} from "../../../../src/kinds/api-key/rules/unusable-account.ts";
import { reconciling } from "../../../../src/reconciler/rules/waiting.ts";
import { account, current, delivered, NOW } from "./builders.ts";

const rejection = { keyId: "sak_1", since: 0 };
const list = { ...account, lastKeyListTime: NOW };
const without = { ...list, liveKeyIds: [] };
const revokes = { ...account, canDeleteKeys: true };
const UNTIL_EXPIRY = "Key sak_1 is not revoked; it expires at 2026-04-09T00:00:00Z.";
const REJECTS = "The console rejects key sak_1";

describe("a key that another key supersedes is", () => {
  test.each([
    ["Live", "no call can revoke it", {}, UNTIL_EXPIRY],
    ["Live", "a list alone lacks it", { account: without }, UNTIL_EXPIRY],
    [
      "Live",
      "a call can revoke it",
      { account: revokes },
      "Key sak_1 is revoked after the overlap, if its ServiceAccount still exists.",
    ],
    [
      "Live",
      "a call can disable it",
      { account: { ...account, canDisableKeys: true } },
      "Key sak_1 is revoked after the overlap, if its ServiceAccount still exists.",
    ],
    [
      "Live",
      "its account waits for something else",
      { account: reconciling("ConnectionNotReady", "It is so.") },
      UNTIL_EXPIRY,
    ],
    [
      "Inactive",
      "its account is gone",
      { account: deletedAccount("sa-1") },
      "Key sak_1 does not work: the console no longer has its account.",
    ],
    [
      "Live",
      "its account is not active",
      { account: inactiveAccount("sa-1", "disabled") },
      "Key sak_1 does not work: its account is not active.",
    ],
    ["Live", "it is only rejected", { rejection }, `${REJECTS}.`],
    [
      "Live",
      "it is rejected, and the list is older than its acceptance",
      { rejection, account: { ...without, lastKeyListTime: 0 } },
      `${REJECTS}.`,
    ],
    [
      "Inactive",
      "it is rejected and not listed",
      { rejection, account: without },
      `${REJECTS} and no longer lists it.`,
    ],
    [
      "Inactive",
      "it is rejected and listed as inactive",
      { rejection, account: { ...without, inactiveKeyIds: ["sak_1"] } },
      `${REJECTS} and lists it as inactive or expired.`,
    ],
    ["Live", "another key is rejected", { rejection: { keyId: "sak_2", since: 0 } }, UNTIL_EXPIRY],
  ])("%s if %s", (state, _, changes, note) => {
    const snapshot = delivered(changes);
    expect(stateOfFormer(snapshot)).toBe(state);
    expect(describeFormer(current(1), snapshot)).toBe(note);
  });
});
