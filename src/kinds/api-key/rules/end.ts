/** How a run ends that has nothing left to do. Pure. */
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import {
  type Failing,
  firstFinding,
  type Settled,
  type Waiting,
} from "../../../reconciler/rules/outcome.ts";
import type { Timing } from "../timing.ts";
import { reportMove } from "./accounts.ts";
import { permissionsAreMissing } from "./blocks.ts";
import { waitForDelivery } from "./delivery.ts";
import { waitForIssue } from "./issue.ts";
import { reportNotKept } from "./not-kept.ts";
import { waitForRecovery } from "./recovery.ts";
import { reportReservedMetadata } from "./reserved-metadata.ts";
import type { ApiKeySnapshot } from "./snapshot.ts";
import { waitForKeyInUse } from "./verification.ts";

/** Why no other key is delivered or issued. In order: users see the reason of the first finding. */
const supplyWaits = [waitForDelivery, waitForRecovery, waitForIssue] as const;

/** The end of a run, by all that it knows then. */
export function endOf(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): Waiting | Settled | Failing {
  // What a move lacks holds up a requested rotation too.
  const moves = [permissionsAreMissing, reportMove];
  const reports = [waitForKeyInUse, reportNotKept, reportReservedMetadata, ...moves];
  return (
    failureOf(snapshot) ??
    firstFinding([...supplyWaits, ...reports], snapshot, at, timing) ?? { kind: "Settled" }
  );
}

/**
 * A key that the console did not revoke, a check of the key in use without a clear answer, or a Secret that the API
 * server does not accept, fails the run, but only after everything else is done.
 */
export function failureOf({
  failedCheck,
  failedRevocations,
  refusedContent,
}: ApiKeySnapshot): Failing | undefined {
  const [error = failedCheck ?? refusedContent] = failedRevocations?.values() ?? [];
  return error && { kind: "Failing", error };
}
