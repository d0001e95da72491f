/** The next effect for an account and its PolicyBindings, or why there is none. Pure. */

import type { Settled, Waiting } from "../../../reconciler/rules/outcome.ts";
import { SECOND } from "../../../util/time.ts";
import { isUsable } from "./choose.ts";
import { nextOfUsable } from "./next-of-usable.ts";
import { quiet } from "./quiet.ts";
import { endOfWait, release, releaseLate } from "./release.ts";
import type { BindingsAction, BindingsProgress } from "./snapshot.ts";
import type { BindingView, UnavailableAccount } from "./views.ts";

/** The watch event of the operator's own last write usually comes earlier. */
const CACHES_BEHIND = quiet(SECOND);

/**
 * Promises:
 * - At most one PUT per run (S10), decided on a live and complete list of the account's PolicyBindings and on an answer
 *   of the console in the same run.
 * - Only policies recorded by an existing PolicyBinding are unbound (S11). Exceptions: `foreignPolicies: Remove`,
 *   `access: Revoked`, withdrawn policies, and policies that an unanswered call has bound again.
 * - An object that is only missing from a list causes nothing (S20).
 * - If nothing must be done, no call is made (S18).
 *
 * Order: finalizers, intents (`status.appliedPolicyIds` grows), PUT, the account's record, finalizers of deleted
 * objects; the report writes the statuses (`appliedPolicyIds` shrinks). After a crash between any two steps, an object
 * that still exists accounts for every policy, and the next run starts again from the actual state.
 */
export function next({ snapshot, done }: BindingsProgress): BindingsAction | Waiting | Settled {
  if (snapshot.source === "Behind" || done.accountReplaced) return CACHES_BEHIND;
  if (isUsable(snapshot)) return nextOfUsable(snapshot, done);
  const { availability } = snapshot;
  return availability.kind === "Unavailable"
    ? nextOfUnavailable({ snapshot, done }, availability)
    : CACHES_BEHIND;
}

function nextOfUnavailable(
  { snapshot, done }: BindingsProgress,
  { state, reason, message, endsAs }: UnavailableAccount,
): BindingsAction | Waiting {
  const { bindings, source } = snapshot;
  const isOver = bindings.every(({ stage, applied }) => stage === "Live" && applied.length === 0);
  // Only the API server can prove that the account does not exist (S20).
  if (endsAs === "AccountMissing" && !isOver && source === "Caches") return { kind: "ReadLive" };
  const isUnbound = ({ applied }: BindingView) => applied.length === 0;
  return (
    (endsAs && release(snapshot, endsAs, ["Revoking", "Releasing"])) ??
    release(snapshot, "Retained", ["Releasing"]) ??
    release(snapshot, "NothingBound", ["Revoking"], isUnbound) ??
    releaseLate({ snapshot, done }) ?? {
      kind: "Waiting",
      state,
      reason,
      message,
      ...endOfWait(snapshot),
    }
  );
}
