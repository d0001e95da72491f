/** The next effect for an account and its PolicyBindings, or why there is none. Pure. */
import type { Settled, Waiting } from "../../frame/rules/outcome.ts";
import { isUsable } from "./choose.ts";
import { nextOfUsable } from "./next-of-usable.ts";
import { CACHES_BEHIND } from "./quiet.ts";
import { endOfWait, release, releaseLate } from "./release.ts";
import type { BindingsAction, BindingsProgress, BindingsSnapshot } from "./snapshot.ts";
import type { AccountUnavailable, BindingView } from "./views.ts";

/**
 * Promises: at most one PUT a run (S10), decided on a live and complete list of the account's PolicyBindings and on an
 * answer of the console in the same run; nothing is unbound but what an existing PolicyBinding has on record, or under
 * `foreignPolicies: Remove` or `suspendAccess` (S11); what is merely missing from a list causes nothing (S20); with
 * nothing to do, no call (S18).
 *
 * Order: finalizers, intents (`status.appliedPolicyIds` grows), PUT, the account's record, end of deleted objects; the
 * statuses (`appliedPolicyIds` shrinks) are the report's. A crash between any two leaves policies accounted for by an
 * object that still exists, and the next run starts over from what is true.
 */
export function next({ snapshot, done }: BindingsProgress): BindingsAction | Waiting | Settled {
  if (snapshot.source === "Behind" || done.accountReplaced) return CACHES_BEHIND;
  const { availability } = snapshot;
  switch (availability.kind) {
    case "Missing":
      return withoutAccount(snapshot);
    case "Deleting":
      return release(snapshot, "AccountDeleting", isEnding) ?? WAITS_FOR_BINDINGS;
    case "Unavailable":
      return whileUnavailable(snapshot, availability);
    case "Usable":
      return isUsable(snapshot) ? nextOfUsable(snapshot, done) : CACHES_BEHIND;
  }
}

/** No account, no call; but only the API server itself can tell that there is none (S20). */
function withoutAccount(snapshot: BindingsSnapshot): BindingsAction | Waiting {
  const { bindings, source, object } = snapshot;
  const isOver = bindings.every(({ stage, applied }) => stage === "Live" && applied.length === 0);
  if (!isOver && source === "Caches") return { kind: "ReadLive" };
  return (
    release(snapshot, "AccountMissing", isEnding) ?? {
      kind: "Waiting",
      state: "Reconciling",
      reason: "WaitingForServiceAccount",
      message: `There is no ServiceAccount ${object.metadata.name} in this namespace.`,
    }
  );
}

function whileUnavailable(
  snapshot: BindingsSnapshot,
  { state, reason, message, isGone = false }: AccountUnavailable,
): BindingsAction | Waiting {
  return (
    release(snapshot, "Retained", ({ stage }) => stage === "Releasing") ??
    (isGone ? release(snapshot, "AccountGone", isEnding) : undefined) ??
    release(
      snapshot,
      "NothingBound",
      ({ applied, stage }) => stage === "Revoking" && applied.length === 0,
    ) ??
    releaseLate(snapshot) ?? { kind: "Waiting", state, reason, message, ...endOfWait(snapshot) }
  );
}

/** The account's controller submits an empty list at the end, so that nothing is left to revoke here. */
const WAITS_FOR_BINDINGS: Waiting = {
  kind: "Waiting",
  state: "Reconciling",
  reason: "ServiceAccountDeleting",
  message: "The ServiceAccount is being deleted and waits for its PolicyBindings to go.",
};

function isEnding({ stage }: BindingView): boolean {
  return stage !== "Live";
}
