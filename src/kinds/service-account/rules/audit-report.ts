/** Conditions and events about unmanaged keys. Pure. */

import { isTrue } from "../../../api/conditions.ts";
import { toEvent } from "../../../api/events.ts";
import type { EventOf, KindCondition } from "../../../reconciler/rules/report.ts";
import { isBeingDeleted } from "../../../util/object-meta.ts";
import { truncateList } from "../../../util/truncate-list.ts";
import type { KeyAudit } from "./audit.ts";
import type { AccountSnapshot } from "./snapshot.ts";

/** Maximum number of events in one run; the condition counts all keys. */
const MAX_EVENTS = 10;
const MAX_NAMED = 5;

export function auditConditions(
  snapshot: AccountSnapshot,
  audit: KeyAudit | undefined,
  isGone = false,
): readonly KindCondition[] {
  const type = "KeysManaged";
  if (isBeingDeleted(snapshot.object)) {
    const message =
      "The account's keys are not compared while the ServiceAccount is being deleted.";
    return wasManaged(snapshot)
      ? [{ type, status: "Unknown", reason: "KeysNotCompared", message }]
      : [];
  }
  if (snapshot.account === undefined) return [{ type }];
  if (isGone) {
    const message = "The console no longer has the account, and lists no keys of it.";
    return [{ type, status: "Unknown", reason: "KeysNotListed", message }];
  }
  if (audit === undefined) {
    const message = "The console does not list the account's keys: unmanaged keys cannot be found.";
    return [{ type, status: "Unknown", reason: "KeysNotListed", message }];
  }
  const { unmanagedKeys, unmanagedKeyCount: count } = audit;
  const isOpen = audit.isUnexplained || (audit.afterMs !== undefined && !wasManaged(snapshot));
  if (count === 0 && isOpen) {
    const message =
      "The console lists keys that no ApiKey names. If none names them within 30 seconds of the list, they are unmanaged.";
    return [{ type, status: "Unknown", reason: "KeysNotConfirmed", message }];
  }
  if (count === 0) {
    const message = "ApiKeys account for every valid key in the console's list.";
    return [{ type, status: "True", reason: "NoUnmanagedKeys", message }];
  }
  const ids = truncateList(
    unmanagedKeys.map(({ keyId, cluster }) =>
      cluster === undefined ? keyId : `${keyId} (its description names cluster ${cluster})`,
    ),
    MAX_NAMED,
  );
  const found = `The console lists ${count} valid ${count === 1 ? "key" : "keys"} that no ApiKey names`;
  if (snapshot.spec.unmanagedKeys === "Expect")
    return [
      { type, status: "True", reason: "UnmanagedKeysExpected", message: `${found}: ${ids}.` },
    ];
  const users = `unless something uses ${count === 1 ? "it" : "them"}, such as a retained Secret`;
  const advice = `Delete in the console ${ids}, ${users}; or set spec.unmanagedKeys: Expect if keys are issued outside the operator.`;
  return [{ type, status: "False", reason: "UnmanagedKeys", message: `${found}. ${advice}` }];
}

/** One event for each new key. An ApiKey that lists the key as orphaned reports the key itself. */
export function auditEvents(
  { object, spec }: AccountSnapshot,
  audit: KeyAudit | undefined,
): readonly EventOf[] {
  if (audit === undefined || spec.unmanagedKeys === "Expect") return [];
  return audit.found
    .filter(({ apiKey }) => apiKey === undefined)
    .slice(0, MAX_EVENTS)
    .map(({ keyId, cluster }) => {
      const named = cluster === undefined ? "" : ` Its description names cluster ${cluster}.`;
      const note = `The console lists key ${keyId}, which no ApiKey names.${named} It was issued outside the operator, by a deleted ApiKey, or by a call that took effect late.`;
      return { object, event: toEvent("UnmanagedKey", "Audit", note) };
    });
}

/** A key that a rotation has just issued does not make the condition Unknown again. */
function wasManaged({ object }: AccountSnapshot): boolean {
  return isTrue(object.status?.conditions, "KeysManaged");
}
