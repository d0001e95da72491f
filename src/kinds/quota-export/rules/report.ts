/** The report of a ResourceQuotaExport after a run. Pure. */
import { findCondition, type Readiness } from "../../../api/conditions.ts";
import type { ResourceQuotaExportStatus } from "../../../api/resource-quota-export.ts";
import type { Quota } from "../../../console/model.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { obstacleOf } from "../../../reconciler/rules/obstacle.ts";
import { leavesRequestOpen, type Outcome } from "../../../reconciler/rules/outcome.ts";
import { ownFields, type Report } from "../../../reconciler/rules/report.ts";
import { resourceQuotaExportType } from "../../../resources/resource-types.ts";
import { toIso8601 } from "../../../util/time.ts";
import { summarize } from "./listing.ts";
import type { QuotaExportSnapshot, QuotaExportState } from "./snapshot.ts";
import { nextTurn } from "./turn.ts";

/** Before the next listing is due, the status stays the same, and so does whether a suspended export counts as usable. */
export function report(
  snapshot: QuotaExportSnapshot,
  outcome: Outcome,
  at: ClockReading,
): Report<QuotaExportState> {
  const state = nextTurn(snapshot, at);
  const readiness = readinessOf(snapshot, outcome);
  const requeueAfterMs = "afterMs" in outcome ? outcome.afterMs : undefined;
  if (readiness === undefined) return { objects: [], state, requeueAfterMs };
  const { object, request, listing } = snapshot;
  return {
    objects: [
      {
        type: resourceQuotaExportType,
        object,
        // The status shows the last whole listing until the next listing.
        status: { ...ownFields(object.status ?? {}), ...listed(listing?.quotas, at) },
        readiness,
        // A wait answers the request too: its message says what to change.
        handledRequest:
          listing?.quotas === undefined && leavesRequestOpen(outcome) ? undefined : request,
      },
    ],
    state,
    requeueAfterMs,
  };
}

function readinessOf(
  { object, listing }: QuotaExportSnapshot,
  outcome: Outcome,
): Readiness | undefined {
  const { conditions, total = 0 } = object.status ?? {};
  const isUsable = findCondition(conditions, "Ready")?.status === "True";
  if (outcome.kind === "Suspended" && isUsable) return ready(total);
  return obstacleOf(outcome) ?? (listing?.quotas && ready(listing.quotas.length, listing.omitted));
}

function ready(total: number, omitted = 0): Readiness {
  const message = `The listing holds ${total} ${total === 1 ? "quota" : "quotas"}.`;
  if (omitted === 0) return { state: "Ready", reason: "Listed", message };
  return {
    state: "Ready",
    reason: "TooManySeries",
    message: `${message} ${omitted} quotas are not exported, because the number of series is limited. Filter by spec.namespaces or spec.filterNames, or ask the operator's administrator to raise --quota-series-per-export or --quota-series.`,
  };
}

function listed(
  quotas: readonly Quota[] | undefined,
  { now }: ClockReading,
): ResourceQuotaExportStatus {
  return quotas === undefined ? {} : { lastSuccessTime: toIso8601(now), ...summarize(quotas) };
}
