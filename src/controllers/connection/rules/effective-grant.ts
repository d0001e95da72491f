import type { Grant } from "../../../api/connection.ts";

type Labels = Readonly<Record<string, string>>;

/** What the namespace of a Connection may do: it is their own login. */
export const ALL_RIGHTS: Grant = {
  namespaces: {},
  policyIds: ["*"],
  onWithdrawal: "Keep",
  importServiceAccounts: true,
  maxExpiresInDays: 3_650,
};

/**
 * The union of the grants that match a namespace by name or by label; `undefined` where none does. `labels`
 * is undefined for a namespace that has not been seen: then only names match.
 */
export function effectiveGrant(
  grants: readonly Grant[],
  namespace: string,
  labels: Labels | undefined,
): Grant | undefined {
  const matching = grants.filter((grant) => matches(grant, namespace, labels));
  if (matching.length === 0) return undefined;
  const policyIds = new Set(matching.flatMap((grant) => grant.policyIds));
  return {
    namespaces: { names: [namespace] },
    policyIds: policyIds.has("*") ? ["*"] : [...policyIds],
    onWithdrawal: keepsWithdrawn(grants, matching, labels) ? "Keep" : "Unbind",
    importServiceAccounts: matching.some((grant) => grant.importServiceAccounts),
    maxExpiresInDays: Math.max(...matching.map((grant) => grant.maxExpiresInDays)),
  };
}

/** Also where a grant may match that cannot be judged: nothing is taken away because an answer is missing (S11). */
function keepsWithdrawn(
  grants: readonly Grant[],
  matching: readonly Grant[],
  labels: Labels | undefined,
): boolean {
  return (
    matching.some(({ onWithdrawal }) => onWithdrawal === "Keep") ||
    (labels === undefined && grants.some(({ namespaces }) => namespaces.selector !== undefined))
  );
}

function matches({ namespaces }: Grant, name: string, labels: Labels | undefined): boolean {
  const { names = [], selector } = namespaces;
  if (names.includes(name)) return true;
  if (selector === undefined || labels === undefined) return false;
  // As everywhere in Kubernetes, an empty selector selects everything.
  return Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
}
