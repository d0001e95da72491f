/** What a run over an ApiKey works with, as data: facts, what the run has done, and what it may do next. */
import type { ApiKey, ApiKeySpec } from "../../../api/api-key.ts";
import type { IamClient } from "../../../iam/client/client.ts";
import type { IamError } from "../../../iam/errors.ts";
import type { Instant } from "../../../util/time.ts";
import type { Consumers, ConsumersMode } from "../../consumers-board.ts";
import type { KindTypes, Progress } from "../../frame/kind-controller.ts";
import type { Settled, Waiting } from "../../frame/rules/outcome.ts";
import type { SecretOwner } from "../secret/owner.ts";
import type { IssuedPair } from "../secret/pair.ts";
import type { AccountValues, SecretContents } from "../secret/render.ts";
import type { SecretView } from "../secret/view.ts";
import type { KeyStatus, OrphanedKey } from "./status.ts";

export interface ApiKeyKind extends KindTypes {
  readonly Object: ApiKey;
  readonly Spec: ApiKeySpec;
  readonly Snapshot: ApiKeySnapshot;
  readonly Done: ApiKeyDone;
  readonly Action: ApiKeyAction;
  readonly State: ApiKeyMemory;
}

export type ApiKeyProgress = Progress<ApiKeyKind>;

export interface ApiKeySnapshot extends ApiKeyMemory {
  /** The object as last read or written; the base of the next write. */
  readonly object: ApiKey;
  readonly self: ApiKeyIdentity;
  readonly spec: ApiKeySpec;
  readonly status: KeyStatus;
  /** The service account that keys can be issued for right now, or what is waited for. */
  readonly account: ReadyAccount | Waiting;
  readonly target: SecretView;
  readonly staging: SecretView;
  /** Another ApiKey's claim on one of these Secrets that comes before this one's. */
  readonly otherClaim: SecretClaim | undefined;
  readonly held: HeldPair | undefined;
  /** Labels and annotations that are left out of `spec`, since the connection does not allow them. */
  readonly reservedMetadata?: readonly string[];
  /** Keys of this ApiKey's attempts that its account reports as unmanaged, and the status does not list. */
  readonly lateKeys: readonly LateKey[];
  /** Another ApiKey of the account whose attempt is open and unexplained. */
  readonly unsettledPeer: string | undefined;
  /** What is known about the Pods that use the Secret. */
  readonly consumers: { readonly mode: ConsumersMode; readonly known: Consumers | undefined };
  /** Whether a change of a Secret is noticed when it happens. */
  readonly secretsAreWatched: boolean;
}

/** What this process remembers about one ApiKey. Losing it costs calls, never a key. */
export interface VainAttempts {
  readonly count: number;
  /** When the last one was closed (monotonic). */
  readonly closedAt: number;
}

