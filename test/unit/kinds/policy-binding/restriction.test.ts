/** What may be done for an account that is not available, or whose namespace has no grant. */
import { expect, test } from "vitest";
import {
  type Access,
  toAvailability,
} from "../../../../src/kinds/policy-binding/rules/restriction.ts";
import type {
  BoundAccount,
  UnavailableAccount,
} from "../../../../src/kinds/policy-binding/rules/views.ts";
import { DAY } from "../../../../src/util/time.ts";
import { account, NOW, recorded } from "./builders.ts";

const suspended = {
  kind: "Unavailable",
  state: "Stalled",
  reason: "ServiceAccountSuspended",
  message: "It is suspended.",
} as const;
const refusal: UnavailableAccount = { ...suspended, reason: "NotGranted", message: "No grant." };
const withdrawing = { policyIds: ["p1"], withdrawsPolicies: true };
const keeping = { policyIds: ["p1"], withdrawsPolicies: false };
const none = { policyIds: [], withdrawsPolicies: true };
const ungranted = { gracePeriodMs: DAY };
const revoked = { accessRevoked: true };

/** What a suspended account may have done for it. */
function restricted(fields: Partial<BoundAccount>, access: Access): string {
  const named = account(fields);
  const view = { availability: suspended, named, connectionRef: undefined };
  const situation = { now: NOW, account: undefined, bindings: [], state: undefined };
  const found = toAvailability(view, access, { ...situation, uncertaintyMs: 0 } as never);
  if (found.kind === "Unavailable") return found.reason;
  const { restriction, account: bound } = found;
  return `${restriction?.reason} withdraws ${bound.withdrawn.join(" ")}`;
}

test.each<[string, string, Partial<BoundAccount>, Access]>([
  [
    "ServiceAccountSuspended withdraws p2",
    "a policy is no longer granted",
    recorded(["p1", "p2"]),
    { grant: withdrawing },
  ],
  [
    "ServiceAccountSuspended",
    "the grant lets policies stay",
    recorded(["p1", "p2"]),
    { grant: keeping },
  ],
  ["ServiceAccountSuspended withdraws ", "access is revoked", revoked, { grant: withdrawing }],
  ["ServiceAccountSuspended", "nothing is known of a grant", revoked, { grant: undefined }],
  ["ServiceAccountSuspended", "the connection refuses", {}, { grant: withdrawing, refusal }],
  [
    "NotGranted withdraws ",
    "the grant was removed",
    recorded(["p1"]),
    { grant: none, refusal, ungranted },
  ],
  ["NotGranted", "nothing was bound by it", recorded([]), { grant: none, refusal, ungranted }],
])("for a suspended account, %s, if %s", (expected, _, fields, access) => {
  expect(restricted(fields, access)).toBe(expected);
});
