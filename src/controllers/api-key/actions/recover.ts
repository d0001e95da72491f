/** Explains attempts whose response was lost, and accounts for keys that no status lists. */
import { lookUpAccount } from "../../look-up-account.ts";
import { accountKeyOf, type IssueCoordination, ownerKeyOf } from "../attempts.ts";
import { peerKeysOf } from "../peers.ts";
import { nextVainAttempt } from "../rules/blocks.ts";
import type { ActionOf, ApiKeyProgress } from "../rules/snapshot.ts";
import type { OrphanedKey } from "../rules/status.ts";
import {
  withAcceptedKey,
  withFoundKey,
  withLateKeys,
  withoutAttempt,
  withUnlistedKey,
} from "../rules/transitions.ts";
import {
  type ApiKeyPerformed,
  type ApiKeyRun,
  readyAccount,
  remember,
  withDone,
  withEvent,
  withSnapshot,
} from "./run.ts";

export function startRecovery(
  progress: ApiKeyProgress,
  { attemptId }: ActionOf<"StartRecovery">,
  run: ApiKeyRun,
  { attempts }: IssueCoordination,
): ApiKeyProgress {
  const { object } = progress.snapshot;
  attempts.leaveUnexplained(attemptId, accountKeyOf(object), ownerKeyOf(object));
  return remember(progress, { recovery: { attemptId, since: run.clock.monotonic() } }, run);
}

/** One of the two reads of the account's keys after an unanswered issue. */
export async function readUnexplainedKeys(
  progress: ApiKeyProgress,
  _: object,
  run: ApiKeyRun,
  { attempts }: IssueCoordination,
): Promise<ApiKeyProgress> {
  const { recovery, object, spec } = progress.snapshot;
  if (recovery === undefined) return progress;
  const { client, saId } = readyAccount(progress.snapshot);
  const detail = await lookUpAccount(client, saId, run.signal);
  // A deleted account has no live keys.
  const keyIds = detail === undefined ? [] : detail.keyIds;
  if (recovery.firstRead !== undefined) {
    const peers = peerKeysOf(object, spec, run, attempts);
    const isAlone = attempts.startExplaining(accountKeyOf(object), ownerKeyOf(object));
    const isConclusive = peers.isConclusive && isAlone;
    return withDone(progress, { secondRead: { keyIds, peers: { ...peers, isConclusive } } });
  }
  const firstRead = { at: run.clock.monotonic(), keyIds };
  return remember(progress, { recovery: { ...recovery, firstRead } }, run);
}

/** Closes an attempt in the status, with the keys that it lost. */
export async function closeAttempt(
  progress: ApiKeyProgress,
  { orphans, refund, because }: ActionOf<"CloseAttempt">,
  run: ApiKeyRun,
  { attempts }: IssueCoordination,
): Promise<ApiKeyPerformed> {
  const { object, self, status } = progress.snapshot;
  const lastRecoveryTime = run.clock.now();
  const next = { ...withoutAttempt(status, refund, orphans), lastRecoveryTime };
  const closed = await run.writeStatus(withSnapshot(progress, { status: next }));
  const attempt = status.attempt?.id;
  if (attempt !== undefined) {
    const keyIds = orphans.map(({ keyId }) => keyId).filter((keyId) => keyId !== undefined);
    attempts.explain(attempt, accountKeyOf(object), keyIds);
    if (orphans.length === 0 && !refund) attempts.takeSurplus(accountKeyOf(object));
  }
  const { namespace, name } = self;
  if (orphans.length > 0)
    run.log.error({ namespace, name, attempt, orphans: idsOf(orphans) }, "key orphaned");
  else run.log.info({ namespace, name, attempt }, "attempt closed");
  const vainAttempts = refund
    ? nextVainAttempt(progress.snapshot.vainAttempts, run.clock.monotonic())
    : undefined;
  const after = withDone(remember(closed, { recovery: undefined, vainAttempts }, run), {
    secondRead: undefined,
  });
  const note = `Attempt ${attempt} is closed: ${because}.`;
  return orphans.length > 0
    ? withEvent(after, "KeyOrphaned", "Recover", note, "Warning")
    : withEvent(after, "AttemptClosed", "Recover", note);
}

