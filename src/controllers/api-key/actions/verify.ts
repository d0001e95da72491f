/** Checks a key pair against the console. */
import { isIamError } from "../../../iam/errors.ts";
import type { Instant } from "../../../util/time.ts";
import type { ActionOf, ApiKeyProgress, KeyRejection } from "../rules/snapshot.ts";
import { withAcceptedKey } from "../rules/transitions.ts";
import { type ApiKeyRun, readyAccount, remember } from "./run.ts";

/** Responses that a console gives only to an authentic pair. A 404 may come from a proxy that does not check pairs. */
const PROOF = new Set(["PermissionDenied", "InvalidArgument"]);

/** Checks the pair with searchActions. Rejects if the response does not show whether the console accepts the pair. */
export async function verifyPair(
  progress: ApiKeyProgress,
  { pair }: ActionOf<"VerifyPair">,
  run: ApiKeyRun,
): Promise<ApiKeyProgress> {
  const { client } = readyAccount(progress.snapshot);
  const startTime = run.clock.now();
  const isAccepted = await client
    .searchActions({ q: "a", pageSize: 1, key: pair }, run.signal)
    .then(
      () => true,
      (error: unknown) => {
        if (isIamError(error, "Unauthenticated")) return false;
        if (isIamError(error) && PROOF.has(error.code)) return true;
        throw error;
      },
    );
  return noteVerdict(progress, pair.keyId, isAccepted, startTime, run);
}

function noteVerdict(
  { snapshot, done }: ApiKeyProgress,
  keyId: string,
  isAccepted: boolean,
  startTime: Instant,
  run: ApiKeyRun,
): ApiKeyProgress {
  const checked = {
    snapshot: isAccepted
      ? { ...snapshot, status: withAcceptedKey(snapshot.status, keyId, run.clock.now()) }
      : snapshot,
    done: { ...done, verdicts: new Map(done.verdicts).set(keyId, isAccepted) },
  };
  const rejectionAfter = (before: KeyRejection | undefined) => {
    if (isAccepted) return undefined;
    return before?.keyId === keyId ? before : { keyId, since: run.clock.monotonic() };
  };
  const { rejection, pendingRejection } = snapshot;
  return keyId === snapshot.status.current?.keyId
    ? remember(checked, { rejection: rejectionAfter(rejection), lastCheckTime: startTime }, run)
    : remember(checked, { pendingRejection: rejectionAfter(pendingRejection) }, run);
}
