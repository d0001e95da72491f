/** Explains attempts whose response was lost, and accounts for keys that no status lists. */
import { lookUpAccount } from "../../../accounts/look-up.ts";
import { accountKeyOf, type IssueCoordination, ownerKeyOf } from "../attempts.ts";
import { peerKeysOf } from "../peers.ts";
import { nextAttemptWithoutKey } from "../rules/blocks.ts";
import type {
  ActionOf,
  ApiKeyPerformed,
  ApiKeyProgress,
  ApiKeyReading,
  LateKey,
} from "../rules/snapshot.ts";
import type { OrphanedKey } from "../rules/status.ts";
import {
  withAcceptedKey,
  withFoundKey,
  withLateKeys,
  withoutAttempt,
  withUnlistedKey,
} from "../rules/transitions.ts";
import { attemptOf } from "../secret/view.ts";
import { readyAccount, remembering, withDone, withEvent, withSnapshot } from "./progress.ts";
import type { ApiKeyEffect, ApiKeyRead, ApiKeyTransition } from "./step-types.ts";

export function startRecovery({ attempts }: IssueCoordination): ApiKeyTransition<"StartRecovery"> {
  return {
    whileSuspended: true,
    note: ({ attemptId }, { snapshot: { object, status } }) =>
      attempts.leaveUnexplained(
        attemptId,
        accountKeyOf(object, status.attempt),
        ownerKeyOf(object),
      ),
    after: ({ attemptId }, progress, _, { monotonic }) =>
      remembering(progress, { recovery: { attemptId, since: monotonic } }),
  };
}

/** One of the two reads of the account's keys after an unanswered issue. */
export function readUnexplainedKeys({
  attempts,
}: IssueCoordination): ApiKeyRead<"ReadUnexplainedKeys"> {
  return {
    read: async (_, progress, run) => {
      const { recovery, object, status } = progress.snapshot;
      const { attempt } = status;
      if (recovery === undefined || attempt === undefined) return progress;
      const { session, saId } = readyAccount(progress.snapshot, attempt);
      const detail = await lookUpAccount(run.console(session), saId, run.signal);
      // A deleted account has no live keys.
      const keyIds = detail === undefined ? [] : detail.keyIds;
      if (recovery.firstRead !== undefined) {
        const peers = peerKeysOf(object, attempt, run, attempts);
        const account = accountKeyOf(object, attempt);
        const isAlone = attempts.startExplaining(account, ownerKeyOf(object));
        const isConclusive = peers.isConclusive && isAlone;
        return withDone(progress, { secondRead: { keyIds, peers: { ...peers, isConclusive } } });
      }
      const firstRead = { at: run.clock.monotonic(), keyIds };
      return remembering(progress, { recovery: { ...recovery, firstRead } });
    },
  };
}

export function closeAttempt({
  attempts,
}: IssueCoordination): ApiKeyEffect<"CloseAttempt", ApiKeyProgress> {
  return {
    call: async (action, progress, run) => {
      const closed = await run.writeStatus(withoutOpenAttempt(progress, action, run));
      const { orphans, refund, unwanted } = action;
      const { object, self, status } = progress.snapshot;
      const attempt = status.attempt?.id;
      if (attempt !== undefined) {
        const found = unwanted === undefined ? orphans : [unwanted];
        const keyIds = found.map(({ keyId }) => keyId).filter((keyId) => keyId !== undefined);
        const account = accountKeyOf(object, status.attempt);
        attempts.explain(attempt, account, keyIds);
        if (found.length === 0 && !refund) attempts.takeSurplus(account);
      }
      const { namespace, name } = self;
      if (orphans.length > 0)
        run.log.error({ namespace, name, attempt, orphans: idsOf(orphans) }, "key orphaned");
      else run.log.info({ namespace, name, attempt }, "attempt closed");
      return closed;
    },
    planned: (action, progress, run) => ({ answer: withoutOpenAttempt(progress, action, run) }),
    after: ({ orphans, refund, because }, { snapshot }, closed, { monotonic }) => {
      const attemptsWithoutKey = refund
        ? nextAttemptWithoutKey(snapshot.attemptsWithoutKey, monotonic)
        : undefined;
      const done = withDone(closed, { secondRead: undefined });
      const after = remembering(done, { recovery: undefined, attemptsWithoutKey });
      const id = snapshot.status.attempt?.id ?? attemptOf(snapshot.staging);
      const note = `Attempt ${id} is closed: ${because}.`;
      return orphans.length > 0
        ? withEvent(after, "KeyOrphaned", "Recover", note)
        : withEvent(after, "AttemptClosed", "Recover", note);
    },
  };
}

function withoutOpenAttempt(
  progress: ApiKeyProgress,
  { orphans, refund, unwanted }: ActionOf<"CloseAttempt">,
  { clock }: Pick<ApiKeyReading, "clock">,
): ApiKeyProgress {
  const { status } = progress.snapshot;
  const listed = unwanted === undefined ? status : withUnlistedKey(status, unwanted, clock.now());
  const closed = withoutAttempt(listed, refund, orphans);
  return withSnapshot(progress, { status: { ...closed, lastRecoveryTime: clock.now() } });
}

