import { assertNever } from "../../../util/assert-never.ts";
import { readLive } from "../observe.ts";
import type { BindingsAction, BindingsProgress, BindingsRun } from "../rules/snapshot.ts";
import { attribute, listBindings, syncBindings } from "./console.ts";
import { addFinalizers, removeFinalizers, writeIntents } from "./objects.ts";
import { recordBindings } from "./record-bindings.ts";

/**
 * Performs one action of a run over an account and its PolicyBindings. Rejects at the first failure; where other
 * objects are written already, with a PartialFailure.
 */
export async function perform(
  action: BindingsAction,
  progress: BindingsProgress,
  run: BindingsRun,
): Promise<BindingsProgress> {
  switch (action.kind) {
    case "ListBindings":
      return await listBindings(progress, run);
    case "ReadLive":
      return await readAgain(progress, run);
    case "AddFinalizers":
      return await addFinalizers(action, progress, run);
    case "RecordIntents":
    case "TakeBackIntents":
      return await writeIntents(action, progress, run);
    case "SyncBindings":
      return await syncBindings(action, progress, run);
    case "AttributeRefusal":
      return await attribute(action, progress, run);
    case "RecordBindings":
      return await recordBindings(action, progress, run);
    case "RemoveFinalizers":
      return await removeFinalizers(action, progress, run);
    default:
      return assertNever(action);
  }
}

async function readAgain(
  { snapshot, done }: BindingsProgress,
  run: BindingsRun,
): Promise<BindingsProgress> {
  const live = await readLive(snapshot, run);
  const accountReplaced = live.account?.metadata.uid !== snapshot.account?.metadata.uid;
  return { snapshot: live, done: { ...done, accountReplaced } };
}
