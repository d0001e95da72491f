/** [L9, L10] How soon, and how often, a refused call is made again. */
import { HOUR, SECOND } from "../../../src/util/time.ts";
import type { CallRecord } from "../journal.ts";
import type { CreateWatcher } from "./watcher.ts";

function idOf({ process, server, operation, target }: CallRecord): string {
  return `${process} ${server} ${operation} ${target}`;
}

/** [L9] The same call does not come back before `Retry-After` is over. */
export const retryAfter: CreateWatcher = () => {
  const asked = new Map<string, CallRecord>();
  return {
    onCall: (call) => {
      const id = idOf(call);
      const refused = asked.get(id);
      asked.delete(id);
      if (call.fault?.kind === "Refuse" && call.fault.retryAfter !== undefined) asked.set(id, call);
      if (refused === undefined || refused.fault?.kind !== "Refuse") return undefined;
      // Counted from when it was sent: the answer came later still.
      const waited = Math.round(call.sentAt - refused.sentAt);
      const wanted = (refused.fault.retryAfter ?? 0) * SECOND;
      const isAnswered = refused.outcome === String(refused.fault.status);
      return !isAnswered || waited >= wanted
        ? undefined
        : `${call.operation} was sent again after ${waited} ms, ${wanted} ms were asked for`;
    },
  };
};

const MOST_AN_HOUR = 60;

/** [L10] What is refused again and again is tried less and less. */
export const refusedOften: CreateWatcher = () => {
  const refused = new Map<string, CallRecord[]>();
  return {
    onCall: (call) => {
      if (call.fault?.kind !== "Refuse" || call.operation.endsWith(" leases")) return undefined;
      const id = idOf(call);
      const recent = (refused.get(id) ?? []).filter(({ sentAt }) => sentAt > call.sentAt - HOUR);
      recent.push(call);
      refused.set(id, recent);
      return recent.length <= MOST_AN_HOUR
        ? undefined
        : `${call.operation} ${call.target} was refused more than ${MOST_AN_HOUR} times in an hour`;
    },
  };
};
