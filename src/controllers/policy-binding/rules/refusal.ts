/** Which object's policies are invalid if the console rejects a list of several objects' policies. Pure. */
import { type IamError, type IamErrorCode, isIamError } from "../../../iam/errors.ts";
import type { IamPolicy } from "../../../iam/model.ts";
import { HOUR, type Instant } from "../../../util/time.ts";
import { withRequestId } from "../../frame/rules/failure.ts";
import { listed, type PolicySet, without } from "./policy-set.ts";
import type { BindingsActionOf } from "./snapshot.ts";
import type { AccountBindingsState, PolicyRefusal } from "./state.ts";
import type { BindingView } from "./views.ts";

const RETRY_AFTER = HOUR;
const REFUSALS: ReadonlySet<IamErrorCode> = new Set([
  "InvalidArgument",
  "NotFound",
  "FailedPrecondition",
]);

/** Whether the console rejected the list itself; other errors say nothing about the list. */
export function isRefusal(error: unknown): error is IamError {
  return isIamError(error) && REFUSALS.has(error.code);
}

/**
 * Remembers the objects with rejected policies. If several objects have new policies and the list of policies shows no
 * fault, the operator tries the objects one at a time from the next run on.
 */
export function withRefusals(
  state: AccountBindingsState,
  { suspects, before, refusal }: BindingsActionOf<"AttributeRefusal">,
  policies: readonly IamPolicy[] | undefined,
  now: Instant,
): AccountBindingsState {
  const refused = refusedPolicies(suspects, before, policies);
  const refusals = new Map(state.refusals);
  for (const { binding, faults } of refused) {
    const message = describe(without(binding.policyIds, before), faults, refusal);
    refusals.set(binding.uid, toPolicyRefusal(binding, message, now));
  }
  return { ...state, refusals, isolating: refused.length === 0 };
}

interface RefusedPolicies {
  readonly binding: BindingView;
  readonly faults: readonly string[];
}

/** The objects with a fault according to the list of policies, or the only suspect. */
function refusedPolicies(
  suspects: readonly BindingView[],
  before: PolicySet,
  policies: readonly IamPolicy[] | undefined,
): readonly RefusedPolicies[] {
  const named = suspects
    .map((binding) => ({ binding, faults: faultsOf(without(binding.policyIds, before), policies) }))
    .filter(({ faults }) => faults.length > 0);
  return named.length === 0 && suspects.length === 1
    ? suspects.map((binding) => ({ binding, faults: [] }))
    : named;
}

/** The faults of the policies according to the list of policies; none without a list or if the list is empty. */
function faultsOf(
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

function toPolicyRefusal(
  { generation, requestedAt }: BindingView,
  message: string,
  now: Instant,
): PolicyRefusal {
  const problem = { reason: "PolicyRefused", message };
  return { generation, requestedAt, until: now + RETRY_AFTER, problem };
}

function describe(refused: PolicySet, faults: readonly string[], error: IamError): string {
  const why = faults.length === 0 ? "" : ` Policy ${faults.slice(0, 5).join("; ")}.`;
  const refusal = `The console refused to bind ${listed(refused)}: ${error.message}`;
  return `${withRequestId(refusal, error)}.${why} Remove ${listed(refused)} from spec.policyIds, or correct ${refused.length === 1 ? "it" : "them"}: it is tried again after a change, or within an hour.`;
}
