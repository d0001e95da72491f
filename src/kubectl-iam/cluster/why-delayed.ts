/** Why the operator does not make progress with an object, as the objects themselves report it. Pure. */
import type { ApiKey } from "../../api/api-key.ts";
import { type Condition, findCondition, isTrue } from "../../api/conditions.ts";
import { isConnectionKind } from "../../api/fields.ts";
import { ISSUANCE_ALLOWED, isPause, SECRET_REJECTED } from "../../api/issuance.ts";
import { annotations } from "../../api/meta.ts";
import { isPlanOnly } from "../../api/plan-only.ts";
import { isBeingDeleted } from "../../util/object-meta.ts";
import { ownEntry } from "../../util/own-entry.ts";
import { SECOND } from "../../util/time.ts";
import { readinessOf } from "../view/readiness.ts";
import { type AnyObject, commandAbout, nameOf } from "./kinds.ts";
import { type Missing, unobserved } from "./wait.ts";

/** An object with the objects that it needs. */
export interface Chain {
  readonly object: AnyObject;
  /** For ApiKeys and PolicyBindings. `undefined` if it cannot be read. */
  readonly account?: AnyObject | undefined;
  readonly connection?: AnyObject | undefined;
}

/** `undefined`: the object reports no problem, so the operator has not looked yet. */
export function whyDelayed(chain: Chain): Missing | undefined {
  return pauseOf(chain.object) ?? whyDelayedByReport(chain);
}

/** Does not end a wait because of the object's own pause, which does not hold up everything: access is revoked regardless. */
export function whyDelayedByReport(chain: Chain): Missing | undefined {
  const own = reportOf(chain.object);
  if (own === undefined) return undefined;
  const cause = causeOf(own, chain);
  const paused = cause === own ? undefined : pauseOf(cause.object);
  if (paused !== undefined) return paused;
  const name = cause === own ? "" : `${nameOf(cause.object)} is not ready: `;
  const isStalled = own.ready === "True" ? isStopped(own) : own.isStalled || cause.isStalled;
  return {
    text: `${name}${cause.reason}: ${cause.message}`,
    isFinal:
      isStalled &&
      !isPause(cause.reason) &&
      !isOutdated(cause, chain) &&
      !precedesRequest(cause.object),
    ...(mayBeOutdated(cause) ? { patienceMs: UNWATCHED_MS } : {}),
  };
}

/**
 * Whether the last run has found that no key can be issued before a manual change, although the key in use works. The
 * condition IssuanceAllowed alone can be older than that run.
 */
function isStopped({ object, reason }: Report): boolean {
  const isFound = STOPS.has(reason) && readinessOf(object).reason === reason;
  if (!isFound || isTrue(object.status?.conditions, ISSUANCE_ALLOWED)) return false;
  // The pair of a key that is already issued is written again until the API server accepts it.
  return reason !== SECRET_REJECTED || (object as ApiKey).status?.pending === undefined;
}

const STOPS: ReadonlySet<string> = new Set([
  "SecretConflict",
  "SecretImmutable",
  "SecretNotKept",
  SECRET_REJECTED,
  "MetadataNotAllowed",
  "LifetimeNotGranted",
  "TooManyListedKeys",
]);

/** The operator reads the Secrets and ConfigMaps of a connection that is not ready again within 15 seconds. */
const UNWATCHED_MS = 20 * SECOND;

/** Whether a change of a Secret or a ConfigMap, or one of the spec, may have mended what the report is about. */
function mayBeOutdated({ object, reason }: Report): boolean {
  if (!isConnectionKind(object.kind)) return false;
  return reason !== "AddressRefused" || unobserved(object, object) !== undefined;
}

/** Whether a report is about another object that reports no problem any more. */
function isOutdated({ object, reason }: Report, chain: Chain): boolean {
  const other = referredBy(reason, chain);
  return other !== undefined && other !== object;
}

