/** The data of a run over an ApiKey. */

import type { Creator } from "../../../accounts/creator-mismatch.ts";
import type { ApiKey, ApiKeySpec } from "../../../api/api-key.ts";
import type { ConnectionSpec } from "../../../api/connection.ts";
import type { ServiceAccountStatus } from "../../../api/service-account.ts";
import type { IamError } from "../../../console/errors.ts";
import type { PairEvidence } from "../../../console/evidence.ts";
import type { Consumers, ConsumersMode } from "../../../consumers/board.ts";
import type { KubeError } from "../../../kube/errors.ts";
import type { ObjectKey } from "../../../kube/resource.ts";
import type { Effects, Ended } from "../../../reconciler/effects.ts";
import type { KindTypes, ReadContext, RunContext } from "../../../reconciler/run-context.ts";
import type { Instant } from "../../../util/time.ts";
import type { NamespaceUsage } from "../namespace-issues.ts";
import type { SecretOwner } from "../secret/owner.ts";
import type { IssuedPair, KeyAccount } from "../secret/pair.ts";
import type { AccountValues } from "../secret/render.ts";
import type { SecretView } from "../secret/view.ts";
import type { KeyStatus, OrphanedKey } from "./status.ts";
import type { KeyList, UnusableAccount } from "./unusable-account.ts";

export interface ApiKeyKind extends KindTypes {
  readonly Object: ApiKey;
  readonly Spec: ApiKeySpec;
  readonly Snapshot: ApiKeySnapshot;
  readonly State: ApiKeyMemory;
}

/** A run over an ApiKey, or a part of it. */
export type ApiKeyEffects<Result> = Effects<ApiKeyKind, Result>;
export type ApiKeyEnded = Ended<ApiKeyKind>;
export type ApiKeyReading = ReadContext<ApiKeyKind>;
export type ApiKeyRun = RunContext<ApiKeyKind>;

/** What a run knows. The fields of {@link LearnedInRun} are absent at its start. */
export interface ApiKeySnapshot extends ApiKeyMemory, LearnedInRun {
  /** The object as last read or written; the base of the next write. */
  readonly object: ApiKey;
  readonly self: ApiKeyIdentity;
  readonly spec: ApiKeySpec;
  readonly status: KeyStatus;
  /** The service account for which keys can be issued now, or what the object waits for. */
  readonly account: ReadyAccount | UnusableAccount;
  /** By saId: other accounts whose keys the object has. */
  readonly otherAccounts?: ReadonlyMap<string, ReadyAccount | UnusableAccount>;
  /** Why consumers would lose permissions by a key of `account`; absent unless the key in use belongs to another account. */
  readonly missingPermissions?: string | undefined;
  readonly target: SecretView;
  readonly pending: SecretView;
  /** Another ApiKey's claim on one of these Secrets that outranks this object's claim. */
  readonly otherClaim: SecretClaim | undefined;
  readonly held: HeldPair | undefined;
  /** Labels and annotations removed from `spec`, because the connection does not allow them. */
  readonly reservedMetadata?: readonly string[];
  /** Keys of this ApiKey's attempts that its account reports as unmanaged and its status does not list. */
  readonly lateKeys: readonly LateKey[];
  /** What the run of the account has found out about the open attempt. */
  readonly explanation: Explanation | undefined;
  /** What is known about the Pods that use the Secret. */
  readonly consumers: { readonly mode: ConsumersMode; readonly known: Consumers | undefined };
  /** Whether the operator only plans for the object. */
  readonly isPlanned: boolean;
  /** Whether the operator notices a change of a Secret at once. */
  readonly secretsAreWatched: boolean;
}

/** Facts that this process remembers about one ApiKey. Losing them costs calls, never a key. */
export interface AttemptsWithoutKey {
  readonly count: number;
  /** When the last attempt was closed (monotonic clock, milliseconds). */
  readonly closedAt: number;
}

export interface ApiKeyMemory {
  readonly recovery: KeyRecovery | undefined;
  readonly rejection: KeyRejection | undefined;
  /** The rejection of a new pair that is not delivered yet. */
  readonly pendingRejection: KeyRejection | undefined;
  /** When this process last checked the key in use and got a response: the time before the call. */
  readonly lastCheckTime: Instant | undefined;
  /**
   * From when the interval to the next regular check counts: the last check of the key in use, or the first run of this
   * process (monotonic clock, milliseconds). Absent until a regular check is needed.
   */
  readonly regularCheckFrom: number | undefined;
  /** Attempts in a row that issued no key, although the console did not reject them. */
  readonly attemptsWithoutKey: AttemptsWithoutKey | undefined;
  /** The last response that cannot be read: the status may not have it yet. */
  readonly unreadableResponse: KeyStatus["unreadableResponse"];
  /** The last write of the target Secret that the API server answered with other content. */
  readonly notKept: NotKept | undefined;
  /** The last rehearsal of the next key. Absent until a run has reported. */
  readonly rehearsal: Rehearsal | undefined;
  /** Keys that this process saw listed before the API server was restored from an older backup. */
  readonly keysBeforeRestore: readonly OrphanedKey[];
}

