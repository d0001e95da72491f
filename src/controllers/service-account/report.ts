/** What a pass tells the object's users: status and events. */
import { isDeepStrictEqual } from "node:util";
import { findCondition, type Readiness, readinessConditions } from "../../api/conditions.ts";
import type { ServiceAccountStatus } from "../../api/service-account.ts";
import type { EventNote } from "../../kube/events/event-recorder.ts";
import { type Instant, parseInstant, toIso8601 } from "../../util/time.ts";
import type { Account } from "./account.ts";
import type { Progress } from "./apply.ts";
import type { Known } from "./observe.ts";

export function nextStatus(
  known: Known,
  { object, account, attempt }: Progress,
  ready: Readiness,
  answered: boolean,
  now: Instant,
): ServiceAccountStatus {
  const { status = {} } = object;
  const conditions = readinessConditions(status.conditions ?? [], ready, known.generation, now);
  const { lastHandledReconcileAt, bindings } = status;
  const handled = answered && known.asked !== undefined ? known.asked : lastHandledReconcileAt;
  return {
    observedGeneration: known.generation,
    conditions: [...conditions],
    ...(handled === undefined ? {} : { lastHandledReconcileAt: handled }),
    ...(account === undefined ? {} : accountFields(account)),
    ...(account?.liveKeyIds === undefined ? {} : listedAt(status, account.liveKeyIds, known)),
    ...(attempt === undefined
      ? {}
      : { attempt: { id: attempt.id, startTime: toIso8601(attempt.startTime) } }),
    ...(bindings === undefined ? {} : { bindings }),
  };
}

/** Moves with the list, and past a key that came since: a world that does not change is not written again. */
function listedAt(
  { lastKeyListTime, liveKeyIds }: ServiceAccountStatus,
  seen: readonly string[],
  { memory, unlistedKeyAt }: Known,
): Pick<ServiceAccountStatus, "lastKeyListTime"> {
  const before = parseInstant(lastKeyListTime);
  const isNews =
    before === undefined ||
    !isDeepStrictEqual(seen, liveKeyIds) ||
    (unlistedKeyAt !== undefined && unlistedKeyAt >= before);
  const at = memory.observed?.startTime;
  if (isNews && at !== undefined) return { lastKeyListTime: toIso8601(at) };
  return lastKeyListTime === undefined ? {} : { lastKeyListTime };
}

function accountFields(account: Account): ServiceAccountStatus {
  const { saId, tpn, orgId, projectId, state, origin, liveKeyIds } = account;
  return {
    saId,
    ...(tpn === undefined ? {} : { tpn }),
    orgId,
    ...(projectId === undefined ? {} : { projectId }),
    ...(state === undefined ? {} : { state: state.slice(0, 64).toWellFormed() }),
    origin,
    ...(liveKeyIds === undefined
      ? {}
      : { liveKeyIds: [...liveKeyIds], keyCount: liveKeyIds.length }),
  };
}

/** One event for an account that came to be known, and one for a new reason why a person must act. */
export function notes(
  { became, account }: Pick<Progress, "became" | "account">,
  before: ServiceAccountStatus | undefined,
  ready: Readiness,
): readonly EventNote[] {
  const old = findCondition(before?.conditions, "Ready");
  const isNews = old?.reason !== ready.reason || old.status === "True";
  return [
    ...(became === undefined || account === undefined
      ? []
      : [
          {
            type: "Normal",
            reason: became,
            action: actions[became],
            note: story(became, account),
          } as const,
        ]),
    ...(ready.state === "Stalled" && isNews
      ? [
          {
            type: "Warning",
            reason: ready.reason,
            action: "Reconcile",
            note: ready.message.slice(0, 1_000),
          } as const,
        ]
      : []),
  ];
}

const actions = { Created: "Create", Imported: "Import", Recovered: "Recover" } as const;

function story(became: keyof typeof actions, { saId, tpn }: Account): string {
  const account = `service account ${saId} (${tpn ?? "tpn unknown"})`;
  switch (became) {
    case "Created":
      return `Created ${account}.`;
    case "Imported":
      return `Imported ${account}.`;
    case "Recovered":
      return `Found ${account}, which an earlier attempt had created.`;
  }
}

/** Suspension is said where everything else is well. */
export function orSuspended(ready: Readiness, suspended: boolean): Readiness {
  return suspended && ready.state === "Ready"
    ? {
        state: "Ready",
        reason: "Suspended",
        message: `${ready.message} Nothing is written while spec.suspend is true.`,
      }
    : ready;
}
