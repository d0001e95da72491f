/** Which deleted PolicyBindings may go, and why. Pure. */
import { HOUR, MINUTE, parseInstant } from "../../../util/time.ts";
import type { BindingsActionOf, BindingsSnapshot, ReleaseCause } from "./snapshot.ts";
import type { BindingView, Stage } from "./views.ts";

/** A deletion that cannot revoke does not wait longer (L6): with its account being deleted too, and without. */
const GIVE_UP_LEAVING_MS = 10 * MINUTE;
const GIVE_UP_MS = 24 * HOUR;

type Release = BindingsActionOf<"RemoveFinalizers">;

/** Takes our finalizer off deleted objects that have it still; `undefined` where there are none. */
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

/** What could not be revoked for too long. */
export function releaseLate(snapshot: BindingsSnapshot): Release | undefined {
  return release(snapshot, "GaveUp", ["Revoking"], (each) => timeLeft(snapshot, each) <= 0);
}

/** When the next object that waits to be revoked is released without. */
export function endOfWait(snapshot: BindingsSnapshot): { readonly afterMs?: number } {
  const waits = snapshot.bindings
    .filter(({ stage, uid }) => stage === "Revoking" && snapshot.objects.has(uid))
    .map((binding) => timeLeft(snapshot, binding));
  return waits.length === 0 ? {} : { afterMs: Math.min(...waits) };
}

function timeLeft({ account, now }: BindingsSnapshot, { deletedAt }: BindingView): number {
  const isLeaving = account?.metadata.deletionTimestamp !== undefined;
  return (parseInstant(deletedAt) ?? now) + (isLeaving ? GIVE_UP_LEAVING_MS : GIVE_UP_MS) - now;
}
