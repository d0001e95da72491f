import { expect, test } from "vitest";
import { isRevocationDue } from "../../../src/accounts/revocation-due.ts";
import { cachesWith } from "../../support/caches-with.ts";

const caches = (applied: readonly string[]) =>
  cachesWith({
    policybindings: { byIndex: () => [{ status: { appliedPolicyIds: applied } }] },
  });
const account = (status: object, access = "Revoked") =>
  ({ metadata: { namespace: "n", name: "a" }, spec: { access }, status }) as never;

test.each<[string, object, readonly string[], boolean]>([
  ["nothing was ever bound", { origin: "Created" }, [], false],
  ["there is no account yet", {}, [], false],
  ["an imported account was not read yet", { origin: "Imported" }, [], true],
  ["a binding was about to be made", { origin: "Created" }, ["p"], true],
  ["policies are bound", { bindings: { policyCount: 2 } }, [], true],
  ["nothing is bound any more", { bindings: { policyCount: 0 } }, ["p"], false],
  [
    "an earlier call may bind policies again",
    { bindings: { policyCount: 0, unansweredSync: { time: "2026-01-01T00:00:00Z" } } },
    [],
    true,
  ],
])("revoking access is urgent or not where %s", (_, status, applied, expected) => {
  expect(isRevocationDue(caches(applied), account(status))).toBe(expected);
  expect(isRevocationDue(caches(applied), account(status, "Granted"))).toBe(false);
});
