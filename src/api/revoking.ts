/** The readiness of a ServiceAccount whose access is being revoked. */

const REVOKING: ReadonlySet<string> = new Set([
  "RevokingAccess",
  "ChangeNotApplied",
  "SyncUnconfirmed",
]);

/** Whether a ServiceAccount with this reason is not ready only because no read has shown yet that no policy is bound. */
export function isRevoking(reason: string): boolean {
  return REVOKING.has(reason);
}
