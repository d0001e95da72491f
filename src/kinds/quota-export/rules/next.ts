/** The next action for a ResourceQuotaExport. Pure. */
import type { Rights } from "../../../api/connection.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import type { Settled, Waiting } from "../../../reconciler/rules/outcome.ts";
import { reconciling, stalled } from "../../../reconciler/rules/waiting.ts";
import type { Progress } from "../../../reconciler/run-context.ts";
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

/** What must exist before the operator can call the console; a change of it enqueues the export. */
function blockedBy({ connection, credential, spec }: QuotaExportSnapshot): Waiting | undefined {
  if (!connection.ok) return connection.waiting;
  if (credential.kind === "Mismatch") return stalled("ConnectionMismatch", credential.message);
  if (credential.kind === "Waiting") return reconciling("WaitingForApiKey", credential.message);
  const { clusterId } = spec;
  if (credential.kind === "Key" || mayListAsLogin(connection.access.grant, clusterId))
    return undefined;
  return stalled(
    "QuotaExportNotGranted",
    `No grant allows this namespace to list the quotas of cluster ${clusterId} with the connection's own login. Set apiKeyRef to list the quotas with a key, or ask the connection's administrator to add the cluster to quotaExports of a grant.`,
  );
}

/** The connection's login sees the quotas of all tenants; a key sees only what its account's policies allow. */
function mayListAsLogin({ quotaExports }: Rights, clusterId: number): boolean {
  return quotaExports === "Any" || quotaExports.includes(clusterId);
}
