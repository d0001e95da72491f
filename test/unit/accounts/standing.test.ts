import { expect, test } from "vitest";
import {
  ACCOUNT_REASON,
  accountStanding,
  findingOn,
  whyKeysFail,
} from "../../../src/accounts/standing.ts";
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
  [ACCOUNT_REASON.notActive, true],
  [ACCOUNT_REASON.notFound, true],
  [ACCOUNT_REASON.gone, true],
  [ACCOUNT_REASON.mismatch, true],
  [ACCOUNT_REASON.foreignOrganization, true],
  [ACCOUNT_REASON.foreignProject, true],
  [ACCOUNT_REASON.suspended, false],
  ["PermissionDenied", false],
])("%s is what the console answered about the account: %s", (reason, isFinding) => {
  const stalled = { type: "Stalled", status: "True", reason, message: "why" };
  const found = findingOn({ metadata: {}, status: { conditions: [stalled] } } as never);
  expect(found).toEqual(isFinding ? { state: "Stalled", reason, message: "why" } : undefined);
});

test.each([
  ["InCharge", account("True", "Created")],
  ["InCharge", account("False", ACCOUNT_REASON.inUse, "2026-01-01T00:00:00Z")],
  ["InCharge", account("False", "Unavailable")],
  ["InCharge", account("False", "RateLimited")],
  ["NotReady", account("False", "PermissionDenied")],
  ["NotReady", account("False", ACCOUNT_REASON.inUse)],
  ["NotReady", account("False", ACCOUNT_REASON.suspended)],
  ["NotReady", account("False", ACCOUNT_REASON.suspended, "2026-01-01T00:00:00Z")],
  ["NotReady", account("False", ACCOUNT_REASON.notGranted)],
  ["NotReady", account("False", ACCOUNT_REASON.deleteNotPossible)],
  ["NotReady", account("False", ACCOUNT_REASON.notActive)],
  ["Gone", account("False", ACCOUNT_REASON.gone)],
  ["Gone", account("False", ACCOUNT_REASON.notFound)],
  ["Uncertain", account("False", "AlreadyClaimed")],
  ["Uncertain", account("False", "InternalError")],
  ["Uncertain", { metadata: {} } as unknown as ServiceAccount],
])("an account is %s: %#", (expected, given) => {
  expect(accountStanding(given)).toBe(expected);
});
