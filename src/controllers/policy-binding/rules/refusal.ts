/** Which object's policies are invalid if the console rejects a list of several objects' policies. Pure. */
import { type IamError, type IamErrorCode, isIamError } from "../../../iam/errors.ts";
import type { IamPolicy } from "../../../iam/model.ts";
import { asSubmitted } from "../../../util/spelling.ts";
import { HOUR, type Instant } from "../../../util/time.ts";
import { withRequestId } from "../../frame/rules/failure.ts";
import { listed, type PolicySet, union, without } from "./policy-set.ts";
import type { BindingsActionOf } from "./snapshot.ts";
import { type AccountBindingsState, type PolicyRefusal, standingRefusal } from "./state.ts";
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
  for (const { binding, policyIds, faults } of refused) {
    const earlier = standingRefusal(state, binding, now);
    const all = union(earlier?.policyIds ?? [], policyIds);
    const message = [earlier?.problem.message, describe(policyIds, faults, refusal)]
      .filter((text) => text !== undefined)
      .join(" ");
    refusals.set(binding.uid, toPolicyRefusal(binding, all, message, now));
  }
  return { ...state, refusals, isolating: refused.length === 0 };
}

interface RefusedPolicies {
  readonly binding: BindingView;
  readonly policyIds: PolicySet;
  readonly faults: readonly string[];
}

/** The policies with a fault according to the list of policies, or all new ones of the only suspect. */
function refusedPolicies(
  suspects: readonly BindingView[],
  before: PolicySet,
  policies: readonly IamPolicy[] | undefined,
): readonly RefusedPolicies[] {
  const added = suspects.map((binding) => ({
    binding,
    policyIds: without(binding.policyIds, before),
  }));
  const named = added
    .map(({ binding, policyIds }) => ({ binding, ...faultsOf(policyIds, policies) }))
    .filter(({ faults }) => faults.length > 0);
  return named.length === 0 && added.length === 1
    ? added.map((suspect) => ({ ...suspect, faults: [] }))
    : named;
}

/** The faults of the policies according to the list of policies; none without a list or if the list is empty. */
function faultsOf(
  policyIds: PolicySet,
  policies: readonly IamPolicy[] | undefined,
): Pick<RefusedPolicies, "policyIds" | "faults"> {
  if (policies === undefined || policies.length === 0) return { policyIds: [], faults: [] };
  const listed = asSubmitted(
    policies.map(({ policyId }) => policyId),
    policyIds,
  );
  const kinds = new Map(policies.map(({ kind }, index) => [listed[index], kind]));
  const faulty = policyIds.flatMap((id) => {
    const fault = faultOf(id, kinds);
    return fault === undefined ? [] : [{ id, fault }];
  });
  return { policyIds: faulty.map(({ id }) => id), faults: faulty.map(({ fault }) => fault) };
}

function faultOf(
  id: string,
  kinds: ReadonlyMap<string | undefined, string | undefined>,
): string | undefined {
  if (!kinds.has(id)) return `${id} is not among the organization's policies`;
  return kinds.get(id)?.toLowerCase() === "scp"
    ? `${id} is of kind scp, which cannot be bound to a service account`
    : undefined;
}

function toPolicyRefusal(
  { generation, requestedAt }: BindingView,
  policyIds: PolicySet,
  message: string,
  now: Instant,
): PolicyRefusal {
  const advice = `Remove ${listed(policyIds)} from spec.policyIds, or correct ${policyIds.length === 1 ? "it" : "them"}: it is tried again after a change, or within an hour.`;
  const problem = { reason: "PolicyRefused", message, advice };
  return { generation, requestedAt, until: now + RETRY_AFTER, policyIds, problem };
}

function describe(refused: PolicySet, faults: readonly string[], error: IamError): string {
  const why = faults.length === 0 ? "" : ` Policy ${faults.slice(0, 5).join("; ")}.`;
  const refusal = `The console refused to bind ${listed(refused)}: ${error.message}`;
  return `${withRequestId(refusal, error)}.${why}`;
}
