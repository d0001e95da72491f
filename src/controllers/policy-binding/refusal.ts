/** Who is to blame when the console refuses the union of several objects' policies. Pure but for one listing. */
import type { IamClient } from "../../iam/client/client.ts";
import { type IamError, type IamErrorCode, isIamError } from "../../iam/errors.ts";
import type { IamPolicy } from "../../iam/model.ts";
import { HOUR, type Instant } from "../../util/time.ts";
import type { AccountMemory } from "./memory.ts";
import type { PolicySet } from "./policy-set.ts";
import { listed, without } from "./policy-set.ts";
import type { BindingView } from "./view.ts";

const RETRY_AFTER = HOUR;
const REFUSALS: ReadonlySet<IamErrorCode> = new Set([
  "InvalidArgument",
  "NotFound",
  "FailedPrecondition",
]);

/** Whether the console judged the list and did not take it. */
export function isRefusal(error: unknown): error is IamError {
  return isIamError(error) && REFUSALS.has(error.code);
}

/**
 * Remembers whose policies were refused. Where several objects brought new ones and the listing of policies
 * names none of them, they are tried one at a time from the next pass on.
 */
export async function blame(
  memory: AccountMemory,
  client: IamClient,
  orgId: string,
  newcomers: readonly BindingView[],
  bound: PolicySet,
  error: IamError,
  now: Instant,
  signal: AbortSignal,
): Promise<void> {
  const policies = await readPolicies(client, orgId, signal);
  const named = newcomers.flatMap((binding) => {
    const faults = faultsOf(without(binding.policyIds, bound), policies);
    return faults.length === 0 ? [] : [{ binding, faults }];
  });
  const guilty =
    named.length === 0 && newcomers.length === 1
      ? newcomers.map((binding) => ({ binding, faults: [] }))
      : named;
  memory.isolating = guilty.length === 0;
  for (const { binding, faults } of guilty) {
    memory.refusals.set(binding.uid, {
      generation: binding.generation,
      requestedAt: binding.requestedAt,
      until: now + RETRY_AFTER,
      problem: {
        reason: "PolicyRefused",
        message: describe(without(binding.policyIds, bound), faults, error),
      },
    });
  }
}

/** What the listing of policies says against some of them; nothing where it says nothing. */
export function faultsOf(
  policyIds: PolicySet,
  policies: readonly IamPolicy[] | undefined,
): readonly string[] {
  if (policies === undefined || policies.length === 0) return [];
  const kinds = new Map(policies.map(({ policyId, kind }) => [policyId, kind]));
  return policyIds.flatMap((id) => {
    if (!kinds.has(id)) return [`${id} is not among the organization's policies`];
    return kinds.get(id)?.toLowerCase() === "scp"
      ? [`${id} is of kind scp, which cannot be bound to a service account`]
      : [];
  });
}

function describe(refused: PolicySet, faults: readonly string[], error: IamError): string {
  const why = faults.length === 0 ? "" : ` Policy ${faults.slice(0, 5).join("; ")}.`;
  const request =
    error.requestId === undefined || error.message.includes(error.requestId)
      ? ""
      : ` (requestId ${error.requestId})`;
  return `The console refused to bind ${listed(refused)}: ${error.message}${request}.${why} Correct policyIds; it is tried again after a change, or within an hour.`;
}

/** Only helps to name a culprit: where the login may not list policies, nobody is named. */
async function readPolicies(
  client: IamClient,
  orgId: string,
  signal: AbortSignal,
): Promise<readonly IamPolicy[] | undefined> {
  try {
    return await client.listPolicies({ orgId }, signal);
  } catch (error) {
    if (isIamError(error)) return undefined;
    throw error;
  }
}
