import { expect, test } from "vitest";
import type { ServiceAccount } from "../../../src/api/service-account.ts";
import { boundOf, boundText, lastShown } from "../../../src/kubectl-iam/cluster/bound-policies.ts";

const policies = [
  { policyId: "pol-read", state: "Declared", missing: true },
  { policyId: "pol-left", state: "Abandoned", missing: true },
  { policyId: "pol-theirs", state: "Foreign" },
];
const account = (status: object = {}) =>
  ({
    status: { saId: "sa-1", bindings: { policies, policyCount: 1 }, ...status },
  }) as ServiceAccount;

test("a policy that the last read did not show is not told as bound", () => {
  expect(boundOf(account())).toEqual(["pol-theirs"]);
  expect(boundText(account())).toBe("pol-theirs, as last read");
  expect(lastShown(account(), "Foreign", "Abandoned")).toEqual(["pol-theirs"]);
});

test("nothing is bound to an account that is gone, and what was bound is known", () => {
  const gone = account({ ownership: "Gone" });
  expect(boundOf(gone)).toEqual([]);
  expect(lastShown(gone)).toEqual(["pol-theirs"]);
});
