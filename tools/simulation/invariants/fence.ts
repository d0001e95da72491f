/** [S8] A change goes out only while the lease cannot have been lost before the change is done. */
import { leaseType } from "../../../src/kube/resource-types.ts";
import { SECOND } from "../../../src/util/time.ts";
import { textAt, treeAt } from "../../api-server/tree.ts";
import type { CallRecord } from "../journal.ts";
import type { CreateWatcher } from "./watcher.ts";

const RENEW_DEADLINE_MS = 10 * SECOND;
const MAX_CALL_MS = 5 * SECOND;

/** Judged by when the server saw the lease renewed, and not by what any process believes. */
export const fence: CreateWatcher = (world) => {
  /** Renewals under way. */
  let renewals: CallRecord[] = [];
  let holder: { readonly process: string; readonly renewedAt: number } | undefined;
  return {
    onChange: ({ change, byOperator }) => {
      // Whoever else writes the lease does not make its holder know of it.
      if (change.kind.type.kind !== leaseType.kind || !byOperator) return undefined;
      const { elapsed } = world.kernel;
      // Nobody leads on a lease that it has just made: whoever had it may go on until then.
      const writer = renewals.find(({ committedAt }) => committedAt === elapsed);
      const isOfHolder = writer?.process === holder?.process;
      if (change.type === "ADDED" && holder !== undefined && !isOfHolder) return undefined;
      renewals = renewals.filter(({ outcome }) => outcome === undefined);
      const held = textAt(treeAt(change.object, "spec"), "holderIdentity") ?? "";
      holder =
        held === "" || writer === undefined
          ? undefined
          : { process: writer.process, renewedAt: elapsed };
      return undefined;
    },
    onCall: (call) => {
      const isSent = call.outcome !== "refused";
      if (!world.isElected || !call.mutating || !isSent) return undefined;
      if (call.operation.endsWith(" leases")) {
        renewals.push(call);
        return undefined;
      }
      return judge(call);
    },
  };

  function judge(call: CallRecord): string | undefined {
    if (holder?.process !== call.process) return `${call.operation} was sent without the lease`;
    const age = Math.round(call.sentAt - holder.renewedAt);
    if (age <= RENEW_DEADLINE_MS - MAX_CALL_MS) return undefined;
    return `${call.operation} was sent ${age} ms after the lease was renewed`;
  }
};
