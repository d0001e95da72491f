/**
 * After the API server is restored from an older backup, it lacks keys that were issued since. A process that kept
 * running remembers these keys from the statuses it saw before. Pure.
 */
import type { ApiKey } from "../../../api/api-key.ts";
import type { Instant } from "../../../util/time.ts";
import { keyStatusCodec, listedKeyIds, type OrphanedKey } from "./status.ts";

/**
 * Keys that `before` lists and the older `now` does not. They count as lost, because their Secret was restored to an
 * older version as well.
 */
export function keysBeforeRestore(
  before: ApiKey,
  now: ApiKey,
  observedTime: Instant,
): readonly OrphanedKey[] {
  const { current, superseded, orphaned } = keyStatusCodec.decode(before.status);
  const alive = superseded.filter(({ state }) => state !== "Deleted" && state !== "Expired");
  const lost = [...(current === undefined ? [] : [current]), ...alive].map(
    ({ keyId, expirationTime, serviceAccount, saId }) => ({
      keyId,
      expirationTime,
      serviceAccount,
      saId,
      attemptId: "unknown",
      observedTime,
      late: undefined,
    }),
  );
  const listed = new Set<string | undefined>(listedKeyIds(now.status));
  return [...lost, ...orphaned].filter(({ keyId }) => keyId !== undefined && !listed.has(keyId));
}