/** Lists keys as orphaned that are no longer stored anywhere in the cluster. */
export const listKeysBeforeRestore: ApiKeyEffect<"ListKeysBeforeRestore", ApiKeyProgress> = {
  needsFinalizer: true,
  call: async ({ orphans }, progress, run) => {
    const listed = await run.writeStatus(withOrphans(progress, orphans));
    const { namespace, name } = progress.snapshot.self;
    run.log.error(
      { namespace, name, orphans: idsOf(orphans) },
      "a restored API server has forgotten keys",
    );
    return listed;
  },
  planned: ({ orphans }, progress) => ({ answer: withOrphans(progress, orphans) }),
  after: ({ orphans }, _, listed) => {
    const note = `The API server was set back to a time before these keys were issued, and no Secret holds them: ${idsOf(orphans).join(", ")}.`;
    const after = remembering(listed, { keysBeforeRestore: [] });
    return withEvent(after, "KeyOrphaned", "Recover", note);
  },
};

function withOrphans(progress: ApiKeyProgress, orphans: readonly OrphanedKey[]): ApiKeyProgress {
  const { status } = progress.snapshot;
  const orphaned = [...status.orphaned, ...orphans];
  return withSnapshot(progress, { status: { ...status, orphaned } });
}

interface LateKeys {
  readonly late: readonly LateKey[];
  readonly listed: ApiKeyProgress;
}

/** Lists keys as orphaned that attempts of this ApiKey issued, unless another ApiKey lists them. */
export function listLateKeys({
  attempts,
}: IssueCoordination): ApiKeyEffect<"ListLateKeys", LateKeys> {
  return {
    needsFinalizer: true,
    call: async (action, progress, run) => {
      const { object, self } = progress.snapshot;
      const found = findLateKeys(action, progress, run);
      if (found.late.length === 0) return found;
      const listed = await run.writeStatus(found.listed);
      const { namespace, name } = self;
      for (const key of found.late) {
        const { keyId, attemptId } = key;
        attempts.addKey(attemptId, accountKeyOf(object, key), keyId);
        run.log.error({ namespace, name, keyId, attempt: attemptId }, "a key appeared late");
      }
      return { ...found, listed };
    },
    planned: (action, progress, run) => ({ answer: findLateKeys(action, progress, run) }),
    after: (_, __, { late, listed }) =>
      late.reduce<ApiKeyPerformed>((performed, { keyId, attemptId }) => {
        const note = `Key ${keyId} appeared in the console after its attempt ${attemptId} was closed: the call took effect late or twice.`;
        return withEvent(performed, "KeyOrphaned", "Recover", note);
      }, listed),
  };

  function findLateKeys(
    { keys }: ActionOf<"ListLateKeys">,
    progress: ApiKeyProgress,
    run: ApiKeyReading,
  ): LateKeys {
    const { object, spec, status } = progress.snapshot;
    const deferring = withDone(progress, { defersLateKeys: true });
    const accounts = [...new Map(keys.map((key) => [accountKeyOf(object, key), key]))];
    const isAlone = accounts.every(([account]) =>
      attempts.startExplaining(account, ownerKeyOf(object)),
    );
    if (!isAlone) return { late: [], listed: deferring };
    const known = accounts.flatMap(([, key]) => peerKeysOf(object, key, run, attempts).known);
    const late = keys.filter(({ keyId }) => !known.includes(keyId));
    const done = withSnapshot(deferring, { lateKeys: [] });
    if (late.length === 0) return { late, listed: done };
    const next = withLateKeys(status, late, spec.expiresInDays, run.clock.now());
    return { late, listed: withSnapshot(done, { status: next }) };
  }
}

/**
 * Rebuilds the status from the Secret. A key that this run has not checked yet must be checked before it counts as
 * verified.
 */
export const rebuildStatus: ApiKeyTransition<"RebuildStatus"> = {
  needsFinalizer: true,
  after: ({ pair }, progress, _, { now }) => {
    const { status, self } = progress.snapshot;
    const found = withFoundKey(status, pair, self.rotateToken, now);
    const isProven = progress.done.verdicts?.get(pair.keyId) === true;
    const rebuilt = withSnapshot(progress, {
      status: isProven ? withAcceptedKey(found, pair.keyId, now) : found,
    });
    const note = `Read key ${pair.keyId} back from its Secret.`;
    return withEvent(rebuilt, "StatusRebuilt", "Recover", note);
  },
};

/** Lists a pair that no status lists. */
export function listUnlistedKey({
  heldPairs,
}: IssueCoordination): ApiKeyTransition<"ListUnlistedKey"> {
  return {
    note: ({ pair }, { snapshot: { self, held } }) => {
      if (held?.pair.keyId === pair.keyId) heldPairs.delete(self.uid);
    },
    after: ({ pair }, progress, _, { now }) => {
      const { held, status } = progress.snapshot;
      return withSnapshot(progress, {
        held: held?.pair.keyId === pair.keyId ? undefined : held,
        status: withUnlistedKey(status, pair, now),
      });
    },
  };
}

function idsOf(orphans: readonly OrphanedKey[]): readonly string[] {
  return orphans.map(({ keyId }) => keyId ?? "unknown");
}
