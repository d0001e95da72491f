/** Checks a key pair against the console. */
import { type PairEvidence, pairEvidence } from "../../../console/evidence.ts";
import type { Instant } from "../../../util/time.ts";
import type {
  ApiKeyPerformed,
  ApiKeyProgress,
  ApiKeyReading,
  KeyRejection,
} from "../rules/snapshot.ts";
import { withAcceptedKey } from "../rules/transitions.ts";
import { verdictKey } from "../rules/verification.ts";
import type { IssuedPair } from "../secret/pair.ts";
import { accountOfPair, remembering } from "./progress.ts";
import type { ApiKeyRead } from "./step-types.ts";

/** Checks the pair with searchActions. Rejects if the response does not show whether the console accepts the pair. */
export const verifyPair: ApiKeyRead<"VerifyPair"> = {
  read: async ({ pair }, progress, run) => {
    // A pair is shown only to the console of its own account.
    const { session } = accountOfPair(progress.snapshot, pair);
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
    return withVerdict(progress, pair, evidence, startTime, run);
  },
};

function withVerdict(
  { snapshot, done }: ApiKeyProgress,
  pair: IssuedPair,
  evidence: PairEvidence,
  startTime: Instant,
  { clock }: Pick<ApiKeyReading, "clock">,
): ApiKeyPerformed {
  const { keyId } = pair;
  const isAccepted = evidence !== "Rejected";
  const verdict = verdictKey(pair, snapshot);
  const verdicts = new Map(done.verdicts).set(verdict, isAccepted);
  const letIn = evidence === "LetIn" ? new Set(done.letIn).add(verdict) : done.letIn;
  const isCurrent = verdict === snapshot.status.current?.keyId;
  const checked = {
    snapshot:
      isAccepted && isCurrent
        ? { ...snapshot, status: withAcceptedKey(snapshot.status, keyId, clock.now()) }
        : snapshot,
    done: { ...done, verdicts, ...(letIn === undefined ? {} : { letIn }) },
  };
  const rejectionAfter = (before: KeyRejection | undefined) => {
    if (isAccepted) return undefined;
    return before?.keyId === keyId ? before : { keyId, since: clock.monotonic() };
  };
  const { rejection, pendingRejection } = snapshot;
  return isCurrent
    ? remembering(checked, {
        rejection: rejectionAfter(rejection),
        lastCheckTime: startTime,
        regularCheckFrom: clock.monotonic(),
      })
    : remembering(checked, { pendingRejection: rejectionAfter(pendingRejection) });
}
