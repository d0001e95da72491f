/** Which object's policies are invalid if the console rejects a list of several objects' policies. Pure. */
import { consoleId } from "../../../api/fields.ts";
import { type IamError, type IamErrorCode, isIamError } from "../../../console/errors.ts";
import type { IamPolicy } from "../../../console/model.ts";
import { withRequestId } from "../../../reconciler/rules/failure.ts";
import { nearText } from "../../../util/near-text.ts";
import { asSubmitted, otherSpellings } from "../../../util/spelling.ts";
import { HOUR, type Instant } from "../../../util/time.ts";
import { listed, type PolicySet, union, without } from "./policy-set.ts";
import { type AccountBindingsState, type PolicyRefusal, standingRefusal } from "./state.ts";
import type { BindingView } from "./views.ts";

const RETRY_AFTER = HOUR;
const SHOWN_FAULTS = 5;
const REFUSALS: ReadonlySet<IamErrorCode> = new Set([
  "InvalidArgument",
  "NotFound",
  "FailedPrecondition",
]);

/** A rejected list, and the objects whose policies it would have bound for the first time. */
export interface Refusal {
  readonly refusal: IamError;
  readonly suspects: readonly BindingView[];
  readonly before: PolicySet;
}

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
  { suspects, before, refusal }: Refusal,
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

/**
 * The policies with a fault according to the list of policies; else those that it has in another spelling; else all new
 * ones of the only suspect.
 */
function refusedPolicies(
  suspects: readonly BindingView[],
  before: PolicySet,
  policies: readonly IamPolicy[] | undefined,
): readonly RefusedPolicies[] {
  const named = faultyPolicies(suspects, before, policies);
  if (named.length > 0) return named;
  const added = suspects.map((binding) => addedBy(binding, before));
  const misspelled = added
    .map(({ binding, policyIds }) => ({ binding, ...misspelledAmong(policyIds, policies) }))
    .filter(({ policyIds }) => policyIds.length > 0);
  if (misspelled.length > 0) return misspelled;
  return added.length === 1 ? added.map((suspect) => ({ ...suspect, faults: [] })) : [];
}

/** The new policies that the list has only in another spelling: not a fault if the console accepts both spellings. */
export function addedInOtherSpelling(
  { suspects, before }: Pick<Refusal, "suspects" | "before">,
  policies: readonly IamPolicy[] | undefined,
): readonly string[] {
  return suspects.flatMap(
    (binding) => misspelledAmong(addedBy(binding, before).policyIds, policies).faults,
  );
}

function misspelledAmong(
  policyIds: PolicySet,
  policies: readonly IamPolicy[] = [],
): Omit<RefusedPolicies, "binding"> {
  const listed = policies.map(({ policyId }) => policyId);
  const misspelled = [...otherSpellings(listed, policyIds)];
  const faults = misspelled
    .slice(0, SHOWN_FAULTS)
    .map(
      ([other, id]) =>
        `${id} is not among the organization's policies in this spelling (did you mean ${other}?)`,
    );
  return { policyIds: misspelled.map(([, id]) => id), faults };
}

/** The new policies with a fault according to the list of policies, by object. */
export function faultyPolicies(
  suspects: readonly BindingView[],
  before: PolicySet,
  policies: readonly IamPolicy[] | undefined,
): readonly RefusedPolicies[] {
  return suspects
    .map((binding) => addedBy(binding, before))
    .map(({ binding, policyIds }) => ({ binding, ...faultsOf(policyIds, policies) }))
    .filter(({ faults }) => faults.length > 0);
}

function addedBy(binding: BindingView, before: PolicySet) {
  return { binding, policyIds: without(binding.policyIds, before) };
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
  const faulty = policyIds.filter((id) => !kinds.has(id) || isScp(kinds.get(id)));
  const faults = faulty
    .slice(0, SHOWN_FAULTS)
    .map((id) =>
      kinds.has(id)
        ? `${id} is of kind scp, which cannot be bound to a service account`
        : `${id} is not among the organization's policies${hintFor(id, policies)}`,
    );
  return { policyIds: faulty, faults };
}

function isScp(kind: string | undefined): boolean {
  return kind?.toLowerCase() === "scp";
}

/** The policy with that name or a similar ID, if exactly one policy of the list can be bound and has it. */
function hintFor(id: string, policies: readonly IamPolicy[]): string {
  const bindable = policies.filter(
    ({ policyId, kind }) => !isScp(kind) && consoleId.safeParse(policyId).success,
  );
  const named = bindable.filter(({ name }) => name === id);
  const ids = (named.length > 0 ? named : bindable).map(({ policyId }) => policyId);
  const meant = named.length === 1 ? ids[0] : nearText(id, ids);
  return meant === undefined ? "" : ` (did you mean ${meant}?)`;
}

function toPolicyRefusal(
  { generation, requestedAt }: BindingView,
  policyIds: PolicySet,
  message: string,
  now: Instant,
): PolicyRefusal {
  const advice = `Remove ${listed(policyIds)} from spec.policyIds, or correct ${policyIds.length === 1 ? "it" : "them"}: it is tried again after a change of this object, on request, or after an hour.`;
  const problem = { reason: "PolicyRefused", message, advice };
  return { generation, requestedAt, until: now + RETRY_AFTER, policyIds, problem };
}

function describe(refused: PolicySet, faults: readonly string[], error: IamError): string {
  const why = faults.length === 0 ? "" : ` Policy ${faults.join("; ")}.`;
  const refusal = `The console refused to bind ${listed(refused)}: ${error.message}`;
  return `${withRequestId(refusal, error)}.${why}`;
}
