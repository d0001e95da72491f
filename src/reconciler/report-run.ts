/** The end of a run: reports its outcome and returns to the queue when to reconcile again. */
import { isReportedOn, type Readiness } from "../api/conditions.ts";
import { annotations } from "../api/meta.ts";
import { type Plan, type PlannedCall, toPlan } from "../api/plan.ts";
import type { Result } from "../runtime/result.ts";
import type { Log } from "../util/log.ts";
import { isBeingDeleted } from "../util/object-meta.ts";
import { RunTimedOut } from "../util/run-timed-out.ts";
import { toError } from "../util/to-error.ts";
import { readClock } from "./clock-reading.ts";
import { StatusWriteFailed, UrgentFailure } from "./errors.ts";
import type { KindDefinition } from "./kind-definition.ts";
import { publish, publishEvents, publishStatus } from "./publish.ts";
import { errorPolicy } from "./rules/error-policy.ts";
import { failureReadiness, timedOutReadiness } from "./rules/failure.ts";
import type { Outcome, Settled } from "./rules/outcome.ts";
import { failureIn } from "./rules/partial-failure.ts";
import { type ObjectReport, ownFields, type Report } from "./rules/report.ts";
import { requestToken } from "./rules/request.ts";
import { requeueMs } from "./rules/requeue.ts";
import type { KindTypes, RunContext } from "./run-context.ts";

const SETTLED: Settled = { kind: "Settled" };

/** Reports the outcome of a run that did not reject; for a run that only planned, with its plan. */
export async function reportOutcome<K extends KindTypes>(
  kind: KindDefinition<K>,
  snapshot: K["Snapshot"],
  outcome: Outcome,
  run: RunContext<K>,
  calls?: readonly PlannedCall[],
): Promise<Result> {
  if (calls === undefined && outcome.kind === "Waiting" && isDeferred(snapshot, outcome))
    return toResult(requeueMs(outcome, undefined));
  const made = reportOf(kind, snapshot, outcome, run);
  await publishReport(made, snapshot, outcome, run, calls && toPlan(calls));
  return toResult(outcome.kind === "Failed" ? undefined : requeueMs(outcome, made.requeueAfterMs));
}

/** Whether a new object gets no status yet. */
export function isDeferred<K extends KindTypes>(
  { object }: K["Snapshot"],
  outcome: Outcome,
): boolean {
  return outcome.kind === "Waiting" && outcome.deferFirstStatus === true && !isReportedOn(object);
}

function toResult(requeueAfterMs: number | undefined): Result {
  return requeueAfterMs === undefined ? {} : { requeueAfterMs };
}

/**
 * Reports a failure and rejects with it, so that the queue tries again. Resolves if the error policy would wait for a
 * change of the object, but the kind's report says when to try again.
 */
export async function reportFailure<K extends KindTypes>(
  kind: KindDefinition<K>,
  before: K["Snapshot"] | undefined,
  thrown: unknown,
  run: RunContext<K>,
): Promise<Result> {
  const { error, snapshot, events } = failureIn(thrown, before);
  publishEvents(events, run);
  const readiness = readinessAfter(error, run.signal);
  // The stop of the process is not a failure of the object.
  if (snapshot === undefined || readiness === undefined || run.reportSignal.aborted) throw error;
  const outcome = { kind: "Failed", error, readiness } as const;
  let made: Report | undefined;
  const publishing = async () => {
    made = reportOf(kind, snapshot, outcome, run);
    await publishReport(made, snapshot, outcome, run);
  };
  const said = await tryReport(error, publishing, run.log);
  const { requeueAfterMs, isUrgent } = made ?? {};
  if (requeueAfterMs !== undefined && errorPolicy(said).kind === "Terminal")
    return { requeueAfterMs };
  throw isUrgent || isBeingDeleted(snapshot.object) ? new UrgentFailure(said) : said;
}

