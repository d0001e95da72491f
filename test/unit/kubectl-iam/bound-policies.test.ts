import { expect, test } from "vitest";
import type { PolicyBinding } from "../../../src/api/policy-binding.ts";
import type { ServiceAccount } from "../../../src/api/service-account.ts";
import {
  accountText,
  boundOf,
  boundText,
  declaredText,
  lastShown,
} from "../../../src/kubectl-iam/cluster/bound-policies.ts";

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

test("an account that could not be imported is in the console, and nothing is known of its policies", () => {
  const refused = { spec: { saId: "sa-7" }, status: {} } as ServiceAccount;
  expect(accountText(refused)).toBe("sa-7, not imported");
  expect(boundText(refused)).toBe("what else is bound in the console has not been read");
});

test("nothing is bound to an account that is not created yet", () => {
  const absent = { spec: {}, status: {} } as ServiceAccount;
  expect([accountText(absent), boundText(absent)]).toEqual(["not created yet", "none"]);
});

test("what is still bound for a PolicyBinding that no longer declares it is shown", () => {
  const binding = {
    spec: { policyIds: ["pol-read"] },
    status: { appliedPolicyIds: ["pol-read", "pol-theirs"] },
  } as PolicyBinding;
  expect(declaredText(binding, account())).toBe("not bound: pol-read; still bound: pol-theirs");
});
