/** Trying a key pair against the console. */
import { isIamError } from "../../../iam/errors.ts";
import type { ActionOf, ApiKeyProgress } from "../rules/snapshot.ts";
import { withAcceptedKey } from "../rules/transitions.ts";
import { type ApiKeyRun, readyAccount, remember, withDone, withSnapshot } from "./run.ts";

/** Answers that a console gives only to an authentic pair. A 404 may come from a proxy that knows no pairs. */
const PROOF = new Set(["PermissionDenied", "InvalidArgument"]);

/** Tries the pair with call 13. Refused pairs are remembered with the time of the first refusal. */
export async function verifyPair(
  progress: ApiKeyProgress,
  { pair }: ActionOf<"VerifyPair">,
  run: ApiKeyRun,
): Promise<ApiKeyProgress> {
  const { client } = readyAccount(progress.snapshot);
  const tried = remember(progress, { triedAt: run.clock.now() }, run);
  const isAccepted = await client.searchActions({ q: "a", pageSize: 1 }, pair, run.signal).then(
    () => true,
    (error: unknown) => {
      if (isIamError(error, "Unauthenticated")) return false;
      if (isIamError(error) && PROOF.has(error.code)) return true;
      throw error;
    },
  );
  return isAccepted ? noteAccepted(tried, pair.keyId, run) : noteRefused(tried, pair.keyId, run);
}

function noteRefused(progress: ApiKeyProgress, keyId: string, run: ApiKeyRun): ApiKeyProgress {
  const first = progress.snapshot.rejection;
  const rejection = first?.keyId === keyId ? first : { keyId, since: run.clock.monotonic() };
  return withDone(remember(progress, { rejection }, run), { unprovenKeyId: keyId });
}

function noteAccepted(progress: ApiKeyProgress, keyId: string, run: ApiKeyRun): ApiKeyProgress {
  const accepted = withDone(remember(progress, { rejection: undefined }, run), {
    provenKeyId: keyId,
  });
  const { status } = accepted.snapshot;
  return withSnapshot(accepted, { status: withAcceptedKey(status, keyId, run.clock.now()) });
}
