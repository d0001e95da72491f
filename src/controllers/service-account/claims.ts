import type { ServiceAccount } from "../../api/service-account.ts";

/** Console and organization of an object's connection; saIds are unique within. */
export interface Realm {
  readonly origin: string;
  readonly orgId: string;
}

export interface Claim {
  readonly object: ServiceAccount;
  /** Absent where its connection is not known: it claims nothing then. */
  readonly realm: Realm | undefined;
  /** Whether it may adopt accounts by saId; a claim without the right to it must not block others. */
  readonly mayImport: boolean;
}

/** The index `saId`: with the organization where the object names it, and without. */
export function saIdIndex({ spec, status }: ServiceAccount): readonly string[] {
  const saId = status?.saId ?? spec?.saId;
  if (saId === undefined) return [];
  const orgId = status?.orgId ?? spec.orgId;
  return orgId === undefined ? [saId] : [saId, `${orgId}/${saId}`];
}

/**
 * The object that an account belongs to: of all that claim it, the oldest. An object claims the account that
 * its status names, and one that it wants to import and may.
 */
export function claimWinner(
  saId: string,
  realm: Realm,
  claims: readonly Claim[],
): ServiceAccount | undefined {
  return claims
    .filter(
      ({ object, realm: theirs, mayImport }) =>
        theirs?.origin === realm.origin &&
        theirs.orgId === realm.orgId &&
        (object.status?.saId === saId || (object.spec.saId === saId && mayImport)),
    )
    .map(({ object }) => object)
    .sort(byAge)[0];
}

function byAge(a: ServiceAccount, b: ServiceAccount): number {
  const [olderA, olderB] = [ageOf(a), ageOf(b)];
  if (olderA !== olderB) return olderA < olderB ? -1 : 1;
  return a.metadata.uid < b.metadata.uid ? -1 : 1;
}

/** RFC 3339 in UTC with whole seconds: the texts sort as the times do. */
function ageOf({ metadata }: ServiceAccount): string {
  return metadata.creationTimestamp ?? "";
}
