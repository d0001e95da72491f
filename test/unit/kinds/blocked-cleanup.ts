import type { Condition } from "../../../src/api/conditions.ts";
import { type Instant, toIso8601 } from "../../../src/util/time.ts";

interface Reported {
  readonly status?: { readonly conditions?: readonly Condition[] | undefined } | undefined;
}

/** The object as it is stored when its cleanup was first reported as blocked at that time. */
export function blockedSince<T extends Reported>(object: T, since: Instant | undefined): T {
  if (since === undefined) return object;
  const blocked: Condition = {
    type: "CleanupBlocked",
    status: "True",
    reason: "Unavailable",
    message: "down",
    lastTransitionTime: toIso8601(since),
  };
  const { conditions = [] } = object.status ?? {};
  return { ...object, status: { ...object.status, conditions: [...conditions, blocked] } };
}
