/** What a process that remembers nothing takes from the status of an ApiKey. */
import { expect, test } from "vitest";
import {
  reportedTrial,
  withReported,
} from "../../../../src/kinds/api-key/rules/reported-refusal.ts";
import { shownEnd } from "../../../../src/kinds/api-key/rules/verification.ts";
import { HOUR, MINUTE, toIso8601 } from "../../../../src/util/time.ts";
import { at, delivered, NOW, object } from "./builders.ts";

function verified(reason: string) {
  const lastTransitionTime = toIso8601(NOW - MINUTE);
  const status = reason === "KeyAccepted" ? ("True" as const) : ("False" as const);
  return object({
    conditions: [{ type: "Verified", status, reason, message: "", lastTransitionTime }],
  });
}

test("a rejection counts from the report", () => {
  const { rejection } = withReported(delivered({ object: verified("KeyRefused") }), at());
  expect(rejection).toEqual({ keyId: "sak_1", since: at().monotonic - MINUTE });
});

test("a rejection that is reported in the future counts from now", () => {
  const past = at(-HOUR);
  const { rejection } = withReported(delivered({ object: verified("KeyRefused") }), past);
  expect(rejection).toEqual({ keyId: "sak_1", since: past.monotonic });
});

test("a key that the console accepted is not rejected", () => {
  const known = withReported(delivered({ object: verified("KeyAccepted") }), at());
  expect(shownEnd(known)).toBeUndefined();
});

test.each([
  ["SecretRejected", { reason: "SecretRejected", message: "It is so." }],
  ["SecretNotKept", { reason: "SecretNotKept", message: "It is so." }],
  ["BudgetExceeded", undefined],
])("whether the next key could be stored is taken from a reported %s: %j", (reason, reported) => {
  const condition = {
    type: "IssuanceAllowed",
    status: "False",
    observedGeneration: 1,
    reason,
    message: "It is so.",
  } as const;
  const given = object({ conditions: [{ ...condition, lastTransitionTime: toIso8601(NOW) }] });
  expect(reportedTrial(delivered({ object: given })).reported).toEqual(reported);
});
