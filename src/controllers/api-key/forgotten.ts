/**
 * An API server that was restored from an older backup has forgotten keys that were issued since. A process that
 * went on working remembers them from what it had seen stored before.
 */
import type { ApiKey } from "../../api/api-key.ts";
import type { Instant } from "../../util/time.ts";
import { record, type Surroundings, tell } from "./effects.ts";
import { type Observed, type OrphanedKey, toState } from "./observed.ts";
import { type Action, listedKeyIds } from "./plan.ts";

/** Keys that `before` lists and the older `now` does not, as if they were lost: their Secret went back as well. */
export function forgottenKeys(before: ApiKey, now: ApiKey, at: Instant): readonly OrphanedKey[] {
  const { current, superseded, orphaned } = toState(before.status);
  const inUse = [
    ...(current === undefined ? [] : [current]),
    ...superseded.filter(({ state }) => state === "Live" || state === "Disabled"),
  ].map(({ keyId, expirationTime }) => ({
    keyId,
    expirationTime,
    attemptId: "unknown",
    observedTime: at,
  }));
  const listed = new Set<string | undefined>(listedKeyIds(toState(now.status)));
  return [...inUse, ...orphaned].filter(({ keyId }) => keyId !== undefined && !listed.has(keyId));
}

/** Lists keys as orphaned that nothing stored knows of any more. */
export async function listForgotten(
  seen: Observed,
  { orphans }: Extract<Action, { kind: "ListForgotten" }>,
  around: Surroundings,
): Promise<Observed> {
  const { namespace, name, uid } = seen.self;
  const state = { ...seen.state, orphaned: [...seen.state.orphaned, ...orphans] };
  const recorded = await record({ ...seen, state }, { kind: "Rest" }, around);
  around.memory.update(uid, { forgotten: undefined });
  const ids = orphans.map(({ keyId }) => keyId ?? "unknown");
  tell(
    seen,
    around,
    "KeyOrphaned",
    "Recover",
    `The API server was set back to a time before these keys were issued, and no Secret holds them: ${ids.join(", ")}.`,
    "Warning",
  );
  around.context.log.error(
    { namespace, name, orphans: ids },
    "a restored API server has forgotten keys",
  );
  return { ...recorded, state, forgotten: [] };
}
