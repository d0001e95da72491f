/** The report of a run about its objects, as data; `publish` writes it. Pure. */
import {
  type Condition,
  type ConditionUpdate,
  type Readiness,
  readinessConditions,
  removeCondition,
  setCondition,
} from "../../api/conditions.ts";
import type { OperatorEvent } from "../../api/events.ts";
import type { IamObject } from "../../api/meta.ts";
import type { Plan } from "../../api/plan.ts";
import type { ResourceType } from "../../kube/resource.ts";
import { type AgreedTime, correctedTime } from "../../util/agreed-time.ts";
import { type Instant, parseInstant, toIso8601 } from "../../util/time.ts";
import { cleanupCondition } from "./cleanup.ts";
import type { ConditionEvent } from "./condition-events.ts";
import { SUSPENDED } from "./obstacle.ts";

export interface StatusWriteOptions {
  /** Precondition (Conflict) for writes that must build on exactly this state, such as an intent. */
  readonly resourceVersion?: string;
  /** Status fields owned by another field manager: neither compared nor written. */
  readonly foreignFields?: readonly string[];
  /** Defaults to the operator's own field manager. */
  readonly fieldManager?: string;
  readonly signal?: AbortSignal | undefined;
}

/** The status fields that every kind has. */
export interface CommonStatus {
  readonly observedGeneration?: number | undefined;
  readonly lastHandledReconcileAt?: string | undefined;
  readonly plan?: Plan | undefined;
  readonly conditions?: readonly Condition[] | undefined;
}

export type ReportedObject = IamObject<unknown, CommonStatus>;

export interface Report<State = unknown> {
  /** One entry for each object whose status is written, in this order. */
  readonly objects: readonly ObjectReport[];
  /** Recorded in addition to the events about changed conditions; `objects` need not list their objects. */
  readonly events?: readonly EventOf[];
  /**
   * Reconcile again after this many milliseconds at the latest. After a failure, it counts only if the error policy
   * would wait for a change of the object. Absent: the controller's resync.
   */
  readonly requeueAfterMs?: number | undefined;
  /** Whether a failed run is retried sooner, because it had to withdraw permissions. */
  readonly isUrgent?: boolean;
  /** The new process state; absent if it does not change. */
  readonly state?: State;
}

export interface EventOf {
  readonly object: ReportedObject;
  readonly event: OperatorEvent | ConditionEvent;
}

export interface ObjectReport<T extends ReportedObject = ReportedObject> {
  readonly type: ResourceType<T>;
  /** The object as last read or written; the base of the write. */
  readonly object: T;
  /** The whole status except observedGeneration, plan, conditions and lastHandledReconcileAt. */
  readonly status: object;
  readonly readiness: Readiness;
  /** The kind's own conditions; a condition without `status` is removed. */
  readonly conditions?: readonly KindCondition[];
  /** `spec.suspend`: the readiness is reported as suspended. */
  readonly suspended?: boolean;
  /** The request by a person (`reconcile-requested-at`) that this run has handled. */
  readonly handledRequest?: string | undefined;
  /**
   * For an object that is being deleted: whether its cleanup in the console is blocked, so that its deadline runs.
   * Absent: as before.
   */
  readonly isCleanupBlocked?: boolean | undefined;
  /** The planned calls, if the operator only plans for the object. */
  readonly plan?: Plan;
  readonly write?: Pick<StatusWriteOptions, "resourceVersion" | "foreignFields">;
}

export type KindCondition = { readonly type: string } & (
  | (ConditionUpdate & {
      /** Whether a change to False causes a Warning event. */
      readonly isWarning?: boolean;
    })
  | { readonly status?: undefined }
);

/** The fields of a stored status except the fields that every kind has. */
export function ownFields<Status extends CommonStatus>(
  status: Status,
): Omit<Status, keyof CommonStatus> {
  const {
    observedGeneration: _,
    lastHandledReconcileAt: __,
    conditions: ___,
    plan: ____,
    ...own
  } = status;
  return own;
}

/** The whole status that results from a report. */
export function statusOf(
  { object, status, handledRequest, ...report }: ObjectReport,
  at: AgreedTime,
): CommonStatus {
  const generation = object.metadata.generation ?? 0;
  const handled = handledRequest ?? object.status?.lastHandledReconcileAt;
  const { plan: _, ...own }: CommonStatus = status;
  return {
    observedGeneration: generation,
    ...(handled === undefined ? {} : { lastHandledReconcileAt: handled }),
    ...own,
    ...(report.plan === undefined ? {} : { plan: report.plan }),
    conditions: conditionsOf(object, report, generation, at),
  };
}

/** The object with the status that results from a report. */
export function reported(report: ObjectReport, at: AgreedTime): ReportedObject {
  const { object, write: { foreignFields = [] } = {} } = report;
  const own = Object.entries(statusOf(report, at)).filter(
    ([field, value]) => value !== undefined && !foreignFields.includes(field),
  );
  const foreign = Object.entries(object.status ?? {}).filter(([field]) =>
    foreignFields.includes(field),
  );
  return { ...object, status: Object.fromEntries([...foreign, ...own]) };
}

/** The kind's conditions whose change to False causes a Warning event. */
export function warningsOf({ conditions = [] }: ObjectReport): readonly string[] {
  return conditions
    .filter((condition) => condition.status !== undefined && condition.isWarning)
    .map(({ type }) => type);
}

/**
 * The readiness of the object, after suspension is applied in the form that GitOps tools read: a usable object stays
 * Ready; an unusable object waits for a person.
 */
export function readinessOf({
  readiness,
  suspended = false,
}: Pick<ObjectReport, "readiness" | "suspended">): Readiness {
  if (!suspended) return readiness;
  const { state, reason, message } = readiness;
  if (state !== "Ready") return reason === SUSPENDED.reason ? readiness : SUSPENDED;
  const paused = `${message} Nothing is changed while spec.suspend is true.`;
  return { state, reason: "Suspended", message: paused };
}

function conditionsOf(
  object: ReportedObject,
  report: Omit<ObjectReport, "type" | "object" | "status" | "handledRequest">,
  generation: number,
  at: AgreedTime,
): readonly Condition[] {
  const { now } = at;
  const before = withCorrectedTimes(object.status?.conditions ?? [], at);
  const known = { status: { conditions: before } };
  const common = readinessConditions(before, readinessOf(report), generation, now);
  const conditions = [...(report.conditions ?? []), ...cleanupOf(known, report, now)];
  return conditions.reduce((list, condition) => {
    if (condition.status === undefined) return removeCondition(list, condition.type);
    const { isWarning: _, ...update } = condition;
    return setCondition(list, update, generation, now);
  }, common);
}

/** Deadlines count from these times. */
function withCorrectedTimes(
  conditions: readonly Condition[],
  at: AgreedTime,
): readonly Condition[] {
  return conditions.map((condition) => {
    const stored = parseInstant(condition.lastTransitionTime);
    const time = correctedTime(stored, at);
    return time === undefined || time === stored
      ? condition
      : { ...condition, lastTransitionTime: toIso8601(time) };
  });
}

/** The deadline does not run while the operator only plans. */
function cleanupOf(
  object: Pick<ReportedObject, "status">,
  {
    isCleanupBlocked,
    readiness,
    plan,
  }: Pick<ObjectReport, "isCleanupBlocked" | "readiness" | "plan">,
  now: Instant,
): readonly KindCondition[] {
  if (isCleanupBlocked === undefined) return [];
  const isBlocked = isCleanupBlocked && plan === undefined;
  return [cleanupCondition(object, isBlocked ? readiness.reason : undefined, now)];
}
