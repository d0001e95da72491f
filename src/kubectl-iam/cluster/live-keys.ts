/** The valid keys of an account, and where each key is stored. Pure. */
import type { ApiKey } from "../../api/api-key.ts";
import type { ServiceAccount } from "../../api/service-account.ts";

interface LiveKey {
  readonly keyId: string;
  readonly where: string;
  /**
   * Whether an ApiKey's status lists the key as current or superseded, so that deleting the ApiKey can revoke it. False
   * for pending, orphaned and unmanaged keys.
   */
  readonly isManaged: boolean;
}

/** Leaves out expired and disabled keys. A key without an ID is named by its attempt. */
export function liveKeysOf(
  { status }: ServiceAccount,
  apiKeys: readonly ApiKey[],
): readonly LiveKey[] {
  const known = apiKeys.flatMap(keysOf);
  const seen = new Set(known.map(({ keyId }) => keyId));
  const unmanaged = (status?.liveKeyIds ?? [])
    .filter((keyId) => !seen.has(keyId))
    .map((keyId) => ({ keyId, where: "unmanaged: in no ApiKey's status", isManaged: false }));
  return [...known, ...unmanaged];
}

const MOST_LINES = 10;

/** One line for each key; the last line counts the keys that are left out. */
export function keyLines(keys: readonly LiveKey[]): readonly string[] {
  const lines = keys.slice(0, MOST_LINES).map(({ keyId, where }) => `${keyId} (${where})`);
  const more = keys.length - lines.length;
  return more === 0 ? lines : [...lines, `and ${more} more`];
}

function keysOf({ metadata, status }: ApiKey): readonly LiveKey[] {
  const name = `iamkey/${metadata.name}`;
  const { current, pending, secretName, superseded = [], orphaned = [] } = status ?? {};
  return [
    ...(current === undefined
      ? []
      : [
          {
            keyId: current.keyId,
            where: `${name}, in secret/${secretName ?? metadata.name}`,
            isManaged: true,
          },
        ]),
    ...(pending === undefined
      ? []
      : [{ keyId: pending.keyId, where: `${name}, not delivered yet`, isManaged: false }]),
    ...superseded
      .filter(({ state }) => state === "Live" || state === "Unknown")
      .map(({ keyId, state }) => ({
        keyId,
        where: `${name}, superseded${state === "Live" ? "" : "; whether it still works is unknown"}`,
        isManaged: true,
      })),
    ...orphaned.map(({ keyId, attemptId }) => ({
      keyId: keyId ?? `attempt ${attemptId}`,
      where: `${name}, orphaned`,
      isManaged: false,
    })),
  ];
}