export interface ApiKeyMemory {
  readonly recovery: KeyRecovery | undefined;
  readonly rejection: KeyRejection | undefined;
  /** The same of a new pair that is not delivered yet. */
  readonly pendingRejection: KeyRejection | undefined;
  /** When the console last answered a check of the key in use by this process: the time before the call. */
  readonly lastCheckTime: Instant | undefined;
  /** Attempts in a row that led to no key, although the console did not say so. */
  readonly vainAttempts: VainAttempts | undefined;
  /** Keys that this process has seen listed before the API server was restored from an older backup. */
  readonly keysBeforeRestore: readonly OrphanedKey[];
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

export interface ReadyAccount {
  readonly kind: "Ready";
  readonly client: IamClient;
  /** Names the connection, as `connectionKey` does. */
  readonly connection: string;
  readonly saId: string;
  readonly values: AccountValues;
  /** As last listed by the console; `undefined` where it does not list keys. */
  readonly liveKeyIds: readonly string[] | undefined;
  /** When that list was made; a younger key cannot be in it. */
  readonly lastKeyListTime: Instant | undefined;
  /** How long a call to the console may take. */
  readonly callTimeoutMs: number;
  readonly maxExpiresInDays: number;
  readonly allowedSecretMetadata: readonly string[];
  /** Keys that the namespace was issued in the last 24 hours, where its grant limits them. */
  readonly namespaceIssues?: { readonly most: number; readonly count: number } | undefined;
  readonly canDisableKeys: boolean;
  readonly canDeleteKeys: boolean;
}

/** A new pair that is not written anywhere yet. */
export interface HeldPair {
  readonly attemptId: string;
  readonly pair: IssuedPair;
}

/** A key that appeared in the console after its attempt was closed. */
export interface LateKey {
  readonly keyId: string;
  readonly attemptId: string;
}

/** What has been found so far about an attempt that was left open. Times are of the monotonic clock. */
export interface KeyRecovery {
  readonly attemptId: string;
  readonly since: number;
  readonly firstRead?: { readonly at: number; readonly keyIds: readonly string[] | undefined };
}

/** The account's keys once more, and what its other ApiKeys answered for then. */
export interface SecondRead {
  readonly keyIds: readonly string[] | undefined;
  readonly peers: PeerKeys;
}

export interface PeerKeys {
  /** Whether no attempt of another ApiKey could have a key that is not among these. */
  readonly isConclusive: boolean;
  readonly known: readonly string[];
  /** How many of these are lost keys of attempts that they are not listed for. */
  readonly surplus: number;
  /** Keys that the console has accepted, and that have not expired. */
  readonly inUse: readonly string[];
}

/** Since when a pair has been refused by the console; `since` is of the monotonic clock. */
export interface KeyRejection {
  readonly keyId: string;
  readonly since: number;
}

/** What this run has done, and found out by doing. */
export interface ApiKeyDone {
  /** Whether the object is enqueued when the account's attempts may be explained. */
  readonly isQueued?: boolean;
  /** What the account's key list said just before an issue. */
  readonly precheck?: { readonly knownKeyIds: readonly string[] | undefined };
  /** The attempt that this run has just recorded and may now carry out. */
  readonly intentRecorded?: string | undefined;
  /** Whether the process knows that the staged pair is safe. */
  readonly hasNotedStaged?: boolean;
  /** Whether another run may list the late keys first. */
  readonly defersLateKeys?: boolean;
  /** The second reading of the account's keys in a recovery. */
  readonly secondRead?: SecondRead | undefined;
  /** Whether the console has accepted a key, for each that was checked. */
  readonly verdicts?: ReadonlyMap<string, boolean>;
  /** Whether the key went into a Secret that was somebody else's before. */
  readonly hasAdopted?: boolean;
  /** Keys that the console would not end. */
  readonly failedRevocations?: ReadonlyMap<string, IamError>;
}

/** Why a key is needed. */
export interface KeyNeed {
  readonly reason: string;
  readonly message: string;
}

type WithPair<Kind extends string> = { readonly kind: Kind; readonly pair: IssuedPair };
type WithKeyId<Kind extends string> = { readonly kind: Kind; readonly keyId: string };

export type ApiKeyAction =
  /** Reads the target Secret, of which only the metadata is known. */
  | { readonly kind: "ReadTarget" }
  /** The only copy of a new pair goes into the staging Secret. */
  | (WithPair<"StagePair"> & { readonly attemptId: string })
  /** The staged pair need not be held any longer, also where the answer to its write was lost. */
  | { readonly kind: "NoteStaged" }
  /** The recovery of an attempt that was left open is under way from now on. */
  | { readonly kind: "StartRecovery"; readonly attemptId: string }
  /** Reads the account's keys to learn what became of an open attempt. */
  | { readonly kind: "ReadUnexplainedKeys" }
  | {
      readonly kind: "CloseAttempt";
      readonly orphans: readonly OrphanedKey[];
      /** Whether it is certain that no key was issued, so that the budget gets it back. */
      readonly refund: boolean;
      readonly because: string;
    }
  | WithPair<"VerifyPair">
  | ({ readonly kind: "SwitchSecret" } & SecretContents)
  | WithPair<"CommitKey">
  | { readonly kind: "DeleteStaging" }
  | { readonly kind: "DeleteTarget" }
  /** Lists a pair that no status accounts for among the superseded ones. */
  | WithPair<"ListUnlistedKey">
  | WithPair<"RebuildStatus">
  /** Lists keys that a restored API server has forgotten, and no Secret holds. */
  | { readonly kind: "ListKeysBeforeRestore"; readonly orphans: readonly OrphanedKey[] }
  /** Lists keys as orphaned that appeared in the console after their attempts were closed. */
  | { readonly kind: "ListLateKeys"; readonly keys: readonly LateKey[] }
  /** Waits for an attempt of another ApiKey to be explained. */
  | { readonly kind: "QueueForAccount" }
  | { readonly kind: "Precheck" }
  | {
      readonly kind: "RecordIntent";
      readonly because: KeyNeed;
      readonly knownKeyIds: readonly string[] | undefined;
      readonly revision: number;
    }
  | { readonly kind: "IssueKey" }
  | ({ readonly kind: "RenderSecret" } & SecretContents)
  | WithKeyId<"DisableKey">
  | WithKeyId<"DeleteKey">
  /** A key that the console would not end fails the run, after everything else is done. */
  | { readonly kind: "FailRun"; readonly error: IamError };

export type ActionOf<Kind extends ApiKeyAction["kind"]> = Extract<ApiKeyAction, { kind: Kind }>;

/** What a rule finds: the next effect, or why there is none. */
export type ApiKeyStep = ApiKeyAction | Waiting | Settled;
