/** Explains attempts whose response was lost, and accounts for keys that no status lists. */
import { lookUpAccount } from "../../../accounts/look-up.ts";
import { accountKeyOf, type IssueCoordination, ownerKeyOf } from "../attempts.ts";
import { peerKeysOf } from "../peers.ts";
import { nextAttemptWithoutKey } from "../rules/blocks.ts";
import type {
  ApiKeyReading,
  ApiKeySnapshot,
  Closing,
  LateKey,
  SecondRead,
} from "../rules/snapshot.ts";
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
import { about, concluding, keyEffect, readyAccount, remembering, writeStatus } from "./define.ts";

interface OfAttempt {
  readonly attempt: IssueAttempt;
}

export function startRecovery({ attempts }: IssueCoordination) {
  return concluding<OfAttempt>({
    kind: "StartRecovery",
    whileSuspended: true,
    note: ({ attempt }, { object }) =>
      attempts.leaveUnexplained(attempt.id, accountKeyOf(object, attempt), ownerKeyOf(object)),
    after: ({ attempt }, snapshot, { clock }) => {
      const known = { recovery: { attemptId: attempt.id, since: clock.monotonic() } };
      return { answer: { ...snapshot, ...known }, remember: remembering(known) };
    },
  });
}

/** The first of two reads of the account's keys after an unanswered issue. */
export const readUnexplainedKeys = keyEffect<OfAttempt>({
  kind: "ReadUnexplainedKeys",
  read: async ({ attempt }, snapshot, run) => {
    const keyIds = await readKeyIds(attempt, snapshot, run);
    const { since = run.clock.monotonic() } = snapshot.recovery ?? {};
    const firstRead = { at: run.clock.monotonic(), keyIds };
    const known = { recovery: { attemptId: attempt.id, since, firstRead } };
    return { answer: { ...snapshot, ...known }, remember: remembering(known) };
  },
});

/** The second read, with the keys of the account's other ApiKeys. Proves nothing if another run lists lost keys. */
export function readKeysAgain({ attempts }: IssueCoordination) {
  return keyEffect<OfAttempt, SecondRead>({
    kind: "ReadKeysAgain",
    read: async ({ attempt }, snapshot, run) => {
      const { object } = snapshot;
      const keyIds = await readKeyIds(attempt, snapshot, run);
      const peers = peerKeysOf(object, attempt, run, attempts);
      const account = accountKeyOf(object, attempt);
      const isAlone = attempts.startExplaining(account, ownerKeyOf(object));
      const isConclusive = peers.isConclusive && isAlone;
      return { answer: { keyIds, peers: { ...peers, isConclusive } } };
    },
  });
}

/** A deleted account has no live keys. */
async function readKeyIds(
  attempt: IssueAttempt,
  snapshot: ApiKeySnapshot,
  run: ApiKeyReading,
): Promise<readonly string[] | undefined> {
  const { session, saId } = readyAccount(snapshot, attempt);
  const detail = await lookUpAccount(run.console(session), saId, run.signal);
  return detail === undefined ? [] : detail.keyIds;
}

export function closeAttempt({ attempts }: IssueCoordination) {
  return keyEffect<Closing>({
    kind: "CloseAttempt",
    call: async (closing, snapshot, run) => {
      const closed = await writeStatus(withoutOpenAttempt(snapshot, closing, run), run);
      const { orphans, refund, unwanted } = closing;
      const { object, self, status } = snapshot;
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
      return afterClosing(closing, snapshot, closed, run);
    },
    planned: (closing, snapshot, run) =>
      afterClosing(closing, snapshot, withoutOpenAttempt(snapshot, closing, run), run),
  });
}

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
  const id = before.status.attempt?.id ?? attemptOf(before.staging);
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

/** Lists keys as orphaned that attempts of this ApiKey issued, unless another ApiKey lists them. */
export function listLateKeys({ attempts }: IssueCoordination) {
  return keyEffect<{ readonly keys: readonly LateKey[] }>({
    kind: "ListLateKeys",
    needsFinalizer: true,
    call: async ({ keys }, snapshot, run) => {
      const { object, self } = snapshot;
      const found = findLateKeys(keys, snapshot, run);
      if (found.late.length === 0) return { answer: found.listed };
      const listed = await writeStatus(found.listed, run);
      const { namespace, name } = self;
      for (const key of found.late) {
        const { keyId, attemptId } = key;
        attempts.addKey(attemptId, accountKeyOf(object, key), keyId);
        run.log.error({ namespace, name, keyId, attempt: attemptId }, "a key appeared late");
      }
      const noteOn = ({ keyId, attemptId }: LateKey) =>
        `Key ${keyId} appeared in the console after its attempt ${attemptId} was closed: the call took effect late or twice.`;
      const events = found.late.map((key) => about(listed, "KeyOrphaned", "Recover", noteOn(key)));
      return { answer: listed, events };
    },
    planned: ({ keys }, snapshot, run) => ({ answer: findLateKeys(keys, snapshot, run).listed }),
  });

  function findLateKeys(
    keys: readonly LateKey[],
    snapshot: ApiKeySnapshot,
    run: ApiKeyReading,
  ): { readonly late: readonly LateKey[]; readonly listed: ApiKeySnapshot } {
    const { object, spec, status } = snapshot;
    const tried = { ...snapshot, hasTriedLateKeys: true } as const;
    const accounts = [...new Map(keys.map((key) => [accountKeyOf(object, key), key]))];
    const isAlone = accounts.every(([account]) =>
      attempts.startExplaining(account, ownerKeyOf(object)),
    );
    if (!isAlone) return { late: [], listed: tried };
    const known = accounts.flatMap(([, key]) => peerKeysOf(object, key, run, attempts).known);
    const late = keys.filter(({ keyId }) => !known.includes(keyId));
    const done = { ...tried, lateKeys: [] };
    if (late.length === 0) return { late, listed: done };
    const next = withLateKeys(status, late, spec.expiresInDays, run.clock.now());
    return { late, listed: { ...done, status: next } };
  }
}

interface OfPair {
  readonly pair: IssuedPair;
}

/**
 * Rebuilds the status from the Secret. A key that this run has not checked yet must be checked before it counts as
 * verified.
 */
export const rebuildStatus = concluding<OfPair>({
  kind: "RebuildStatus",
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
