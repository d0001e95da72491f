import { expect, test } from "vitest";
import {
  type AccountBindingsState,
  withRefusal,
} from "../../../../src/controllers/policy-binding/rules/state.ts";
import { mayTakeEffect } from "../../../../src/controllers/policy-binding/rules/unanswered-sync.ts";
import { IamError, type IamErrorCode } from "../../../../src/iam/errors.ts";
import { MINUTE } from "../../../../src/util/time.ts";
import { account, bindingOf, NOW, refused, snapshot } from "./builders.ts";

const failed = (code: IamErrorCode, sent = true) =>
  new IamError(code, "no", { operation: "syncBindings", sent });

test.each<[string, unknown, boolean]>([
  ["no response", failed("Timeout"), true],
  ["a 5xx", failed("Unavailable"), true],
  ["an unreadable response", failed("MalformedResponse"), true],
  ["a bug after the call", new TypeError("no"), true],
  ["a refusal", failed("InvalidArgument"), false],
  ["a call that was never sent", failed("Unavailable", false), false],
])("a call that ended with %s may take effect: %j", (_, error, expected) => {
  expect(mayTakeEffect(error)).toBe(expected);
});

const problem = { reason: "PolicyNotFound", message: "no such policy" };
const refusal = { generation: 1, requestedAt: "then", until: NOW + MINUTE, problem };
const same = { ...bindingOf("p1"), requestedAt: "then" };

test.each([
  ["stands for the object that it was about", same, problem],
  ["does not stand after a change of the spec", { ...same, generation: 2 }, undefined],
  ["does not stand after a request", { ...same, requestedAt: "now" }, undefined],
  ["does not hide another problem", { ...same, ...refused }, refused.problem],
  ["is of one object", { ...same, uid: "another" }, undefined],
])("a refusal %s", (_, binding, expected) => {
  const { state } = snapshot(account(), []);
  const known = { ...state, refusals: new Map([[same.uid, refusal]]) } as AccountBindingsState;
  expect(withRefusal(known, binding, NOW).problem).toEqual(expected);
  expect(withRefusal(known, { ...same }, NOW + MINUTE).problem).toBeUndefined();
});
