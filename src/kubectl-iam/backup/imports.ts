/**
 * A restored ServiceAccount imports its account, which a grant of its ClusterConnection must allow for as long as the
 * object exists. Pure.
 */
import type { ClusterConnectionSpec, Grant } from "../../api/connection.ts";
import { matchesGrant } from "../../connections/matches-grant.ts";

export interface NamespaceLabels {
  readonly name: string;
  /** `undefined` if they cannot be read. */
  readonly labels: Readonly<Record<string, string>> | undefined;
}

export const IMPORT_GRANT = "restored-accounts";

type Grants = ClusterConnectionSpec["grants"];

/** Of these namespaces, those that can use the connection and must not import accounts. */
export function lackImports(
  grants: Grants = [],
  namespaces: readonly NamespaceLabels[],
): readonly string[] {
  return namespaces
    .filter(({ name, labels }) => {
      const matching = grants.filter((grant) => matchesGrant(grant, name, labels));
      return matching.length > 0 && !matching.some((grant) => grant.importServiceAccounts);
    })
    .map(({ name }) => name);
}

/** A grant of its own lets these namespaces import accounts and nothing more: grants add up, and so do its limits. */
export function withImports(grants: Grants = [], namespaces: readonly string[]): Grants {
  const before = grants.find(({ name }) => name === IMPORT_GRANT);
  const names = [...(before?.namespaces.names ?? []), ...namespaces].toSorted();
  const grant = {
    name: IMPORT_GRANT,
    namespaces: { names },
    importServiceAccounts: true,
    maxServiceAccounts: 0,
    maxIssuesPerDay: 0,
    maxExpiresInDays: 1,
  } as Grant;
  return [...grants.filter((each) => each !== before), grant];
}
