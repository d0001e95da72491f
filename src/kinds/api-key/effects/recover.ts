/** Explains attempts whose response was lost, and accounts for keys that no status lists. */
import type { IssueCoordination } from "../coordination.ts";
import { nextAttemptWithoutKey } from "../rules/blocks.ts";
import type { ApiKeyReading, ApiKeySnapshot, Closing, LateKey } from "../rules/snapshot.ts";
import type { IssueAttempt, OrphanedKey } from "../rules/status.ts";
import {
  withAcceptedKey,
  withFoundKey,
  withLateKeys,
  withoutAttempt,
  withUnlistedKey,
} from "../rules/transitions.ts";
import { isAccepted } from "../rules/verification.ts";
import { type IssuedPair, isSamePair } from "../secret/pair.ts";
import { attemptOf } from "../secret/view.ts";
import { about, concluding, keyEffect, remembering, writeStatus } from "./define.ts";

interface OfAttempt {
  readonly attempt: IssueAttempt;
}

export const startRecovery = concluding<OfAttempt>({
  kind: "StartRecovery",
  whileSuspended: true,
  after: ({ attempt }, snapshot, { clock }) => {
    const known = { recovery: { attemptId: attempt.id, since: clock.monotonic() } };
    return { answer: { ...snapshot, ...known }, remember: remembering(known) };
  },
});

/** From the next status write on, the run of the account finds out what the attempt has issued. */
export const settleAttempt = concluding<OfAttempt>({
  kind: "SettleAttempt",
  after: ({ attempt }, snapshot) => {
    const status = { ...snapshot.status, attempt: { ...attempt, settled: true } } as const;
    return { answer: { ...snapshot, status } };
  },
});

export const closeAttempt = keyEffect<Closing>({
  kind: "CloseAttempt",
  call: async (closing, snapshot, run) => {
    const closed = await writeStatus(withoutOpenAttempt(snapshot, closing, run), run);
    const { orphans } = closing;
    const { namespace, name } = snapshot.self;
    const attempt = snapshot.status.attempt?.id;
    if (orphans.length > 0)
      run.log.error({ namespace, name, attempt, orphans: idsOf(orphans) }, "key orphaned");
    else run.log.info({ namespace, name, attempt }, "attempt closed");
    return afterClosing(closing, snapshot, closed, run);
  },
  planned: (closing, snapshot, run) =>
    afterClosing(closing, snapshot, withoutOpenAttempt(snapshot, closing, run), run),
});

function withoutOpenAttempt(
  snapshot: ApiKeySnapshot,
  { orphans, refund, unwanted }: Closing,
  { clock }: Pick<ApiKeyReading, "clock">,
): ApiKeySnapshot {
  const { status } = snapshot;
  const listed = unwanted === undefined ? status : withUnlistedKey(status, unwanted, clock.now());
  const closed = withoutAttempt(listed, refund, orphans);
  return { ...snapshot, status: { ...closed, lastRecoveryTime: clock.now() } };
}

function afterClosing(
  { orphans, refund, because }: Closing,
  before: ApiKeySnapshot,
  closed: ApiKeySnapshot,
  { clock }: Pick<ApiKeyReading, "clock">,
) {
  const attemptsWithoutKey = refund
    ? nextAttemptWithoutKey(before.attemptsWithoutKey, clock.monotonic())
    : undefined;
  const known = { recovery: undefined, attemptsWithoutKey };
  const id = before.status.attempt?.id ?? attemptOf(before.pending);
  const reason = orphans.length > 0 ? "KeyOrphaned" : "AttemptClosed";
  return {
    answer: { ...closed, ...known },
    remember: remembering(known),
    events: [about(closed, reason, "Recover", `Attempt ${id} is closed: ${because}.`)],
  };
}

