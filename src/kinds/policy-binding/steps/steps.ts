import type { ServiceAccount } from "../../../api/service-account.ts";
import type { Steps } from "../../../reconciler/steps.ts";
import { readLive } from "../observe.ts";
import type { AccountBindingsKind } from "../rules/snapshot.ts";
import { attributeRefusal, listBindings, syncBindings } from "./console.ts";
import {
  addFinalizers,
  recordBindings,
  recordUnrevoked,
  removeFinalizers,
  writeIntents,
} from "./objects.ts";
import type { BindingsRead } from "./step-types.ts";

const readAgain: BindingsRead<"ReadLive"> = {
  read: async (_, { snapshot, done }, run) => {
    const live = await readLive(snapshot, run);
    return {
      snapshot: live,
      done: { ...done, accountReplaced: !isSame(live.account, snapshot.account) },
    };
  },
};

/** An effect that fails may have written other objects already: it rejects with a PartialFailure. */
export const bindingsSteps: Steps<AccountBindingsKind> = {
  ListBindings: listBindings,
  ReadLive: readAgain,
  AddFinalizers: addFinalizers,
  WriteIntents: writeIntents,
  SyncBindings: syncBindings,
  AttributeRefusal: attributeRefusal,
  RecordBindings: recordBindings,
  RecordUnrevoked: recordUnrevoked,
  RemoveFinalizers: removeFinalizers,
};

/**
 * The listed bindings belong to the account named by the status at that time; a different account makes them invalid.
 */
function isSame(one: ServiceAccount | undefined, other: ServiceAccount | undefined): boolean {
  return one?.metadata.uid === other?.metadata.uid && one?.status?.tpn === other?.status?.tpn;
}
