/** Which deleted PolicyBindings lose their finalizer, and why. Pure. */
import { cleanupDeadline } from "../../../reconciler/rules/cleanup.ts";
import { type PolicySet, union, without } from "./policy-set.ts";
import type {
  BindingsActionOf,
  BindingsProgress,
  BindingsSnapshot,
  ReleaseCause,
} from "./snapshot.ts";
import type { BindingView, BoundAccount, Stage } from "./views.ts";

type Release = BindingsActionOf<"RemoveFinalizers">;

/** Removes the operator's finalizer from deleted objects that still have it; `undefined` if there are none. */
export function release(
  { bindings, objects }: BindingsSnapshot,
  because: ReleaseCause,
  stages: readonly Exclude<Stage, "Live">[],
  isMeant: (binding: BindingView) => boolean = () => true,
): Release | undefined {
  const uids = bindings
    .filter(({ stage }) => stages.some((each) => each === stage))
    .filter((each) => each.hasFinalizer && objects.has(each.uid) && isMeant(each))
    .map(({ uid }) => uid);
  return uids.length === 0 ? undefined : { kind: "RemoveFinalizers", uids, because };
}

/**
 * Releases objects whose policies could not be revoked for too long. Before that, the account records the policies, so
 * that they are unbound later.
 */
export function releaseLate({
  snapshot,
  done,
}: BindingsProgress): Release | BindingsActionOf<"RecordUnrevoked"> | undefined {
  const late = release(snapshot, "GaveUp", ["Revoking"], (each) => timeLeft(snapshot, each) <= 0);
  if (late === undefined || snapshot.account === undefined || done.unrevoked !== undefined)
    return late;
  const released = snapshot.bindings.filter(({ uid }) => late.uids.includes(uid));
  const policyIds = union(...released.map(({ applied }) => applied));
  return policyIds.length === 0 ? late : { kind: "RecordUnrevoked", policyIds };
}

/** The recorded policies that are still to be unbound: no PolicyBinding declares or retains them. */
export function overdue({ unrevoked }: BoundAccount, bindings: readonly BindingView[]): PolicySet {
  const kept = bindings.filter(({ stage }) => stage !== "Revoking");
  return without(unrevoked, ...kept.map(({ policyIds, applied }) => union(policyIds, applied)));
}

/** Milliseconds until the next object waiting for its revocation is released without it. */
export function endOfWait(snapshot: BindingsSnapshot): { readonly afterMs?: number } {
  const waits = snapshot.bindings
    .filter(({ stage, uid }) => stage === "Revoking" && snapshot.objects.has(uid))
    .map((binding) => timeLeft(snapshot, binding));
  return waits.length === 0 ? {} : { afterMs: Math.min(...waits) };
}

function timeLeft({ now }: BindingsSnapshot, { blockedSince }: BindingView): number {
  return cleanupDeadline(blockedSince, now) - now;
}
