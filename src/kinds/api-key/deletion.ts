/** The end of an ApiKey, from top to bottom. Pure but for the time: it yields its effects. */
import { endRun } from "../../reconciler/effects.ts";
import {
  isCleanupOverdue,
  keyToEndAtDeletion,
  release,
  unlistedPair,
  waitToEndKeys,
} from "./rules/deletion.ts";
import { isStagedPairNew } from "./rules/delivery.ts";
import { failureOf } from "./rules/end.ts";
import { closeAsLost, unexplainedAttempt, waitForRecovery } from "./rules/recovery.ts";
import type { ApiKeyEffects, ApiKeyEnded, ApiKeySnapshot } from "./rules/snapshot.ts";
import { explainAttempt, type RunParts } from "./run.ts";

/**
 * Bounded in time even if the console is down. Keys that the operator cannot revoke stay valid until they expire: the
 * last event names them.
 */
export function* deleteApiKey(start: ApiKeySnapshot, parts: RunParts): ApiKeyEffects<ApiKeyEnded> {
  const { effects, readNow, timing } = parts;
  let s = isStagedPairNew(start) ? yield* effects.noteStaged(start) : start;
  for (let pair = unlistedPair(s); pair !== undefined; pair = unlistedPair(s))
    s = yield* effects.listUnlistedKey(s, { pair });
  let attempt = unexplainedAttempt(s);
  if (attempt !== undefined && !isCleanupOverdue(s, readNow(), timing))
    s = yield* explainAttempt(s, attempt, parts);
  const waits = waitForRecovery(s, readNow(), timing);
  if (waits !== undefined && !isCleanupOverdue(s, readNow(), timing)) return endRun(s, waits);
  attempt = unexplainedAttempt(s);
  if (attempt !== undefined) s = yield* effects.closeAttempt(s, closeAsLost(attempt, s, readNow()));
  s = yield* endKeys(s, parts);
  const obstacle = failureOf(s) ?? waitToEndKeys(s, readNow());
  if (obstacle !== undefined && !isCleanupOverdue(s, readNow(), timing)) return endRun(s, obstacle);
  if (s.pending.kind === "Ours") s = yield* effects.deletePending(s);
  if (s.target.kind === "Ours" && s.spec.secret.deletionPolicy === "Delete")
    s = yield* effects.deleteTarget(s);
  return endRun(s, release(s, readNow()));
}

/** Ends the keys one after the other. After the deadline, each is tried once more, up to the first failure. */
function* endKeys(
  start: ApiKeySnapshot,
  { effects, readNow, timing }: RunParts,
): ApiKeyEffects<ApiKeySnapshot> {
  let s = start;
  for (;;) {
    const due = keyToEndAtDeletion(s, readNow());
    const isOver = failureOf(s) !== undefined && isCleanupOverdue(s, readNow(), timing);
    if (due === undefined || isOver) return s;
    s = yield* effects[due.call](s, { keyId: due.keyId });
  }
}