/** Lists keys as orphaned that are no longer stored anywhere in the cluster. */
export async function listKeysBeforeRestore(
  progress: ApiKeyProgress,
  { orphans }: ActionOf<"ListKeysBeforeRestore">,
  run: ApiKeyRun,
): Promise<ApiKeyPerformed> {
  const { self, status } = progress.snapshot;
  const { namespace, name } = self;
  const orphaned = [...status.orphaned, ...orphans];
  const listed = await run.writeStatus(withSnapshot(progress, { status: { ...status, orphaned } }));
  const ids = idsOf(orphans);
  const note = `The API server was set back to a time before these keys were issued, and no Secret holds them: ${ids.join(", ")}.`;
  run.log.error({ namespace, name, orphans: ids }, "a restored API server has forgotten keys");
  const after = remember(listed, { keysBeforeRestore: [] }, run);
  return withEvent(after, "KeyOrphaned", "Recover", note, "Warning");
}

/** Lists keys as orphaned that attempts of this ApiKey issued, unless another ApiKey lists them. */
export async function listLateKeys(
  progress: ApiKeyProgress,
  { keys }: ActionOf<"ListLateKeys">,
  run: ApiKeyRun,
  { attempts }: IssueCoordination,
): Promise<ApiKeyPerformed> {
  const { object, spec, self, status } = progress.snapshot;
  const account = accountKeyOf(object);
  if (!attempts.startExplaining(account, ownerKeyOf(object)))
    return withDone(progress, { defersLateKeys: true });
  const { known } = peerKeysOf(object, spec, run, attempts);
  const late = keys.filter(({ keyId }) => !known.includes(keyId));
  const done = withSnapshot(withDone(progress, { defersLateKeys: true }), { lateKeys: [] });
  if (late.length === 0) return done;
  const next = withLateKeys(status, late, spec.expiresInDays, run.clock.now());
  let listed: ApiKeyPerformed = await run.writeStatus(withSnapshot(done, { status: next }));
  const { namespace, name } = self;
  for (const { keyId, attemptId } of late) {
    attempts.addKey(attemptId, account, keyId);
    const note = `Key ${keyId} appeared in the console after its attempt ${attemptId} was closed: the call took effect late or twice.`;
    listed = withEvent(listed, "KeyOrphaned", "Recover", note, "Warning");
    run.log.error({ namespace, name, keyId, attempt: attemptId }, "a key appeared late");
  }
  return listed;
}

/**
 * Rebuilds the status from the Secret. A key that this run has not checked yet must be checked before it counts as
 * verified.
 */
export function rebuildStatus(
  progress: ApiKeyProgress,
  { pair }: ActionOf<"RebuildStatus">,
  run: ApiKeyRun,
): ApiKeyPerformed {
  const { status, self } = progress.snapshot;
  const now = run.clock.now();
  const found = withFoundKey(status, pair, self.rotateToken, now);
  const isProven = progress.done.verdicts?.get(pair.keyId) === true;
  const rebuilt = withSnapshot(progress, {
    status: isProven ? withAcceptedKey(found, pair.keyId, now) : found,
  });
  const note = `Read key ${pair.keyId} back from its Secret.`;
  return withEvent(rebuilt, "StatusRebuilt", "Recover", note);
}

/** Lists a pair that no status lists. */
export function listUnlistedKey(
  progress: ApiKeyProgress,
  { pair }: ActionOf<"ListUnlistedKey">,
  run: ApiKeyRun,
  { heldPairs }: IssueCoordination,
): ApiKeyProgress {
  const { self, held, status } = progress.snapshot;
  const isHeld = held?.pair.keyId === pair.keyId;
  if (isHeld) heldPairs.delete(self.uid);
  return withSnapshot(progress, {
    held: isHeld ? undefined : held,
    status: withUnlistedKey(status, pair, run.clock.now()),
  });
}

function idsOf(orphans: readonly OrphanedKey[]): readonly string[] {
  return orphans.map(({ keyId }) => keyId ?? "unknown");
}