export const nothingRemembered: ApiKeyMemory = {
  recovery: undefined,
  rejection: undefined,
  pendingRejection: undefined,
  lastCheckTime: undefined,
  regularCheckFrom: undefined,
  attemptsWithoutKey: undefined,
  unreadableResponse: undefined,
  notKept: undefined,
  rehearsal: undefined,
  keysBeforeRestore: [],
};

/** What the API server stored otherwise than it was sent: repeated only once one of the two has changed. */
export interface NotKept {
  readonly resourceVersion: string;
  /** Identifies what was sent. */
  readonly sent: string;
  /** Which labels, annotations and entries, for a message. */
  readonly what: string;
}

/** The result of a rehearsal of the next key. */
export interface Rehearsal {
  /** From when the interval to the next rehearsal counts (monotonic clock, milliseconds). */
  readonly from: number;
  /** Of the spec that was rehearsed; `undefined` if this process has not rehearsed the object yet. */
  readonly generation: number | undefined;
  /** Why the next key could not be delivered. */
  readonly stop: KeyNeed | undefined;
}

/** A Secret of a dry run that the API server would store without something that a pair needs. */
export interface UnkeptSecret {
  readonly name: string;
  /** Which labels, annotations and entries, for a message. */
  readonly what: string;
}

/** What the dry runs of an issue's writes have shown: nothing, if all of them would do. */
export interface Trial {
  /** A Secret that has the name of the pending Secret. */
  readonly pending?: SecretView | undefined;
  /** Why the API server does not accept a write. */
  readonly refusal?: KubeError | undefined;
  readonly notKept?: UnkeptSecret | undefined;
  /** Why a write would not do, as the object reports it: a plan tries none. */
  readonly reported?: KeyNeed | undefined;
}

export interface ApiKeyIdentity extends SecretOwner {
  readonly deletingSince: Instant | undefined;
  /** The value of the rotate-requested-at annotation. */
  readonly rotateToken: string | undefined;
}

export interface SecretClaim {
  readonly apiKey: string;
  readonly secretName: string;
}

export interface ReadyAccount extends KeyList {
  readonly kind: "Ready";
  /** The console session. */
  readonly session: number;
  /** Identifies the connection, like `connectionKey`. */
  readonly connection: string;
  readonly connectionSpec: ConnectionSpec;
  readonly saId: string;
  /** What the account was created for; absent for an imported account. */
  readonly creator: Creator | undefined;
  readonly values: AccountValues;
  /** Whether that list shows each live key as active. */
  readonly listsKeyStates: boolean;
  /** Timeout of a call to the console, in milliseconds. */
  readonly callTimeoutMs: number;
  readonly maxExpiresInDays: number;
  readonly allowedSecretMetadata: readonly string[];
  /** Keys issued for the namespace. Only if the grant limits them. */
  readonly namespaceIssues?: NamespaceUsage | undefined;
  readonly canDisableKeys: boolean;
  readonly canDeleteKeys: boolean;
}

/** A new pair that is not stored anywhere yet. */
export interface HeldPair {
  readonly attemptId: string;
  readonly pair: IssuedPair;
  /** Name of the ApiKey, whose object may be gone. */
  readonly owner?: ObjectKey;
}

/** A key that appeared in the console after its attempt was closed. */
export interface LateKey extends KeyAccount {
  readonly keyId: string;
  readonly attemptId: string;
}

/** Since when this process knows of an open attempt without a pair (monotonic clock, milliseconds). */
interface KeyRecovery {
  readonly attemptId: string;
  readonly since: number;
}

export type Explanation = NonNullable<ServiceAccountStatus["explainedAttempts"]>[number];

/** How an attempt is closed that has delivered no pair. */
export interface Closing {
  readonly orphans: readonly OrphanedKey[];
  /** Whether it is certain that no key was issued, so that the budget is refunded. */
  readonly refund: boolean;
  /** A pair of the attempt that no consumer gets: its key is listed as superseded. */
  readonly unwanted?: IssuedPair;
  readonly because: string;
}

/** A pair that the console rejects; `since` is the time of the first rejection, from the monotonic clock. */
export interface KeyRejection {
  readonly keyId: string;
  readonly since: number;
}

/** What a run has found out or done that its later decisions or its report need. */
interface LearnedInRun {
  /** What the last dry runs of this run's writes have shown. */
  readonly precheck?: Precheck | undefined;
  /** By `verdictKey`: what the checks of pairs in this run have shown. */
  readonly verdicts?: ReadonlyMap<string, PairEvidence>;
  /** Whether this run has written the target Secret. */
  readonly hasWritten?: true;
  /** Whether the key was written to a Secret of another owner. */
  readonly hasAdopted?: boolean;
  /** The error of a check of the key in use whose answer does not show whether the key works. */
  readonly failedCheck?: IamError;
  /** Why the API server did not take the declared content of the Secret in this run. */
  readonly refusedContent?: KubeError;
  /** By keyId: errors of keys that the console did not revoke. */
  readonly failedRevocations?: ReadonlyMap<string, IamError>;
}

/** What precedes an issue: the account's list of keys just before it, and what stops its writes. */
export interface Precheck {
  readonly knownKeyIds: readonly string[] | undefined;
  /** Why the Secrets could not take a new pair. */
  readonly stop?: KeyNeed | undefined;
}

/** Why a key is needed. */
export interface KeyNeed {
  readonly reason: string;
  readonly message: string;
}