/** Lists keys as orphaned that are no longer stored anywhere in the cluster. */
export const listKeysBeforeRestore = keyEffect<{ readonly orphans: readonly OrphanedKey[] }>({
  kind: "ListKeysBeforeRestore",
  needsFinalizer: true,
  call: async ({ orphans }, snapshot, run) => {
    const listed = await writeStatus(withOrphans(snapshot, orphans), run);
    const { namespace, name } = snapshot.self;
    run.log.error(
      { namespace, name, orphans: idsOf(orphans) },
      "a restored API server has forgotten keys",
    );
    const note = `The API server was set back to a time before these keys were issued, and no Secret holds them: ${idsOf(orphans).join(", ")}.`;
    return {
      ...withoutMemoryOfRestore(listed),
      events: [about(listed, "KeyOrphaned", "Recover", note)],
    };
  },
  planned: ({ orphans }, snapshot) => withoutMemoryOfRestore(withOrphans(snapshot, orphans)),
});

function withOrphans(snapshot: ApiKeySnapshot, orphans: readonly OrphanedKey[]): ApiKeySnapshot {
  const { status } = snapshot;
  return { ...snapshot, status: { ...status, orphaned: [...status.orphaned, ...orphans] } };
}

function withoutMemoryOfRestore(snapshot: ApiKeySnapshot) {
  const known = { keysBeforeRestore: [] };
  return { answer: { ...snapshot, ...known }, remember: remembering(known) };
}

/** Lists keys as orphaned that closed attempts of this ApiKey issued. */
export const listLateKeys = keyEffect<{ readonly keys: readonly LateKey[] }>({
  kind: "ListLateKeys",
  needsFinalizer: true,
  call: async ({ keys }, snapshot, run) => {
    const listed = await writeStatus(withKeys(keys, snapshot, run), run);
    const { namespace, name } = snapshot.self;
    for (const { keyId, attemptId } of keys)
      run.log.error({ namespace, name, keyId, attempt: attemptId }, "a key appeared late");
    const noteOn = ({ keyId, attemptId }: LateKey) =>
      `Key ${keyId} is in the console, and its attempt ${attemptId} is closed: the call took effect late or twice, or the key was taken off the list before.`;
    const events = keys.map((key) => about(listed, "KeyOrphaned", "Recover", noteOn(key)));
    return { answer: listed, events };
  },
  planned: ({ keys }, snapshot, run) => ({ answer: withKeys(keys, snapshot, run) }),
});

function withKeys(
  keys: readonly LateKey[],
  snapshot: ApiKeySnapshot,
  { clock }: Pick<ApiKeyReading, "clock">,
): ApiKeySnapshot {
  const { spec, status } = snapshot;
  const next = withLateKeys(status, keys, spec.expiresInDays, clock.now());
  return { ...snapshot, lateKeys: [], status: next };
}

interface OfPair {
  readonly pair: IssuedPair;
}

/**
 * Rebuilds the status from the Secret, also while suspended: a key that no status lists looks unmanaged. A key that this
 * run has not checked yet must be checked before it counts as verified.
 */
export const rebuildStatus = concluding<OfPair>({
  kind: "RebuildStatus",
  whileSuspended: true,
  needsFinalizer: true,
  after: ({ pair }, snapshot, { clock }) => {
    const now = clock.now();
    const found = withFoundKey(snapshot.status, pair, snapshot.self.rotateToken, now);
    const isProven = isAccepted(snapshot.verdicts?.get(pair.keyId));
    const status = isProven ? withAcceptedKey(found, pair.keyId, now) : found;
    const note = `Read key ${pair.keyId} back from its Secret.`;
    return {
      answer: { ...snapshot, status },
      events: [about(snapshot, "StatusRebuilt", "Recover", note)],
    };
  },
});

/** Lists a pair that no status lists. */
export function listUnlistedKey({ heldPairs }: IssueCoordination) {
  return concluding<OfPair>({
    kind: "ListUnlistedKey",
    note: ({ pair }, { self, held }) => {
      if (isSamePair(held?.pair, pair)) heldPairs.delete(self.uid);
    },
    after: ({ pair }, snapshot, { clock }) => {
      const held = isSamePair(snapshot.held?.pair, pair) ? undefined : snapshot.held;
      const status = withUnlistedKey(snapshot.status, pair, clock.now());
      return { answer: { ...snapshot, held, status } };
    },
  });
}

function idsOf(orphans: readonly OrphanedKey[]): readonly string[] {
  return orphans.map(({ keyId }) => keyId ?? "unknown");
}
