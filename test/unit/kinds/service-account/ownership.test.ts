import { expect, test } from "vitest";
import type { Ownership } from "../../../../src/api/service-account.ts";
import { ownershipOf } from "../../../../src/kinds/service-account/rules/ownership.ts";
import type { AccountSnapshot } from "../../../../src/kinds/service-account/rules/snapshot.ts";
import { stalled } from "../../../../src/reconciler/rules/waiting.ts";
import { access, account, accountName, claimOf, serviceAccount, snapshotOf } from "./objects.ts";

const stored = (ownership: Ownership, saId = "sa-1") => ({
  object: serviceAccount({ status: { saId, ownership } }),
});
const shown = (name: string) => ({
  answer: { detail: { saId: "sa-1", name, keyIds: undefined } },
});
const nothing = { answer: { detail: undefined } };
const owner = claimOf(
  serviceAccount({ metadata: { uid: "u0" }, status: { saId: "sa-1", orgId: "org-1" } }),
);
const claimed = {
  claim: { ...claimOf(serviceAccount()), isProven: false },
  otherClaims: new Map([["sa-1", [owner]]]),
};
const withoutGrant = {
  connection: { ok: false, waiting: stalled("NotGranted", "") },
} as const;

test.each<[Ownership | undefined, string, Partial<AccountSnapshot>, object?]>([
  [undefined, "before a read", {}],
  [undefined, "of another account than the stored one", { account, ...stored("Owned", "sa-2") }],
  ["Owned", "a read shows it", { account, ...stored("Gone"), ...shown(accountName) }],
  ["Owned", "it was created", { account, became: "Created" }],
  ["NotOwned", "it has another name", { account, ...stored("Owned"), ...shown("other") }],
  ["Gone", "a read does not show it", { account, ...stored("Owned"), ...nothing }],
  ["Gone", "its grant is withdrawn later", { account, ...stored("Gone"), ...withoutGrant }],
  ["NotFound", "it cannot be imported", nothing, { saId: "sa-1" }],
  ["Claimed", "another object has it", { account, ...stored("Owned"), ...claimed }],
  ["Claimed", "another object has what it imports", claimed, { saId: "sa-1" }],
])("the ownership of an account is %s: %s", (expected, _, given, spec) => {
  const snapshot = snapshotOf({ connection: { ok: true, access }, ...given }, spec);
  expect(ownershipOf(snapshot)).toBe(expected);
});