/** Whether the report of an ApiKey is older than its last request: every report of an ApiKey handles the request. */
function precedesRequest({ kind, metadata, status }: AnyObject): boolean {
  const requested = metadata.annotations?.[annotations.reconcileRequestedAt];
  return (
    kind === "ApiKey" && requested !== undefined && requested !== status?.lastHandledReconcileAt
  );
}

function referredBy(reason: string, chain: Chain): AnyObject | undefined {
  const role = ownEntry(REFERS, reason);
  return role && chain[role];
}

/** Whether the object reports that `spec.suspend` holds it up. */
export function reportsSuspension({ status }: Pick<AnyObject, "status">): boolean {
  return status?.conditions?.some(({ reason }) => reason === "Suspended") ?? false;
}

/** A pause that the object reports, and that has not been lifted since the report. */
function pauseOf(object: AnyObject): Missing | undefined {
  if (object.spec?.suspend === true && reportsSuspension(object)) {
    const then = !isBeingDeleted(object) ? "lets it continue" : "continues its deletion";
    return {
      text: `${nameOf(object)} is suspended; ${commandAbout("resume", object)} ${then}`,
      isFinal: true,
    };
  }
  const planned = object.status?.conditions?.find(({ reason }) => reason === "PlanOnly");
  return planned !== undefined && isPlanOnly(object)
    ? { text: `${planned.reason}: ${planned.message}`, isFinal: !precedesRequest(object) }
    : undefined;
}

export interface Report {
  readonly object: AnyObject;
  readonly ready: string;
  readonly reason: string;
  readonly message: string;
  readonly isStalled: boolean;
}

/** `undefined` if the object reports no problem. */
export function reportOf(object: AnyObject): Report | undefined {
  const readiness = readinessOf(object);
  if (readiness.ready !== "True") return { object, ...readiness };
  const other = blockBesideReady(object);
  if (other !== undefined) return { object, ...readiness, ...other };
  // The object is ready, but something prevents progress, such as a console that is down.
  return isSettled(readiness.reason) ? undefined : { object, ...readiness };
}

/** The condition beside Ready that says why nothing happens, although the object can be used. */
export function blockBesideReady({ status }: Pick<AnyObject, "status">): Condition | undefined {
  return DELAYING.map((type) => findCondition(status?.conditions, type)).find(
    (condition) => condition?.status === "False",
  );
}

/** Whether a ready object with this reason reports that everything is done. */
export function isSettled(reason: string): boolean {
  return SETTLED.has(reason);
}

const DELAYING = ["IssuanceAllowed", "Verified", "Authenticated", "ConsoleAvailable", "Available"];

const SETTLED: ReadonlySet<string> = new Set([
  "KeyDelivered",
  "Created",
  "Imported",
  "Synced",
  "Listed",
  "Authenticated",
]);

/**
 * The report that a report with this reason is about in the end; without a report, the object has no problem any more.
 * `undefined` if the reason is about the object itself, or the other object cannot be read.
 */
export function causeElsewhere(
  chain: Chain,
  reason: string,
): { readonly object: AnyObject; readonly report?: Report } | undefined {
  const object = referredBy(reason, chain);
  if (object === undefined || object === chain.object) return undefined;
  const own = reportOf(object);
  if (own === undefined) return { object };
  const report = causeOf(own, chain);
  return { object: report.object, report };
}

/** The object that a report refers to. */
const REFERS: Readonly<Record<string, "account" | "connection">> = {
  ServiceAccountNotReady: "account",
  ServiceAccountSuspended: "account",
  WaitingForServiceAccount: "account",
  ConnectionNotReady: "connection",
  ConnectionSuspended: "connection",
  ConsoleUnavailable: "connection",
};

/** The report at the end of the references from report to report. */
function causeOf(report: Report, chain: Chain): Report {
  const next = referredBy(report.reason, chain);
  const isEnd = next === undefined || next === report.object || report.object === chain.connection;
  const said = isEnd ? undefined : reportOf(next);
  return said === undefined ? report : causeOf(said, chain);
}