/** The calls of a run that took too long are cancelled, and their errors do not say why. */
function readinessAfter(error: unknown, { reason }: AbortSignal): Readiness | undefined {
  const readiness = failureReadiness(error);
  return reason instanceof RunTimedOut ? readiness && timedOutReadiness(readiness) : readiness;
}

/**
 * Reports a failure and returns the error that the run must end with. If the report also fails, it does not hide the
 * failure; but the server that rejected the report may require a longer pause than the failure does (L9).
 */
export async function tryReport(
  cause: unknown,
  report: () => Promise<unknown>,
  log: Pick<Log, "debug">,
): Promise<unknown> {
  try {
    await report();
    return cause;
  } catch (refusal) {
    log.debug({ err: toError(refusal) }, "could not report a failure");
    return new StatusWriteFailed(cause, refusal);
  }
}

/** See {@link RunContext.writeStatus}. */
export async function writeStatusNow<K extends KindTypes>(
  kind: KindDefinition<K>,
  snapshot: K["Snapshot"],
  run: RunContext<K>,
  outcome: Outcome = SETTLED,
): Promise<K["Snapshot"]> {
  const { object } = snapshot;
  const { resourceVersion } = object.metadata;
  const { objects } = kind.report(snapshot, outcome, readClock(run), run.state);
  const entry = objects.find((each) => each.object === object);
  if (entry === undefined) throw new Error(`a ${kind.type.kind} reports no status of its own`);
  const bound = { ...entry, write: { ...entry.write, resourceVersion } };
  const written = await publishStatus(owned(kind, bound), run);
  return { ...snapshot, object: written };
}

/** A stored object may be older than its schema: it is not changed, and its status says why. */
export async function rejectSpec<K extends KindTypes>(
  kind: KindDefinition<K>,
  object: K["Object"],
  message: string,
  run: RunContext<K>,
): Promise<Result> {
  await publish({ objects: [rejection(kind, object, message)] }, run);
  return {};
}

/** The report about an object with an invalid spec. */
export function rejection<K extends KindTypes>(
  kind: KindDefinition<K>,
  object: K["Object"],
  message: string,
): ObjectReport {
  const status = ownFields(object.status ?? {});
  const readiness = { state: "Stalled", reason: "InvalidSpec", message } as const;
  const conditions = kind.ifInvalid?.(message) ?? [];
  const handledRequest = requestToken(object.metadata, annotations.reconcileRequestedAt);
  return owned(kind, { type: kind.type, object, status, readiness, conditions, handledRequest });
}

async function publishReport<K extends KindTypes>(
  made: Report<K["State"]>,
  snapshot: K["Snapshot"],
  outcome: Outcome,
  run: RunContext<K>,
  plan?: Plan,
): Promise<void> {
  if ("state" in made) run.setState(made.state);
  const objects =
    plan === undefined ? made.objects : made.objects.map((each) => ({ ...each, plan }));
  try {
    await publish({ ...made, objects }, run);
  } catch (error) {
    // In a terminating namespace, the status write may fail; the finalizer must still be removed.
    if (!isBeingDeleted(snapshot.object) || outcome.kind === "Failed") throw error;
    run.log.debug({ err: toError(error) }, "could not write the status");
  }
}

/** The kind's report, completed by what is the same for all kinds. */
export function reportOf<K extends KindTypes>(
  kind: KindDefinition<K>,
  snapshot: K["Snapshot"],
  outcome: Outcome,
  run: Pick<RunContext<K>, "clock" | "random" | "state">,
): Report<K["State"]> {
  const made = kind.report(snapshot, outcome, readClock(run), run.state);
  const isSuspended = outcome.kind === "Suspended";
  const objects = made.objects.map((each) =>
    owned(kind, { ...each, suspended: each.suspended ?? isSuspended }),
  );
  return { ...made, objects };
}

function owned<K extends KindTypes>(
  { foreignFields }: KindDefinition<K>,
  report: ObjectReport,
): ObjectReport {
  return foreignFields === undefined
    ? report
    : { ...report, write: { ...report.write, foreignFields } };
}
