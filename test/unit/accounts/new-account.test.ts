import { expect, test } from "vitest";
import { CREATING, isReconciled } from "../../../src/accounts/new-account.ts";
import { serviceAccount } from "../kinds/service-account/objects.ts";

test.each([
  [undefined, false],
  [CREATING, false],
  ["TpnUnknown", true],
])(
  "a new account whose Ready condition has the reason %s is reconciled: %s",
  (reason, expected) => {
    const ready = { type: "Ready", status: "False", message: "", lastTransitionTime: "" } as const;
    const conditions = reason === undefined ? [] : [{ ...ready, reason }];
    expect(isReconciled(serviceAccount({ status: { conditions } }))).toBe(expected);
  },
);
