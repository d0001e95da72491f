import { beforeAll, describe, expect, test } from "vitest";
import {
  type Condition,
  type Readiness,
  readinessConditions,
} from "../../../src/api/conditions.ts";
import { kinds } from "../../../src/api/kinds.ts";
import { API_VERSION } from "../../../src/api/meta.ts";
import { conditionHelp } from "../../../src/api/reasons/conditions.ts";
import { kstatusOf } from "./kstatus.ts";

const GENERATION = 2;
const NOW = 1_750_000_000_000;
const READINESS = ["Ready", "Reconciling", "Stalled"];

interface Told {
  readonly metadata?: object;
  /** That the status is about. */
  readonly observedGeneration?: number;
  /** Besides those of readiness. */
  readonly others?: readonly Condition[];
}

const object = (kind: string, readiness: Readiness, told: Told = {}) => {
  const { metadata, observedGeneration = GENERATION, others = [] } = told;
  const conditions = readinessConditions(others, readiness, observedGeneration, NOW);
  return {
    apiVersion: API_VERSION,
    kind,
    metadata: { name: "shop", namespace: "team", generation: GENERATION, ...metadata },
    spec: {},
    status: { observedGeneration, conditions },
  };
};

const readiness = (state: Readiness["state"], reason: string): Readiness => ({
  state,
  reason,
  message: `It is ${reason}.`,
});
const ready = readiness("Ready", "Ready");
const reconciling = readiness("Reconciling", "Progressing");

const verdictsOf = async (objects: readonly object[]) =>
  (await kstatusOf(objects)).map(({ status }) => status);

// The first call builds the program.
beforeAll(() => kstatusOf([]));

describe.each(kinds.map(({ kind }) => ({ kind, help: conditionHelp[kind] ?? [] })))(
  "kstatus about $kind",
  ({ kind, help }) => {
    test("as declared is Current, at work is InProgress", async () => {
      const objects = [object(kind, ready), object(kind, reconciling)];
      expect(await verdictsOf(objects)).toEqual(["Current", "InProgress"]);
    });

    test("in use while only planned for is Current, not in use is Failed, and never InProgress", async () => {
      const objects = [
        object(kind, readiness("Ready", "PlanOnly")),
        object(kind, readiness("Stalled", "PlanOnly")),
      ];
      expect(await verdictsOf(objects)).toEqual(["Current", "Failed"]);
    });

    test("in use while suspended is Current, unusable while suspended is Failed", async () => {
      const objects = [
        object(kind, readiness("Ready", "Suspended")),
        object(kind, readiness("Stalled", "Suspended")),
      ];
      expect(await verdictsOf(objects)).toEqual(["Current", "Failed"]);
    });

    test("a reason that requires action is Failed, with its message", async () => {
      const reasons = help.find(({ type }) => type === "Stalled")?.reasons ?? [];
      expect(reasons).toContain("InvalidSpec");
      const verdicts = await kstatusOf(
        reasons.map((reason) => object(kind, readiness("Stalled", reason))),
      );
      expect(verdicts).toEqual(
        reasons.map((reason) => ({ status: "Failed", message: `It is ${reason}.` })),
      );
    });

    test("a change that the status is not about yet is InProgress, whatever was before", async () => {
      const before = { observedGeneration: GENERATION - 1 };
      const objects = [ready, reconciling, readiness("Stalled", "InvalidSpec")].map((earlier) =>
        object(kind, earlier, before),
      );
      expect(new Set(await verdictsOf(objects))).toEqual(new Set(["InProgress"]));
    });

    test("a deletion is Terminating, whatever holds it up", async () => {
      const metadata = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["x.io/y"] };
      const objects = [reconciling, readiness("Stalled", "InUse")].map((state) =>
        object(kind, state, { metadata }),
      );
      expect(new Set(await verdictsOf(objects))).toEqual(new Set(["Terminating"]));
    });

    test("no other condition changes a verdict", async () => {
      const others = help
        .filter(({ type }) => !READINESS.includes(type))
        .flatMap(({ type }) => (["True", "False", "Unknown"] as const).map(condition(type)));
      const states = [ready, reconciling, readiness("Stalled", "InvalidSpec")];
      const objects = states.flatMap((state) =>
        [[], ...others.map((other) => [other])].map((list) =>
          object(kind, state, { others: list }),
        ),
      );
      const each = (status: string) => Array.from({ length: others.length + 1 }, () => status);
      expect(await verdictsOf(objects)).toEqual(["Current", "InProgress", "Failed"].flatMap(each));
    });
  },
);

function condition(type: string): (status: Condition["status"]) => Condition {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  return (status) => ({ type, status, reason: "Some", message: "Some.", lastTransitionTime });
}
