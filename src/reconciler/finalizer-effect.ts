import type { ResourceType } from "../kube/resource.ts";
import type { Change } from "./effects.ts";
import { addFinalizer, withFinalizer } from "./finalizers.ts";
import type { KindTypes } from "./run-context.ts";

/** Writes the operator's finalizer to the object of the run. Its answer is the written object. */
export function finalizerEffect<K extends KindTypes>(
  type: ResourceType<K["Object"]>,
  whileSuspended: boolean,
): Change<K, K["Snapshot"], void, K["Object"]> {
  return {
    ...{ kind: "AddFinalizer", whileSuspended, isMinor: true },
    call: async (_, { object }, run) => ({ answer: await addFinalizer(run, type, object) }),
    planned: (_, { object }) => ({ answer: withFinalizer(object) }),
  };
}
