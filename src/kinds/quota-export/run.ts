/** A run over a ResourceQuotaExport, from top to bottom: one listing, when it is due. Pure: it yields its effect. */

import type { Rights } from "../../api/connection.ts";
import type { ClockReading, ReadNow } from "../../reconciler/clock-reading.ts";
import { endRun } from "../../reconciler/effects.ts";
import type { Settled, Waiting } from "../../reconciler/rules/outcome.ts";
import { reconciling, stalled } from "../../reconciler/rules/waiting.ts";
import type { ListQuotas } from "./effects/list-quotas.ts";
import type {
  QuotaExportEffects,
  QuotaExportEnded,
  QuotaExportSnapshot,
} from "./rules/snapshot.ts";
import { nextTurn, turnOf } from "./rules/turn.ts";

export function* reconcileQuotaExport(
  start: QuotaExportSnapshot,
  readNow: ReadNow,
  listQuotas: ListQuotas,
): QuotaExportEffects<QuotaExportEnded> {
  const at = readNow();
  const afterMs = turnOf(start, at).notBefore - at.monotonic;
  if (afterMs > 0) return endRun(start, { kind: "Settled", afterMs });
  const blocked = blockedBy(start);
  if (blocked !== undefined) return endRun(start, blocked);
  const listed = yield* listQuotas(start);
  return endRun(listed, endOf(listed, readNow()));
}

/** The end of a run that has listed, or was refused. */
function endOf(snapshot: QuotaExportSnapshot, at: ClockReading): Waiting | Settled {
  const afterMs = nextTurn(snapshot, at).notBefore - at.monotonic;
  const refusal = snapshot.listing?.refusal;
  if (refusal === undefined) return { kind: "Settled", afterMs };
  const { state, reason, message } = refusal;
  return { kind: "Waiting", state, reason, message, ...(afterMs > 0 ? { afterMs } : {}) };
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
