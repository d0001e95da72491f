/** Everything a decision about an ApiKey is made from, as plain data. */
import type { ApiKey, ApiKeySpec, ApiKeyStatus } from "../../api/api-key.ts";
import type { IamError } from "../../iam/errors.ts";
import { type Instant, parseInstant, toIso8601 } from "../../util/time.ts";
import type { Consumers, ConsumersMode } from "../consumers-board.ts";
import type { IssuedPair } from "./pair.ts";
import type { AccountValues, SecretOwner, SecretView } from "./secret.ts";

export interface Observed {
  /** The object as last read or written; the base of the next write. */
  readonly object: ApiKey;
  readonly self: Self;
  readonly spec: ApiKeySpec;
  readonly state: State;
  readonly account: AccountView;
  readonly target: SecretView;
  readonly staging: SecretView;
  readonly held: HeldPair | undefined;
  readonly recovery: Recovery | undefined;
  readonly rejection: Rejection | undefined;
  /** When the key in use was last tried against the console by this process. */
  readonly triedAt: Instant | undefined;
  /** Keys that this process has seen listed before the API server was restored from an older backup. */
  readonly forgotten: readonly OrphanedKey[];
  /** Another ApiKey of the account whose attempt is open and unexplained. */
  readonly unsettledPeer: string | undefined;
  /** Key ids that other ApiKeys of the account answer for; empty without an attempt, which alone needs them. */
  readonly peerKeyIds: ReadonlySet<string>;
  /** Of these, the ones that are in use: accepted by the console, and not expired. */
  readonly peerKeysInUse: readonly string[];
  /** What is known about the Pods that use the Secret. */
  readonly consumers: { readonly mode: ConsumersMode; readonly known: Consumers | undefined };
  /** Whether it is this object's turn to issue for the account. */
  readonly hasTurn: boolean;

  /** Found in this pass: what the account's key list said just before an issue. */
  readonly precheck?: { readonly knownKeyIds: readonly string[] | undefined };
  /** Found in this pass: the second reading of the account's keys in a recovery. */
  readonly secondRead?: { readonly keyIds: readonly string[] | undefined };
  /** Found in this pass: keys that the console would not end. */
  readonly unended?: ReadonlyMap<string, IamError>;
  /** The attempt that this pass has just written down and may now carry out. */
  readonly armed?: string;
  /** The key that this pass has seen the console accept. */
  readonly provenKeyId?: string;
  /** Whether this pass has put the key into a Secret that was somebody else's before. */
  readonly hasAdopted?: boolean;
  /** The key that this pass could not try, or has seen refused. */
  readonly unprovenKeyId?: string;
}

export interface Self extends SecretOwner {
  readonly deletingSince: Instant | undefined;
  readonly hasFinalizer: boolean;
  /** The value of the rotate-requested-at annotation. */
  readonly rotateToken: string | undefined;
}

/** The status, parsed. */
export interface State {
  readonly current: CurrentKey | undefined;
  readonly attempt: Attempt | undefined;
  readonly superseded: readonly SupersededKey[];
  readonly orphaned: readonly OrphanedKey[];
  readonly issuances: { readonly windowStartTime: Instant; readonly count: number } | undefined;
  readonly handledRotateToken: string | undefined;
  /** Whether a requested rotation was interrupted and is still to be done. */
  readonly rotationPending: boolean;
}

export interface CurrentKey {
  readonly keyId: string;
  readonly issueTime: Instant;
  readonly expirationTime: Instant;
  readonly verificationTime: Instant | undefined;
  readonly revision: number;
}

export interface Attempt {
  readonly id: string;
  readonly revision: number;
  readonly reason: string;
  readonly startTime: Instant;
  /** As asked for; absent in attempts of earlier versions. */
  readonly expiresInDays: number | undefined;
  readonly knownKeyIds: readonly string[] | undefined;
}

export interface SupersededKey {
  readonly keyId: string;
  readonly issueTime: Instant;
  readonly expirationTime: Instant;
  readonly supersededTime: Instant;
  readonly state: "Live" | "Disabled" | "Deleted" | "Expired";
}

export interface OrphanedKey {
  readonly keyId: string | undefined;
  readonly attemptId: string;
  readonly observedTime: Instant;
  readonly expirationTime: Instant;
}

/** A new pair that is not written anywhere yet. */
export interface HeldPair {
  readonly attemptId: string;
  readonly pair: IssuedPair;
}

