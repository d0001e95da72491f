/** Compares a restored object with the backup. Pure. */
import type { ApiKey } from "../../api/api-key.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import type { AnyObject } from "../cluster/kinds.ts";
import { readinessOf } from "../view/readiness.ts";
import { saIdOf, titleOf } from "./manifest.ts";
import type { Step } from "./plan.ts";

interface Outcome {
  /** Whether it is an ApiKey that is ready with a key of the backup. */
  readonly isReadyKey: boolean;
  /** Accounts and keys that the backup does not name, one sentence each. */
  readonly newAccounts: readonly string[];
  readonly newKeys: readonly string[];
}

const NOTHING: Outcome = { isReadyKey: false, newAccounts: [], newKeys: [] };

export function outcomeOf({ object, keyIds }: Step, now: AnyObject | undefined): Outcome {
  if (now === undefined) return NOTHING;
  if (object.kind === "ServiceAccount") {
    const { saId } = (now as ServiceAccount as Partial<ServiceAccount>).status ?? {};
    const isNew = saId !== undefined && saId !== saIdOf(object);
    const text = `${titleOf(object)} has account ${saId}, which the backup does not name.`;
    return isNew ? { ...NOTHING, newAccounts: [text] } : NOTHING;
  }
  if (object.kind !== "ApiKey") return NOTHING;
  const { current, pending } = (now as ApiKey).status ?? {};
  const known = [current, pending].flatMap((key) => key?.keyId ?? []);
  const added = known.filter((keyId) => !keyIds.includes(keyId));
  return {
    ...NOTHING,
    isReadyKey:
      readinessOf(now).ready === "True" && current !== undefined && !added.includes(current.keyId),
    newKeys: added.map(
      (keyId) => `${titleOf(object)} has key ${keyId}, which the backup does not hold.`,
    ),
  };
}
