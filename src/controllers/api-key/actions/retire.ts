/** Ending keys at the console. */
import type { IamClient } from "../../../iam/client/client.ts";
import { type IamError, isIamError } from "../../../iam/errors.ts";
import { lookUpAccount } from "../../look-up-account.ts";
import type { ActionOf, ApiKeyProgress, ReadyAccount } from "../rules/snapshot.ts";
import { withEndedKey } from "../rules/transitions.ts";
import { type ApiKeyRun, readyAccount, recordKeyEvent, withDone, withSnapshot } from "./run.ts";

type EndKey = ActionOf<"DisableKey" | "DeleteKey">;
type Ended = "Disabled" | "Deleted";

/**
 * Disables or deletes a key by a call that the connection names. A key that is gone counts as deleted. One that
 * the console will not end is noted, so that the others have their turn in the same run.
 */
export async function endKey(
  progress: ApiKeyProgress,
  action: EndKey,
  run: ApiKeyRun,
): Promise<ApiKeyProgress> {
  const { keyId } = action;
  let state: Ended;
  try {
    state = await stateAfter(action, readyAccount(progress.snapshot), run);
  } catch (error) {
    if (!isIamError(error)) throw error;
    return noteFailure(progress, keyId, error);
  }
  const note = `Key ${keyId} is ${state.toLowerCase()} at the console.`;
  recordKeyEvent(progress, run, `Key${state}`, "Retire", note);
  return withSnapshot(progress, {
    status: withEndedKey(progress.snapshot.status, keyId, state, run.clock.now()),
  });
}

/** Rejects with the failure that was noted. */
export function failRun(_: ApiKeyProgress, { error }: ActionOf<"FailRun">): never {
  throw error;
}

function noteFailure(progress: ApiKeyProgress, keyId: string, error: IamError): ApiKeyProgress {
  const failed = new Map(progress.done.failedRevocations).set(keyId, error);
  return withDone(progress, { failedRevocations: failed });
}

/** A path that the connection names wrongly answers 404 as well: it counts unless the account's list has the key. */
async function stateAfter(
  action: EndKey,
  { client, saId }: ReadyAccount,
  { signal }: ApiKeyRun,
): Promise<Ended> {
  try {
    return await callToEnd(action, client.extra, saId);
  } catch (error) {
    if (!isIamError(error, "NotFound")) throw error;
    const detail = await lookUpAccount(client, saId, signal);
    if (detail?.keyIds?.includes(action.keyId) === true) throw error;
    return "Deleted";
  }
}

/** Answers that say no to disabling a key for good; the key may be disabled already, or gone. */
const NEVER_DISABLED = new Set([
  "AlreadyExists",
  "InvalidArgument",
  "FailedPrecondition",
  "NotFound",
]);

/** A key that the console will not disable is deleted at once, which would be the next step anyway. */
async function callToEnd(
  { kind, keyId }: EndKey,
  { disableKey, deleteKey }: IamClient["extra"],
  saId: string,
): Promise<Ended> {
  if (kind === "DisableKey") {
    try {
      await disableKey?.(saId, keyId);
      return "Disabled";
    } catch (error) {
      const isRefused = isIamError(error) && NEVER_DISABLED.has(error.code);
      if (!isRefused || deleteKey === undefined) throw error;
    }
  }
  await deleteKey?.(saId, keyId);
  return "Deleted";
}
