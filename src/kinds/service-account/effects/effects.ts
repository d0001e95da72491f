import type { ReadNow } from "../../../reconciler/clock-reading.ts";
import { defineEffect } from "../../../reconciler/effects.ts";
import { finalizerEffect } from "../../../reconciler/finalizer-effect.ts";
import { hasFinalizer } from "../../../reconciler/finalizers.ts";
import { serviceAccountType } from "../../../resources/resource-types.ts";
import type { MarkedAccounts } from "../marked-accounts.ts";
import { NamesInCreation } from "../names-in-creation.ts";
import type { AccountEffects, AccountKind, AccountSnapshot } from "../rules/snapshot.ts";
import { deleteAccount, revokePolicies } from "./clean-up.ts";
import { defineCreation, defineRecord } from "./create-account.ts";
import { defineLists, getAccount, tryGetAccount } from "./look-up.ts";

/** The effects that a run may yield. `marked` is what the process knows of all accounts. */
export function createAccountEffects(marked: MarkedAccounts) {
  const names = new NamesInCreation();
  return {
    ...defineLists(marked),
    getAccount,
    tryGetAccount,
    keepObject,
    recordAttempt: defineRecord(names),
    createAccount: defineCreation(marked.lists, names),
    revokePolicies,
    deleteAccount,
  };
}

/** What a run is given in addition to its snapshot. */
export type AccountEffectSet = ReturnType<typeof createAccountEffects> & {
  readonly readNow: ReadNow;
};

/** Also while suspended: an account that the status of a suspended object has lost is recorded for other objects. */
const writeFinalizer = defineEffect(finalizerEffect<AccountKind>(serviceAccountType, true));

/** Adds the finalizer if the object lacks it: the object stays until its account is cleaned up. */
function* keepObject<S extends AccountSnapshot>(snapshot: S): AccountEffects<S> {
  if (hasFinalizer(snapshot.object)) return snapshot;
  return { ...snapshot, object: yield* writeFinalizer(snapshot) };
}
