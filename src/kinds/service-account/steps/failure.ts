import { isIamError } from "../../../console/errors.ts";
import { failureReadiness } from "../../../reconciler/rules/failure.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import { reconciling, stalled } from "../../../reconciler/rules/waiting.ts";
import type { AccountSnapshot } from "../rules/snapshot.ts";
import type { AccountRead } from "./step-types.ts";

/**
 * Rejects with the error of the call. If the object is being deleted, a console error is a fact for the rules instead,
 * because a deletion must finish even if the console is down (L6).
 */
export async function failureOf(
  { object }: AccountSnapshot,
  call: () => Promise<void>,
): Promise<Waiting | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    const isDeleting = object.metadata.deletionTimestamp !== undefined;
    const readiness = isDeleting && isIamError(error) ? failureReadiness(error) : undefined;
    if (readiness === undefined) throw error;
    const { state, reason, message } = readiness;
    return (state === "Stalled" ? stalled : reconciling)(reason, message);
  }
}

/** The same for a read. */
export function tolerant<Kind>(read: AccountRead<Kind>["read"]): AccountRead<Kind>["read"] {
  return async (action, progress, run) => {
    let after = progress;
    const failure = await failureOf(progress.snapshot, async () => {
      after = await read(action, progress, run);
    });
    if (failure === undefined) return after;
    return { ...progress, done: { ...progress.done, failure } };
  };
}
