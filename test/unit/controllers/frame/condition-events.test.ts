import { expect, test } from "vitest";
import {
  type Condition,
  type Readiness,
  readinessConditions,
} from "../../../../src/api/conditions.ts";
import { conditionEvents } from "../../../../src/controllers/frame/rules/condition-events.ts";

const said = (state: Readiness["state"], reason: string, before: readonly Condition[] = []) =>
  readinessConditions(before, { state, reason, message: `${reason}.` }, 1, 0);
const verified = (status: "True" | "False", reason: string): readonly Condition[] => [
  { type: "Verified", status, reason, message: `${reason}.`, lastTransitionTime: "" },
];

test.each<{
  name: string;
  before: readonly Condition[] | undefined;
  after: readonly Condition[];
  events: readonly string[];
}>([
  {
    name: "a new object on its way is silent",
    before: undefined,
    after: said("Reconciling", "Pending"),
    events: [],
  },
  {
    name: "a first success has events of its own",
    before: said("Reconciling", "Issuing"),
    after: said("Ready", "KeyDelivered"),
    events: [],
  },
  {
    name: "an object that stalls warns",
    before: said("Reconciling", "Pending"),
    after: said("Stalled", "AlreadyClaimed"),
    events: ["Warning AlreadyClaimed"],
  },
  {
    name: "an object that stalls for another reason warns again",
    before: said("Stalled", "AlreadyClaimed"),
    after: said("Stalled", "ProjectMissing"),
    events: ["Warning ProjectMissing"],
  },
  {
    name: "an object that stays stalled is silent",
    before: said("Stalled", "AlreadyClaimed"),
    after: said("Stalled", "AlreadyClaimed"),
    events: [],
  },
  {
    name: "an object that ceases to be ready warns",
    before: said("Ready", "Synced"),
    after: said("Reconciling", "Unavailable"),
    events: ["Warning Unavailable"],
  },
  {
    name: "an object that is ready after it had stalled says so",
    before: said("Stalled", "PermissionDenied"),
    after: said("Ready", "Listed"),
    events: ["Normal Listed"],
  },
  {
    name: "suspending is no trouble",
    before: said("Reconciling", "Pending"),
    after: said("Stalled", "Suspended"),
    events: [],
  },
  {
    name: "nor is it to resume",
    before: said("Stalled", "Suspended"),
    after: said("Ready", "Synced"),
    events: [],
  },
  {
    name: "a condition of the kind warns when it turns False",
    before: [...said("Ready", "KeyDelivered"), ...verified("True", "KeyAccepted")],
    after: [...said("Ready", "KeyDelivered"), ...verified("False", "KeyRefused")],
    events: ["Warning KeyRefused"],
  },
])("$name", ({ before, after, events }) => {
  const made = conditionEvents(before, after, ["Verified"]);
  expect(made.map(({ type, reason }) => `${type} ${reason}`)).toEqual(events);
});
