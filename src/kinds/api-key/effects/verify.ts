/** Checks a key pair against the console. */
import { isIamError } from "../../../console/errors.ts";
import { type PairEvidence, pairEvidence } from "../../../console/evidence.ts";
import type { Answered } from "../../../reconciler/effects.ts";
import type { Instant } from "../../../util/time.ts";
import type {
  ApiKeyKind,
  ApiKeyMemory,
  ApiKeyReading,
  ApiKeySnapshot,
  KeyRejection,
} from "../rules/snapshot.ts";
import { withAcceptedKey } from "../rules/transitions.ts";
import { verdictKey } from "../rules/verification.ts";
import type { IssuedPair } from "../secret/pair.ts";
import { accountOfPair, keyEffect, remembering } from "./define.ts";

interface OfPair {
  readonly pair: IssuedPair;
}

/** Checks the pair with searchActions. Rejects if the response does not show whether the console accepts the pair. */
export const verifyPair = keyEffect<OfPair>({ kind: "VerifyPair", read: tryPair });

/**
 * Checks the pair in use, even while the object is suspended. A response that does not show whether it works stops
 * nothing else that the run does.
 */
export const checkKeyInUse = keyEffect<OfPair>({
  kind: "VerifyPair",
  whileSuspended: true,
  read: (input, snapshot, run) =>
    tryPair(input, snapshot, run).catch((failedCheck: unknown) => {
      if (!isIamError(failedCheck)) throw failedCheck;
      return { answer: { ...snapshot, failedCheck } };
    }),
});

async function tryPair(
  { pair }: OfPair,
  snapshot: ApiKeySnapshot,
  run: ApiKeyReading,
): Promise<Answered<ApiKeyKind, ApiKeySnapshot>> {
  // A pair is shown only to the console of its own account.
  const { session } = accountOfPair(snapshot, pair);
  const startTime = run.clock.now();
  const evidence = await run
    .console(session)
    .searchActions({ q: "a", pageSize: 1, key: pair }, run.signal)
    .then(
      () => "Accepted" as const,
      (error: unknown) => {
        const shown = pairEvidence(error);
        if (shown === undefined) throw error;
        return shown;
      },
    );
  return withVerdict(snapshot, pair, evidence, startTime, run);
}

function withVerdict(
  snapshot: ApiKeySnapshot,
  pair: IssuedPair,
  evidence: PairEvidence,
  startTime: Instant,
  { clock }: Pick<ApiKeyReading, "clock">,
): Answered<ApiKeyKind, ApiKeySnapshot> {
  const { keyId } = pair;
  const { status, rejection, pendingRejection } = snapshot;
  const isRejected = evidence === "Rejected";
  const verdict = verdictKey(pair, snapshot);
  const verdicts = new Map(snapshot.verdicts).set(verdict, evidence);
  const isCurrent = verdict === status.current?.keyId;
  const rejectionAfter = (before: KeyRejection | undefined) => {
    if (!isRejected) return undefined;
    return before?.keyId === keyId ? before : { keyId, since: clock.monotonic() };
  };
  const known: Partial<ApiKeyMemory> = isCurrent
    ? {
        rejection: rejectionAfter(rejection),
        lastCheckTime: startTime,
        regularCheckFrom: clock.monotonic(),
      }
    : { pendingRejection: rejectionAfter(pendingRejection) };
  const accepted = isCurrent && !isRejected ? withAcceptedKey(status, keyId, clock.now()) : status;
  return {
    answer: { ...snapshot, ...known, verdicts, status: accepted },
    remember: remembering(known),
  };
}
