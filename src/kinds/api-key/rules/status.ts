/** The stored status of an ApiKey, decoded: the facts about its keys. */
import { apiKeyKind } from "../../../api/api-key.ts";
import { createStatusCodec } from "../../../api/status-codec.ts";

/** The part of the status that decisions use. Each report derives the rest. */
export const keyStatusCodec = createStatusCodec(
  apiKeyKind.status.pick({
    lastHandledRotateAt: true,
    earlierRotateRequests: true,
    rotationPending: true,
    current: true,
    attempt: true,
    lastAttemptId: true,
    unreadableResponse: true,
    superseded: true,
    orphaned: true,
    recentIssues: true,
    lastRecoveryTime: true,
  }),
  {
    earlierRotateRequests: [],
    rotationPending: false,
    superseded: [],
    orphaned: [],
    recentIssues: [],
  },
);

export type KeyStatus = ReturnType<typeof keyStatusCodec.decode>;
export type CurrentKey = NonNullable<KeyStatus["current"]>;
export type IssueAttempt = NonNullable<KeyStatus["attempt"]>;
export type SupersededKey = KeyStatus["superseded"][number];
export type OrphanedKey = KeyStatus["orphaned"][number];

/** The key lists of a status, decoded or not. */
interface KeyLists {
  readonly current?: { readonly keyId: string } | undefined;
  readonly superseded?: readonly { readonly keyId: string }[] | undefined;
  readonly orphaned?: readonly { readonly keyId?: string | undefined }[] | undefined;
}

/** IDs of the keys that the status lists. */
export function listedKeyIds({
  current,
  superseded = [],
  orphaned = [],
}: KeyLists = {}): readonly string[] {
  return [current, ...superseded, ...orphaned]
    .map((key) => key?.keyId)
    .filter((keyId) => keyId !== undefined);
}
