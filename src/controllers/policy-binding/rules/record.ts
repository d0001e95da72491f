/** What `status.bindings` of the ServiceAccount says after a run (S11). Pure. */
import { isDeepStrictEqual } from "node:util";
import { toIso8601 } from "../../../util/time.ts";
import type { Choice, UsableSnapshot } from "./choose.ts";
import { MAX_POLICIES } from "./decide.ts";
import { isStale } from "./schedule.ts";
import type { BindingsStatus } from "./snapshot.ts";

/** `undefined` where the record says so already. */
export function recordOf(
  { account, live, now }: UsableSnapshot,
  { decision, verified }: Choice,
): BindingsStatus | undefined {
  const old: BindingsStatus = account?.status?.bindings ?? {};
  const { ours, foreign, bound, blocked } = decision;
  const isKnown = blocked === undefined && (verified || old.policyIds !== undefined);
  const next: BindingsStatus = {
    ...old,
    ...(isKnown
      ? {
          policyIds: [...ours],
          foreignPolicyIds: foreign.slice(0, MAX_POLICIES),
          policyCount: bound.length,
        }
      : {}),
    ...(live === undefined ? {} : { readable: live.readable }),
  };
  const changed = !isDeepStrictEqual(next, old);
  if (verified && (changed || isStale(old.lastSyncTime, now)))
    return { ...next, lastSyncTime: toIso8601(now) };
  return changed ? next : undefined;
}
