import type { PolicyBinding } from "../../api/policy-binding.ts";
import type { IamClient } from "../../iam/client/client.ts";
import { assertNever } from "../../util/assert-never.ts";
import type { Context } from "../frame/context.ts";
import { addFinalizer, removeFinalizer } from "../frame/finalizers.ts";
import { writeStatus } from "../frame/status-writer.ts";
import { policyBindingType } from "../resource-types.ts";
import type { Action } from "./plan.ts";

/** What actions work with. `objects` follows the writes, by uid. */
export interface Hands {
  readonly context: Pick<Context, "kube" | "caches">;
  readonly client: IamClient | undefined;
  readonly objects: Map<string, PolicyBinding>;
  readonly signal: AbortSignal;
}

export async function apply(action: Action, hands: Hands): Promise<void> {
  switch (action.kind) {
    case "AddFinalizer":
      return await hold(hands, action.uid);
    case "RecordIntent":
      return await recordApplied(hands, action.uid, action.policyIds);
    case "SyncBindings": {
      const { tpn, orgId, policyIds } = action;
      return await hands.client?.syncBindings({ tpn, orgId, policyIds }, hands.signal);
    }
    case "RemoveFinalizer":
      return await letGo(hands, action.uid);
    default:
      return assertNever(action);
  }
}

/** Makes `policyIds` what the object's status accounts for, and leaves the rest of it alone. */
export async function recordApplied(
  { context, objects, signal }: Hands,
  uid: string,
  policyIds: readonly string[],
): Promise<void> {
  const binding = objects.get(uid);
  if (binding === undefined) return;
  const status = { ...binding.status, appliedPolicyIds: [...policyIds] };
  objects.set(
    uid,
    await writeStatus(context, policyBindingType, context.caches.policyBindings, binding, status, {
      signal,
    }),
  );
}

async function hold({ context, objects }: Hands, uid: string): Promise<void> {
  const binding = objects.get(uid);
  if (binding === undefined) return;
  const { policyBindings } = context.caches;
  objects.set(uid, await addFinalizer(context, policyBindingType, policyBindings, binding));
}

async function letGo({ context, objects }: Hands, uid: string): Promise<void> {
  const binding = objects.get(uid);
  if (binding === undefined) return;
  await removeFinalizer(context, policyBindingType, binding);
  objects.delete(uid);
}
