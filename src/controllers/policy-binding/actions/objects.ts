/** Writes to the PolicyBindings of an account. */
import type { PolicyBinding } from "../../../api/policy-binding.ts";
import type { EventNote } from "../../../kube/event-recorder.ts";
import { addFinalizer, removeFinalizer } from "../../frame/finalizers.ts";
import { PartialFailure } from "../../frame/rules/outcome.ts";
import { writeStatus } from "../../frame/status-writer.ts";
import { recordEvent } from "../../frame/write-report.ts";
import { policyBindingType } from "../../resource-types.ts";
import { listed, type PolicySet } from "../rules/policy-set.ts";
import type {
  AddFinalizers,
  BindingsProgress,
  BindingsRun,
  ReleaseCause,
  RemoveFinalizers,
  WriteIntents,
} from "../rules/snapshot.ts";

export function addFinalizers(
  { uids }: AddFinalizers,
  progress: BindingsProgress,
  run: BindingsRun,
): Promise<BindingsProgress> {
  return writeEach(uids, progress, run, (object) =>
    addFinalizer(run, policyBindingType, run.caches.policyBindings, object),
  );
}

/** Makes the policies what the objects' statuses account for, and leaves the rest of these alone. */
export function writeIntents(
  { intents }: WriteIntents,
  progress: BindingsProgress,
  run: BindingsRun,
): Promise<BindingsProgress> {
  const { caches, signal } = run;
  const wanted = new Map(intents.map(({ uid, policyIds }) => [uid, policyIds]));
  return writeEach([...wanted.keys()], progress, run, (object) => {
    const appliedPolicyIds = [...(wanted.get(object.metadata.uid) ?? [])];
    const status = { ...object.status, appliedPolicyIds };
    return writeStatus(run, policyBindingType, caches.policyBindings, object, status, { signal });
  });
}

/** Lets objects go, and tells what they leave bound. */
export function removeFinalizers(
  { uids, because }: RemoveFinalizers,
  progress: BindingsProgress,
  run: BindingsRun,
): Promise<BindingsProgress> {
  const applied = new Map(progress.snapshot.bindings.map((each) => [each.uid, each.applied]));
  return writeEach(uids, progress, run, async (object) => {
    await removeFinalizer(run, policyBindingType, object);
    const left = applied.get(object.metadata.uid) ?? [];
    const why = LEFT_BOUND[because];
    if (why !== undefined && left.length > 0) recordEvent(run, object, leftBound(why, left));
    return undefined;
  });
}

/** Why policies stay bound; nothing where they are unbound, or will be. */
const LEFT_BOUND: Partial<Readonly<Record<ReleaseCause, string>>> = {
  Retained: "The PolicyBinding is gone without revoking.",
  AccountMissing: "There is no ServiceAccount to unbind them from.",
  AccountGone: "The console has no such account.",
  GaveUp: "The console could not be told in time.",
};

function leftBound(why: string, left: PolicySet): EventNote {
  return {
    type: "Warning",
    reason: "PoliciesNotRevoked",
    action: "RemoveFinalizer",
    note: `${why} These policies stay bound: ${listed(left)}.`.slice(0, 1_000),
  };
}

/** One object after the other; where one fails, the progress tells which are written. `undefined` is gone. */
async function writeEach(
  uids: readonly string[],
  { snapshot, done }: BindingsProgress,
  run: BindingsRun,
  write: (object: PolicyBinding) => Promise<PolicyBinding | undefined>,
): Promise<BindingsProgress> {
  const objects = new Map(snapshot.objects);
  const progress = { snapshot: { ...snapshot, objects }, done };
  for (const uid of uids) {
    const object = objects.get(uid);
    if (object === undefined) continue;
    try {
      run.signal.throwIfAborted();
      const written = await write(object);
      if (written === undefined) objects.delete(uid);
      else objects.set(uid, written);
    } catch (error) {
      throw new PartialFailure(progress, error);
    }
  }
  return progress;
}
