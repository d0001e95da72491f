import { expect, test } from "vitest";
import {
  type Condition,
  type Readiness,
  readinessConditions,
} from "../../../src/api/conditions.ts";
import { conditionEvents } from "../../../src/reconciler/rules/condition-events.ts";

const said = (state: Readiness["state"], reason: string, before: readonly Condition[] = []) =>
  readinessConditions(before, { state, reason, message: `${reason}.` }, 1, 0);
const verified = (status: "True" | "False", reason: string): readonly Condition[] => [
  { type: "Verified", status, reason, message: `${reason}.`, lastTransitionTime: "" },
];

const pending = said("Reconciling", "Pending");
const claimed = said("Stalled", "AlreadyClaimed");
const synced = said("Ready", "Synced");
const paused = said("Stalled", "Suspended");
const accepted = [...synced, ...verified("True", "KeyAccepted")];
const refused = [...synced, ...verified("False", "KeyRefused")];

test.each<[string, readonly Condition[] | undefined, readonly Condition[], string?]>([
  ["a new object on its way is silent", undefined, pending],
  ["a first success has events of its own", pending, synced],
  ["an object that stalls warns", pending, claimed, "Warning AlreadyClaimed"],
  ["another reason warns again", claimed, said("Stalled", "NoProject"), "Warning NoProject"],
  ["an object that stays stalled is silent", claimed, claimed],
  ["no longer ready warns", synced, said("Reconciling", "Down"), "Warning Down"],
  ["an object that is ready after it had stalled says so", claimed, synced, "Normal Synced"],
  ["suspending is not a failure", pending, paused],
  ["nor is it to resume", paused, synced],
  ["a condition of the kind warns when it turns False", accepted, refused, "Warning KeyRefused"],
])("%s", (_, before, after, ...events) => {
  const made = conditionEvents(before, after, ["Verified"]);
  expect(made.map(({ type, reason }) => `${type} ${reason}`)).toEqual(events);
});
