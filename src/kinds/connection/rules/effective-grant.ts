import {
  type ClusterConnectionSpec,
  type Grant,
  gracePeriodMs,
  type Rights,
} from "../../../api/connection.ts";
import { matchesGrant } from "../../../connections/matches-grant.ts";

export type Grants = Pick<ClusterConnectionSpec, "grants" | "withdrawalGracePeriod">;
type Labels = Readonly<Record<string, string>>;

/**
 * The permissions of a namespace on its own Connection: no grant limits them, because the login belongs to the
 * namespace.
 */
export const ALL_RIGHTS: Rights = {
  policyIds: ["*"],
  withdrawsPolicies: false,
  retainPolicies: true,
  importServiceAccounts: true,
  maxExpiresInDays: 3_650,
  projectIds: ["*"],
  quotaExports: "Any",
};

/** The permissions of a namespace that no grant matches any more. */
export const NO_RIGHTS: Rights = {
  policyIds: [],
  withdrawsPolicies: true,
  retainPolicies: false,
  importServiceAccounts: false,
  maxExpiresInDays: 0,
  projectIds: [],
  quotaExports: [],
};

/**
 * The union of the grants that match a namespace; `undefined` if none matches. `labels` is undefined for an unknown
 * namespace: then no selector matches.
 */
export function effectiveGrant(
  { grants, withdrawalGracePeriod }: Grants,
  namespace: string,
  labels: Labels | undefined,
): Rights | undefined {
  const matching = grants.filter((grant) => matchesGrant(grant, namespace, labels));
  if (matching.length === 0) return undefined;
  return {
    policyIds: unionOf(matching.map((grant) => grant.policyIds)),
    withdrawsPolicies:
      gracePeriodMs(withdrawalGracePeriod) !== undefined && isJudged(grants, labels),
    retainPolicies: matching.some((grant) => grant.retainPolicies),
    importServiceAccounts: matching.some((grant) => grant.importServiceAccounts),
    maxExpiresInDays: Math.max(...matching.map((grant) => grant.maxExpiresInDays)),
    projectIds: unionOf(matching.map((grant) => grant.projectIds)),
    maxServiceAccounts: mostOf(matching.map((grant) => grant.maxServiceAccounts)),
    maxIssuesPerDay: mostOf(matching.map((grant) => grant.maxIssuesPerDay)),
    quotaExports: [...new Set(matching.flatMap((grant) => grant.quotaExports))],
  };
}

function unionOf(lists: readonly (readonly string[])[]): string[] {
  const union = new Set(lists.flat());
  return union.has("*") ? ["*"] : [...union];
}

/** Grants add up: if one grant has no limit, the union has none. */
function mostOf(limits: readonly (number | undefined)[]): number | undefined {
  return limits.includes(undefined) ? undefined : Math.max(...limits.map((limit = 0) => limit));
}

/** Whether it is known which grants match: nothing is removed because the labels of a namespace are unknown (S11). */
export function isJudged(grants: readonly Grant[], labels: Labels | undefined): boolean {
  return (
    labels !== undefined || grants.every(({ namespaces }) => namespaces.selector === undefined)
  );
}
