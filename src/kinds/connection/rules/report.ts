/** The report of a connection after a run. Pure. */

import { isTrue, type Readiness } from "../../../api/conditions.ts";
import type { ConnectionStatus } from "../../../api/connection.ts";
import { type OperatorEvent, toEvent } from "../../../api/events.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { obstacleOf } from "../../../reconciler/rules/obstacle.ts";
import { leavesRequestOpen, type Outcome } from "../../../reconciler/rules/outcome.ts";
import type { ObjectReport, Report } from "../../../reconciler/rules/report.ts";
import { jittered } from "../../../util/jitter.ts";
import { HOUR, type Instant, MINUTE, parseInstant, SECOND, toIso8601 } from "../../../util/time.ts";
import { authentication } from "./authentication.ts";
import type { ConnectionSnapshot } from "./snapshot.ts";

/** The referenced Secrets and ConfigMaps are not watched: a change may go unnoticed for this long. */
const CHECK_READY_MS = 60 * SECOND;
const CHECK_UNREADY_MS = 12 * SECOND;
const SPREAD = { least: 0.9, most: 1.1 };
const SKEW_WARNING_S = (5 * MINUTE) / SECOND;
/** The Date header has whole seconds and arrives with a delay: smaller changes are noise. */
const SKEW_NOISE_S = 5;

export function report(
  type: ObjectReport["type"],
  snapshot: ConnectionSnapshot,
  outcome: Outcome,
  at: ClockReading,
): Report<undefined> {
  const { object, request, spec } = snapshot;
  const authenticated = authentication(snapshot);
  const readiness = readinessOf(snapshot, outcome, authenticated);
  const status = statusFields(snapshot, at.now);
  const isKnown = outcome.kind !== "Failed" && outcome.kind !== "Suspended";
  const isFinal = readiness.state === "Ready" || !spec.ok;
  return {
    objects: [
      {
        type,
        object,
        status,
        readiness,
        conditions: isKnown ? [{ type: "Authenticated", ...authenticated }] : [],
        handledRequest: leavesRequestOpen(outcome) ? undefined : request,
      },
    ],
    events: clockEvents(object.status, status).map((event) => ({ object, event })),
    requeueAfterMs: jittered(isFinal ? CHECK_READY_MS : CHECK_UNREADY_MS, SPREAD, at.fraction),
  };
}

function readinessOf(
  { session }: ConnectionSnapshot,
  outcome: Outcome,
  { reason, message }: ReturnType<typeof authentication>,
): Readiness {
  const ready = { state: "Ready", reason, message } as const;
  if (outcome.kind === "Suspended" && session?.usable === true) return ready;
  return obstacleOf(outcome) ?? ready;
}

function statusFields(
  { object, users, clockSkewSeconds, login }: ConnectionSnapshot,
  now: Instant,
): ConnectionStatus {
  const { lastAuthenticationTime, clockSkewSeconds: oldSkew } = object.status ?? {};
  const isNews = login?.kind === "Accepted" && login.isNew && !isKnownToAuthenticate(object, now);
  const authenticatedAt = isNews ? toIso8601(now) : lastAuthenticationTime;
  const skew = steady(oldSkew, clockSkewSeconds);
  return {
    users: users.length,
    ...(authenticatedAt === undefined ? {} : { lastAuthenticationTime: authenticatedAt }),
    clockSkewSeconds: skew,
  };
}

/** Whether the status already shows a recent login: a restarted operator then does not write the status again. */
function isKnownToAuthenticate(
  { status = {} }: ConnectionSnapshot["object"],
  now: Instant,
): boolean {
  const before = parseInstant(status.lastAuthenticationTime);
  const isRecent = before !== undefined && before <= now && now - before < HOUR;
  return isRecent && isTrue(status.conditions, "Authenticated");
}

/** One event when the clock skew first exceeds the limit. */
function clockEvents(
  before: ConnectionStatus | undefined,
  after: ConnectionStatus,
): readonly OperatorEvent[] {
  if (!isSkewed(after) || isSkewed(before)) return [];
  const { clockSkewSeconds = 0 } = after;
  const way = clockSkewSeconds > 0 ? "ahead of" : "behind";
  const note = `The console's clock is ${Math.abs(clockSkewSeconds)} seconds ${way} the operator's. The operator uses the time on which two of three clocks agree: its own, the API server's and the console's. Correct the wrong clock.`;
  return [toEvent("ClockSkewed", "Authenticate", note)];
}

function isSkewed(status: ConnectionStatus | undefined): boolean {
  return Math.abs(status?.clockSkewSeconds ?? 0) > SKEW_WARNING_S;
}

function steady(old: number | undefined, seen: number | undefined): number | undefined {
  if (seen === undefined) return old;
  const rounded = Math.round(seen);
  return old !== undefined && Math.abs(old - rounded) < SKEW_NOISE_S ? old : rounded;
}
