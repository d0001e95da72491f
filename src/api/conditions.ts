import * as z from "zod";
import { type Instant, toIso8601 } from "../util/time.ts";

export const conditionSchema = z
  .object({
    type: z.string().max(316).meta({ description: "Type of the condition, such as Ready." }),
    status: z
      .enum(["True", "False", "Unknown"])
      .meta({ description: "Whether it holds: True, False or Unknown." }),
    observedGeneration: z
      .int()
      .min(0)
      .optional()
      .meta({ description: "The metadata.generation that the condition is about." }),
    lastTransitionTime: z.iso
      .datetime()
      .meta({ format: "date-time", description: "When status last changed." }),
    reason: z.string().max(1024).meta({ description: "Machine-readable cause in CamelCase." }),
    message: z.string().max(32_768).meta({ description: "Human-readable cause." }),
  })
  .meta({ description: "A condition of the object, as a metav1.Condition." });

/** metav1.Condition, as kstatus and `kubectl wait` read it. */
export type Condition = Readonly<z.output<typeof conditionSchema>>;

export interface ConditionUpdate {
  readonly type: string;
  readonly status: Condition["status"];
  readonly reason: string;
  /** A whole sentence without secrets; cut to `MAX_MESSAGE` characters. */
  readonly message: string;
}

export const MAX_MESSAGE = 1_024;

/**
 * Returns a new list with the updated condition. `lastTransitionTime` changes only with the status; the other
 * conditions keep their order.
 */
export function setCondition(
  conditions: readonly Condition[],
  update: ConditionUpdate,
  observedGeneration: number,
  now: Instant,
): readonly Condition[] {
  const old = conditions.find(({ type }) => type === update.type);
  const next: Condition = {
    ...update,
    // The cut may split a character, and half a character would be read back differently.
    message: update.message.slice(0, MAX_MESSAGE).toWellFormed(),
    observedGeneration,
    lastTransitionTime:
      old !== undefined && old.status === update.status ? old.lastTransitionTime : toIso8601(now),
  };
  return old === undefined
    ? [...conditions, next]
    : conditions.map((condition) => (condition === old ? next : condition));
}

/** Returns a new list without the condition of that type. */
export function removeCondition(
  conditions: readonly Condition[],
  type: string,
): readonly Condition[] {
  return conditions.filter((condition) => condition.type !== type);
}

export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Whether the operator has reported on an object. The schema's defaults do not count as a report. */
export function isReportedOn(object: {
  readonly status?: { readonly conditions?: readonly Condition[] | undefined } | undefined;
}): boolean {
  return findCondition(object.status?.conditions, "Ready") !== undefined;
}

export function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === "True";
}

/** The result of a run for an object as a whole; {@link readinessConditions} turns it into conditions. */
export type Readiness =
  | { readonly state: "Ready"; readonly reason: string; readonly message: string }
  /** In progress, or waiting for a change that enqueues the object. */
  | { readonly state: "Reconciling"; readonly reason: string; readonly message: string }
  /** Manual action is required. */
  | { readonly state: "Stalled"; readonly reason: string; readonly message: string }
  /** Everything is done, and the console does not show whether it has an effect. */
  | { readonly state: "Unknown"; readonly reason: string; readonly message: string };

const READY_STATUS = {
  Ready: "True",
  Unknown: "Unknown",
  Reconciling: "False",
  Stalled: "False",
} as const;

/** Sets Ready, Reconciling and Stalled for kstatus: Reconciling and Stalled exist only while True. */
export function readinessConditions(
  conditions: readonly Condition[],
  { state, reason, message }: Readiness,
  observedGeneration: number,
  now: Instant,
): readonly Condition[] {
  const ready = setCondition(
    conditions,
    { type: "Ready", status: READY_STATUS[state], reason, message },
    observedGeneration,
    now,
  );
  return (["Reconciling", "Stalled"] as const).reduce(
    (list, type) =>
      state === type
        ? setCondition(list, { type, status: "True", reason, message }, observedGeneration, now)
        : removeCondition(list, type),
    ready,
  );
}
