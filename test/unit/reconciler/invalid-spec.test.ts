/** What an object with an invalid stored spec says. */
import { expect, test } from "vitest";
import { annotations } from "../../../src/api/meta.ts";
import { rejection } from "../../../src/reconciler/report-run.ts";
import { apiKeyType } from "../../../src/resources/resource-types.ts";

const object = { metadata: { name: "ci", namespace: "team-a", uid: "u" }, spec: {} } as never;

test("the conditions of its kind that the spec decides are told as well", () => {
  const forecast = { type: "IssuanceAllowed", status: "False", reason: "InvalidSpec" } as const;
  const kind = {
    type: apiKeyType,
    ifInvalid: (message: string) => [{ ...forecast, message }],
  } as never;
  const { readiness, conditions } = rejection(kind, object, "spec.x: wrong.");
  expect(readiness).toMatchObject({ state: "Stalled", reason: "InvalidSpec" });
  expect(conditions).toEqual([{ ...forecast, message: "spec.x: wrong." }]);
});

test("a request to reconcile is answered", () => {
  const requested = { [annotations.reconcileRequestedAt]: "now" };
  const asked = { metadata: { name: "ci", uid: "u", annotations: requested }, spec: {} } as never;
  const kind = { type: apiKeyType } as never;
  expect(rejection(kind, asked, "spec.x: wrong.").handledRequest).toBe("now");
});
