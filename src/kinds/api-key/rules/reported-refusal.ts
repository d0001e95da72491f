/** What was refused, as an ApiKey reports it, for a process that does not remember it. Pure. */

import { type Condition, findCondition } from "../../../api/conditions.ts";
import { ISSUANCE_ALLOWED, SECRET_REJECTED } from "../../../api/issuance.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { type Instant, parseInstant } from "../../../util/time.ts";
import { SECRET_NOT_KEPT } from "./not-kept.ts";
import { contentId, renderingOf } from "./rendering.ts";
import type { ApiKeySnapshot, Trial } from "./snapshot.ts";
import { isCheckRequested } from "./verification.ts";

/** With what the console and the API server have refused. */
export function withReported(snapshot: ApiKeySnapshot, at: Moment): ApiKeySnapshot {
  return withNotKept(withRejection(snapshot, at), at.now);
}

type Moment = Pick<ClockReading, "now" | "monotonic">;

/** The time during which a rejection may pass counts from the report. */
function withRejection(snapshot: ApiKeySnapshot, { now, monotonic }: Moment): ApiKeySnapshot {
  const { object, status } = snapshot;
  const verified = findCondition(object.status?.conditions, "Verified");
  const reportedTime = parseInstant(verified?.lastTransitionTime);
  if (verified?.reason !== "KeyRefused" || reportedTime === undefined) return snapshot;
  if (status.current === undefined) return snapshot;
  const since = monotonic - Math.max(now - reportedTime, 0);
  return { ...snapshot, rejection: { keyId: status.current.keyId, since } };
}

/** The write of the Secret is not planned again, unless the spec or a request is newer than the report. */
function withNotKept(snapshot: ApiKeySnapshot, now: Instant): ApiKeySnapshot {
  const { target } = snapshot;
  const rendering = renderingOf(snapshot, now);
  if (rendering === undefined || target.kind !== "Ours") return snapshot;
  if (reportOf(snapshot, "Ready")?.reason !== SECRET_NOT_KEPT) return snapshot;
  const { resourceVersion } = target;
  const sent = contentId(rendering.wanted);
  return { ...snapshot, notKept: { resourceVersion, sent, what: "content" } };
}

/** Why no key can be delivered, unless the spec or a request is newer than the report. */
export function reportedTrial(snapshot: ApiKeySnapshot): Trial {
  const forecast = reportOf(snapshot, ISSUANCE_ALLOWED);
  return forecast !== undefined && SHOWN_BY_TRIALS.has(forecast.reason)
    ? { reported: { reason: forecast.reason, message: forecast.message } }
    : {};
}

const SHOWN_BY_TRIALS: ReadonlySet<string> = new Set([SECRET_REJECTED, SECRET_NOT_KEPT]);

function reportOf(snapshot: ApiKeySnapshot, type: string): Condition | undefined {
  const { metadata, status } = snapshot.object;
  const condition = findCondition(status?.conditions, type);
  const isOfSpec = condition?.observedGeneration === metadata.generation;
  return isOfSpec && !isCheckRequested(snapshot) ? condition : undefined;
}
