/** Checks a key pair against the console. */
import { isIamError } from "../../../iam/errors.ts";
import type { Instant } from "../../../util/time.ts";
import type {
  ApiKeyPerformed,
  ApiKeyProgress,
  ApiKeyReading,
  KeyRejection,
} from "../rules/snapshot.ts";
import { withAcceptedKey } from "../rules/transitions.ts";
import { readyAccount, remembering } from "./progress.ts";
import type { ApiKeyRead } from "./step-types.ts";

/** Responses that a console gives only to an authentic pair. A 404 may come from a proxy that does not check pairs. */
const PROOF = new Set(["PermissionDenied", "InvalidArgument"]);

/** Checks the pair with searchActions. Rejects if the response does not show whether the console accepts the pair. */
export const verifyPair: ApiKeyRead<"VerifyPair"> = {
  read: async ({ pair }, progress, run) => {
    const { session } = readyAccount(progress.snapshot);
    const startTime = run.clock.now();
    const isAccepted = await run
      .console(session)
      .searchActions({ q: "a", pageSize: 1, key: pair }, run.signal)
      .then(
        () => true,
        (error: unknown) => {
          if (isIamError(error, "Unauthenticated")) return false;
          if (isIamError(error) && PROOF.has(error.code)) return true;
          throw error;
        },
      );
    return withVerdict(progress, pair.keyId, isAccepted, startTime, run);
  },
};

function withVerdict(
  { snapshot, done }: ApiKeyProgress,
  keyId: string,
  isAccepted: boolean,
  startTime: Instant,
  { clock }: Pick<ApiKeyReading, "clock">,
): ApiKeyPerformed {
  const checked = {
    snapshot: isAccepted
      ? { ...snapshot, status: withAcceptedKey(snapshot.status, keyId, clock.now()) }
      : snapshot,
    done: { ...done, verdicts: new Map(done.verdicts).set(keyId, isAccepted) },
  };
  const rejectionAfter = (before: KeyRejection | undefined) => {
    if (isAccepted) return undefined;
    return before?.keyId === keyId ? before : { keyId, since: clock.monotonic() };
  };
  const { rejection, pendingRejection } = snapshot;
  return keyId === snapshot.status.current?.keyId
    ? remembering(checked, { rejection: rejectionAfter(rejection), lastCheckTime: startTime })
    : remembering(checked, { pendingRejection: rejectionAfter(pendingRejection) });
}
