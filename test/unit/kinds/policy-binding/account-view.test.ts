import { expect, test } from "vitest";
import type { Ownership } from "../../../../src/api/service-account.ts";
import { toAccountView } from "../../../../src/kinds/policy-binding/rules/views.ts";
import { account as knownAccount, serviceAccount } from "../service-account/objects.ts";

const { saId, tpn, orgId } = knownAccount;
const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z" };

function viewOf(ownership: Ownership | undefined, reason: string, metadata: object = {}): string {
  const ready = { type: "Ready", status: reason === "Created" ? "True" : "False", reason } as const;
  const conditions = [{ ...ready, message: "", lastTransitionTime: "" }];
  const status = { ownership, saId, tpn, orgId, origin: "Imported", conditions } as const;
  const { availability, named } = toAccountView(serviceAccount({ metadata, status }), "ci-bot");
  const { kind, endsAs = "" } = { endsAs: undefined, ...availability };
  return `${kind} ${endsAs}${named === undefined ? "" : "withdraws"}`;
}

test.each<[string, ...Parameters<typeof viewOf>]>([
  ["Usable withdraws", "Owned", "Created"],
  ["Usable withdraws", "Owned", "Unavailable"],
  ["Usable withdraws", "Owned", "InUse", deleted],
  ["Unavailable withdraws", "Owned", "PermissionDenied"],
  ["Unavailable withdraws", "Owned", "ServiceAccountNotActive"],
  ["Unavailable AccountGone", "Gone", "NotGranted"],
  ["Unavailable AccountGone", "Gone", "Unavailable"],
  ["Unavailable AccountGone", "NotFound", "ServiceAccountNotFound"],
  ["Unavailable ", "Claimed", "AlreadyClaimed"],
  ["Unavailable ", "NotOwned", "InUse", deleted],
  ["Unavailable ", undefined, "Creating"],
])("PolicyBindings find the account %s: %s %s %o", (expected, ...given) => {
  expect(viewOf(...given)).toBe(expected);
});
