import { expect, test } from "vitest";
import { ACCOUNT_REASON, accountStanding, whyKeysFail } from "../../../src/accounts/standing.ts";
import type { ServiceAccount } from "../../../src/api/service-account.ts";

function account(status: "True" | "False", reason: string, deletionTimestamp?: string) {
  const condition = { type: "Ready", status, reason, message: "", lastTransitionTime: "" };
  const metadata = deletionTimestamp === undefined ? {} : { deletionTimestamp };
  return { metadata, status: { conditions: [condition] } } as unknown as ServiceAccount;
}

test.each([
  ["Inactive", ACCOUNT_REASON.notActive],
  ["Gone", ACCOUNT_REASON.gone],
  [undefined, ACCOUNT_REASON.notFound],
  [undefined, ACCOUNT_REASON.mismatch],
  [undefined, "AlreadyClaimed"],
])("keys fail because the account is %s", (expected, reason) => {
  const stalled = { type: "Stalled", status: "True", reason, message: "" };
  const status = { conditions: [stalled] };
  expect(whyKeysFail({ metadata: {}, status } as unknown as ServiceAccount)).toBe(expected);
});

test.each([
  ["InCharge", account("True", "Created")],
  ["InCharge", account("False", ACCOUNT_REASON.inUse, "2026-01-01T00:00:00Z")],
  ["InCharge", account("False", "Unavailable")],
  ["InCharge", account("False", "RateLimited")],
  ["NotReady", account("False", "PermissionDenied")],
  ["NotReady", account("False", ACCOUNT_REASON.inUse)],
  ["NotReady", account("False", ACCOUNT_REASON.suspended)],
  ["NotReady", account("False", ACCOUNT_REASON.notActive)],
  ["Gone", account("False", ACCOUNT_REASON.gone)],
  ["Gone", account("False", ACCOUNT_REASON.notFound)],
  ["Uncertain", account("False", "AlreadyClaimed")],
  ["Uncertain", account("False", "InternalError")],
  ["Uncertain", { metadata: {} } as unknown as ServiceAccount],
])("an account is %s: %#", (expected, given) => {
  expect(accountStanding(given)).toBe(expected);
});
