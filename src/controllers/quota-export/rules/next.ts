/** What a ResourceQuotaExport needs next. Pure. */
import type { ClockReading } from "../../frame/clock-reading.ts";
import type { Progress } from "../../frame/kind-controller.ts";
import type { Settled, Waiting } from "../../frame/rules/outcome.ts";
import { reconciling, stalled } from "../../frame/rules/waiting.ts";
import type { ListQuotas, QuotaExportKind, QuotaExportSnapshot } from "./snapshot.ts";
import { turnAfter, turnOf } from "./turn.ts";

export function next(
  { snapshot, done }: Progress<QuotaExportKind>,
  at: ClockReading,
): ListQuotas | Waiting | Settled {
  const turn = turnAfter(turnOf(snapshot, at), done, snapshot);
  const afterMs = turn.notBefore - at.monotonic;
  const { refusal, quotas } = done;
  if (refusal !== undefined) {
    const { state, reason, message } = refusal;
    return { kind: "Waiting", state, reason, message, ...(afterMs > 0 ? { afterMs } : {}) };
  }
  if (quotas !== undefined || afterMs > 0) return { kind: "Settled", afterMs };
  return blockedBy(snapshot) ?? { kind: "ListQuotas" };
}

/** What has to be there before the console can be asked; a change of it enqueues the export. */
function blockedBy({ connection, credential }: QuotaExportSnapshot): Waiting | undefined {
  if (!connection.ok) return connection.waiting;
  if (credential.kind === "Mismatch") return stalled("ConnectionMismatch", credential.message);
  if (credential.kind === "Waiting") return reconciling("WaitingForApiKey", credential.message);
  return undefined;
}
