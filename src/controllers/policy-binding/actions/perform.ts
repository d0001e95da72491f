import type { ServiceAccount } from "../../../api/service-account.ts";
import { assertNever } from "../../../util/assert-never.ts";
import { readLive } from "../observe.ts";
import type { BindingsAction, PerformBindings } from "../rules/snapshot.ts";
import { attribute, listBindings, syncBindings } from "./console.ts";
import {
  addFinalizers,
  recordBindings,
  recordUnrevoked,
  removeFinalizers,
  writeIntents,
} from "./objects.ts";

/**
 * Performs one action of a run over an account and its PolicyBindings. Rejects at the first failure; with a
 * PartialFailure if other objects may already be written.
 */
export const perform: PerformBindings<BindingsAction["kind"]> = (action, progress, run) => {
  switch (action.kind) {
    case "ListBindings":
      return listBindings(action, progress, run);
    case "ReadLive":
      return readAgain(action, progress, run);
    case "AddFinalizers":
      return addFinalizers(action, progress, run);
    case "WriteIntents":
      return writeIntents(action, progress, run);
    case "SyncBindings":
      return syncBindings(action, progress, run);
    case "AttributeRefusal":
      return attribute(action, progress, run);
    case "RecordBindings":
      return recordBindings(action, progress, run);
    case "RecordUnrevoked":
      return recordUnrevoked(action, progress, run);
    case "RemoveFinalizers":
      return removeFinalizers(action, progress, run);
    default:
      return assertNever(action);
  }
};

const readAgain: PerformBindings<"ReadLive"> = async (_, { snapshot, done }, run) => {
  const live = await readLive(snapshot, run);
  return {
    snapshot: live,
    done: { ...done, accountReplaced: !isSame(live.account, snapshot.account) },
  };
};

/**
 * The listed bindings belong to the account named by the status at that time; a different account makes them invalid.
 */
function isSame(one: ServiceAccount | undefined, other: ServiceAccount | undefined): boolean {
  return one?.metadata.uid === other?.metadata.uid && one?.status?.tpn === other?.status?.tpn;
}
