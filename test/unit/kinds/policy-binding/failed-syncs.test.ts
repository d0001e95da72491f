import { expect, test } from "vitest";
import { IamError, type IamErrorCode } from "../../../../src/console/errors.ts";
import { isRefusal } from "../../../../src/kinds/policy-binding/rules/refusal.ts";
import {
  type AccountBindingsState,
  withRefusal,
} from "../../../../src/kinds/policy-binding/rules/state.ts";
import { mayTakeEffect } from "../../../../src/kinds/policy-binding/rules/unanswered-sync.ts";
import { MINUTE } from "../../../../src/util/time.ts";
import { account, bindingOf, NOW, snapshot } from "./builders.ts";

const failed = (code: IamErrorCode, sent = true) =>
  new IamError(code, "no", { operation: "syncBindings", sent });

test.each<[string, boolean, unknown]>([
  ["no response", true, failed("Timeout")],
  ["a 5xx", true, failed("Unavailable")],
  ["an unreadable response", true, failed("MalformedResponse")],
  ["a success that reads do not show", true, failed("ChangeNotApplied")],
  ["a bug after the call", true, new TypeError("no")],
  ["a refusal", false, failed("InvalidArgument")],
  ["a call that was never sent", false, failed("Unavailable", false)],
])("after %s, the call may still take effect: %s", (_, expected, error) => {
  expect(mayTakeEffect(error)).toBe(expected);
});

test.each<[IamErrorCode, boolean]>([
  ["InvalidArgument", true],
  ["NotFound", true],
  ["FailedPrecondition", true],
  ["PermissionDenied", false],
  ["Unavailable", false],
])("an answer of %s refuses the list of policies: %s", (code, expected) => {
  expect(isRefusal(failed(code))).toBe(expected);
});

const problem = { reason: "PolicyRefused", message: "No p1.", advice: "Remove p1." };
const refusal = {
  generation: 1,
  requestedAt: "then",
  until: NOW + MINUTE,
  policyIds: ["p1"],
  problem,
};
const same = { ...bindingOf("p1 p2"), requestedAt: "then" };
const ungranted = { ...bindingOf("p1 p3!"), requestedAt: "then" };
const two = { reason: "PolicyNotGranted", message: "No p3. No p1.", advice: "Ask. Remove p1." };

test.each([
  ["stands for the object that it was about", same, NOW, problem],
  ["does not stand when its time is over", same, NOW + MINUTE, undefined],
  ["does not stand after a change of the spec", { ...same, generation: 2 }, NOW, undefined],
  ["does not stand after a request", { ...same, requestedAt: "now" }, NOW, undefined],
  ["does not hide another problem", ungranted, NOW, two],
  ["is of one object", { ...same, uid: "another" }, NOW, undefined],
])("a refusal %s", (_, binding, now, expected) => {
  const { state } = snapshot(account(), []);
  const known = { ...state, refusals: new Map([[same.uid, refusal]]) } as AccountBindingsState;
  const seen = withRefusal(known, binding, now);
  expect(seen.problem).toEqual(expected);
  expect(seen.policyIds.includes("p1")).toBe(expected === undefined);
});