/** What recovery has found so far about an attempt that was left open. Times are of the monotonic clock. */
export interface Recovery {
  readonly attemptId: string;
  readonly since: number;
  readonly firstRead?: { readonly at: number; readonly keyIds: readonly string[] | undefined };
}

/** Since when a pair has been refused by the console; `since` is of the monotonic clock. */
export interface Rejection {
  readonly keyId: string;
  readonly since: number;
}

/** A service account that keys can be issued for right now. */
export interface Account {
  readonly kind: "Ready";
  readonly saId: string;
  readonly values: AccountValues;
  /** As last listed by the console; `undefined` where it does not list keys. */
  readonly liveKeyIds: readonly string[] | undefined;
  /** When that list was made; a younger key cannot be in it. */
  readonly lastKeyListTime: Instant | undefined;
  /** How long a call to the console may take. */
  readonly callTimeoutMs: number;
  readonly maxExpiresInDays: number;
  readonly canDisableKeys: boolean;
  readonly canDeleteKeys: boolean;
}

export type AccountView =
  | Account
  | { readonly kind: "Waiting"; readonly reason: string; readonly message: string };

export function toState(status: ApiKeyStatus | undefined): State {
  const { current, attempt, superseded = [], orphaned = [], issuances } = status ?? {};
  return {
    current: current && {
      ...current,
      issueTime: instant(current.issueTime),
      expirationTime: instant(current.expirationTime),
      verificationTime: parseInstant(current.verificationTime),
    },
    attempt: attempt && {
      ...attempt,
      startTime: instant(attempt.startTime),
      expiresInDays: attempt.expiresInDays,
      knownKeyIds: attempt.knownKeyIds,
    },
    superseded: superseded.map((key) => ({
      ...key,
      issueTime: instant(key.issueTime),
      expirationTime: instant(key.expirationTime),
      supersededTime: instant(key.supersededTime),
    })),
    orphaned: orphaned.map((key) => ({
      ...key,
      keyId: key.keyId,
      observedTime: instant(key.observedTime),
      expirationTime: instant(key.expirationTime),
    })),
    issuances: issuances && {
      windowStartTime: instant(issuances.windowStartTime),
      count: issuances.count,
    },
    handledRotateToken: status?.lastHandledRotateAt,
    rotationPending: status?.rotationPending ?? false,
  };
}

/** The fields of the status that {@link State} stands for. */
export function fromState(state: State): ApiKeyStatus {
  const { current, attempt, superseded, orphaned, issuances, handledRotateToken } = state;
  return {
    ...(handledRotateToken === undefined ? {} : { lastHandledRotateAt: handledRotateToken }),
    ...(state.rotationPending ? { rotationPending: true } : {}),
    ...(current === undefined
      ? {}
      : {
          current: {
            keyId: current.keyId,
            issueTime: toIso8601(current.issueTime),
            expirationTime: toIso8601(current.expirationTime),
            ...(current.verificationTime === undefined
              ? {}
              : { verificationTime: toIso8601(current.verificationTime) }),
            revision: current.revision,
          },
        }),
    ...(attempt === undefined
      ? {}
      : {
          attempt: {
            id: attempt.id,
            revision: attempt.revision,
            reason: attempt.reason,
            startTime: toIso8601(attempt.startTime),
            ...(attempt.expiresInDays === undefined
              ? {}
              : { expiresInDays: attempt.expiresInDays }),
            ...(attempt.knownKeyIds === undefined ? {} : { knownKeyIds: [...attempt.knownKeyIds] }),
          },
        }),
    ...(superseded.length === 0
      ? {}
      : {
          superseded: superseded.map((key) => ({
            keyId: key.keyId,
            issueTime: toIso8601(key.issueTime),
            expirationTime: toIso8601(key.expirationTime),
            supersededTime: toIso8601(key.supersededTime),
            state: key.state,
          })),
        }),
    ...(orphaned.length === 0
      ? {}
      : {
          orphaned: orphaned.map((key) => ({
            ...(key.keyId === undefined ? {} : { keyId: key.keyId }),
            attemptId: key.attemptId,
            observedTime: toIso8601(key.observedTime),
            expirationTime: toIso8601(key.expirationTime),
          })),
        }),
    ...(issuances === undefined
      ? {}
      : {
          issuances: {
            windowStartTime: toIso8601(issuances.windowStartTime),
            count: issuances.count,
          },
        }),
  };
}

/** The API server has checked the format; a text that is no time all the same counts as long ago. */
function instant(text: string): Instant {
  return parseInstant(text) ?? 0;
}
