import { expect, test } from "vitest";
import { isUsable, ownsAccount } from "../../../src/accounts/ownership.ts";
import type { Ownership, ServiceAccount } from "../../../src/api/service-account.ts";

function account(
  ownership: Ownership | undefined,
  status: string,
  reason: string,
  spec: object = {},
) {
  const condition = { type: "Ready", status, reason, message: "", lastTransitionTime: "" };
  return {
    metadata: {},
    spec,
    status: { saId: "sa-1", ownership, conditions: [condition] },
  } as unknown as ServiceAccount;
}

test.each([
  ["usable", true, account("Owned", "True", "Created")],
  ["usable", true, account("Owned", "False", "Unavailable")],
  ["usable", true, account("Owned", "False", "RateLimited")],
  ["usable", true, account("Owned", "False", "RevokingAccess")],
  ["usable", true, account("Owned", "False", "ChangeNotApplied")],
  ["usable", true, account("Owned", "Unknown", "SyncUnconfirmed")],
  ["usable", true, account("Owned", "True", "Imported", { saId: "sa-1" })],
  ["not usable", false, account("Owned", "True", "Imported", { saId: "sa-2" })],
  ["not usable", true, account("Owned", "False", "PermissionDenied")],
  ["not usable", true, account("Owned", "False", "ServiceAccountNotActive")],
  ["not usable", false, account("Gone", "False", "Unavailable")],
  ["not usable", false, account("Claimed", "False", "Unavailable")],
  ["not usable", false, account("NotOwned", "True", "Created")],
  ["not usable", false, account(undefined, "True", "Created")],
  ["not usable", false, { metadata: {} } as unknown as ServiceAccount],
])("an account is %s, and the object's own: %s (%#)", (usable, isOwn, given) => {
  expect(isUsable(given)).toBe(usable === "usable");
  expect(ownsAccount(given)).toBe(isOwn);
});
