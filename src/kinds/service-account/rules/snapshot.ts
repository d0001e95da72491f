/** The data of a run over a ServiceAccount. */

import type { KeyUse } from "../../../accounts/key-accounts.ts";
import type { ApiKey } from "../../../api/api-key.ts";
import type { ServiceAccount, ServiceAccountSpec } from "../../../api/service-account.ts";
import type { IamErrorCode } from "../../../console/errors.ts";
import type { IamServiceAccount, IamServiceAccountDetail } from "../../../console/model.ts";
import type { ConnectionLookup } from "../../../reconciler/context.ts";
import type { Effects, Ended } from "../../../reconciler/effects.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import type { KindTypes, ReadContext, RunContext } from "../../../reconciler/run-context.ts";
import type { Marker } from "../../../resources/marker.ts";
import type { Instant } from "../../../util/time.ts";
import type { AccountStatus, CreationAttempt } from "./status.ts";

export interface AccountKind extends KindTypes {
  readonly Object: ServiceAccount;
  readonly Spec: ServiceAccountSpec;
  readonly Snapshot: AccountSnapshot;
  readonly State: AccountState;
}

/** A run over a ServiceAccount, or a part of it. */
export type AccountEffects<Result> = Effects<AccountKind, Result>;
export type AccountEnded = Ended<AccountKind>;
export type AccountReading = ReadContext<AccountKind>;
export type AccountRun = RunContext<AccountKind>;

/** An ApiKey or a PolicyBinding. */
export interface AccountUser {
  /** Kind and name. */
  readonly name: string;
  readonly use: KeyUse | "Policies";
}

export interface AccountSnapshot {
  readonly object: ServiceAccount;
  readonly spec: ServiceAccountSpec;
  readonly connection: ConnectionLookup;
  /** `--cluster-name`; `undefined` if the operator has none. */
  readonly clusterName: string | undefined;
  readonly namespaceTerminating: boolean;
  /** The account in the status, or the account that this run found in the console. */
  readonly account: KnownAccount | undefined;
  /** Internal. A recorded creation with an unknown outcome. */
  readonly attempt: CreationAttempt | undefined;
  /** The response of the open attempt, if it was received and cannot be read. */
  readonly unreadableResponse: AccountStatus["unreadableResponse"];
  /** What uses the object. Empty unless the object is being deleted. */
  readonly users: readonly AccountUser[];
  /** Whether there are users, and the deletion of each waits for the console: then this deletion waits for it too. */
  readonly usersAreBlocked: boolean;
  /**
   * Number of other objects of the namespace and the connection that have an account, or are older and want one; 0
   * without a limit.
   */
  readonly accountsBefore: number;
  /** Of these, the number of objects whose account has no description of the operator, or is not known yet. */
  readonly unmarkedBefore: number;
  /** Number of objects that have or want an account of the same connection, including this object. */
  readonly accountCount: number;
  /**
   * Since when a list shows more than the last one did, by the keys that this lacks: since the newest key in use came
   * into use, and since the console must have listed the newest superseded key.
   */
  readonly unlistedKeyTime: Instant | undefined;
  /** When an attempt of one of its ApiKeys with an unknown outcome was last closed. */
  readonly keyRecoveryTime: Instant | undefined;
  /** Users' requests to reconcile one of its ApiKeys. */
  readonly keyRequests: readonly string[];
  /** When a creation with an unknown outcome was last closed. */
  readonly recoveryTime: Instant | undefined;
  /** Times of the object's connection; `undefined` if the object imports its account. */
  readonly listTimes: ListTimes | undefined;
  readonly apiKeys: readonly ApiKey[];
  /** Accounts that may have been created for the object and that no object names; `undefined` without a list. */
  readonly markedAccounts: readonly MarkedAccount[] | undefined;
  /** Accounts in the status's `orphanedAccounts` or in `markedAccounts` that other objects name. */
  readonly namedAccounts: ReadonlySet<string>;
  /** Whether the cache contains every write of this process to these ApiKeys. */
  readonly apiKeysAreCurrent: boolean;
  /** A user's request to reconcile that has not been handled. */
  readonly request: string | undefined;
  /** The object's own claim, on whichever account. */
  readonly claim: Claim;
  /** Claims of other objects on accounts that may belong to this object, by saId. */
  readonly otherClaims: ReadonlyMap<string, readonly Claim[]>;
  /** Response of listServiceAccounts; absent until a run calls it. */
  readonly listing: AccountListing | undefined;
  /**
   * Response of getServiceAccount; absent until a run calls it. Without `detail` if the console does not have the
   * account.
   */
  readonly answer: { readonly detail: IamServiceAccountDetail | undefined } | undefined;
  readonly state: AccountState;
  /** When this run read or created the account in the console: the time before the call. */
  readonly lookTime?: Instant;
  /** When this run listed the console's accounts: the time before the call. */
  readonly listTime?: Instant;
  /** How the account became known in this run. */
  readonly became?: AccountOrigin;
  /** Present if the run of a deletion ends because the cleanup fails. */
  readonly isCleanupBlocked?: true;
}

export type WithAccount = AccountSnapshot & { readonly account: KnownAccount };
export type WithAttempt = AccountSnapshot & { readonly attempt: CreationAttempt };
export type Listed = AccountSnapshot & { readonly listing: AccountListing };
export type Answered = AccountSnapshot & {
  readonly answer: NonNullable<AccountSnapshot["answer"]>;
};

/** A console service account, as known to a ServiceAccount. */
export interface KnownAccount {
  readonly saId: string;
  /** The name that it was created with; absent for an imported account. */
  readonly name: string | undefined;
  readonly tpn: string | undefined;
  readonly orgId: string;
  readonly projectId: string | undefined;
  readonly state: string | undefined;
  /** The other cluster that its description names, when last read. */
  readonly describedCluster: string | undefined;
  readonly origin: "Created" | "Imported";
  /** Origin of the console in which it was found. */
  readonly consoleURL: string | undefined;
  /** Absent if the console's response lists no keys. Without {@link inactiveKeyIds}. */
  readonly liveKeyIds: readonly string[] | undefined;
  /** Keys that the console lists as inactive or expired; absent if there are none. */
  readonly inactiveKeyIds: readonly string[] | undefined;
  /** Whether the console lists every live key as active; absent if it lists none or shows no states. */
  readonly listsKeyStates: true | undefined;
}

export type ListedKeys = Pick<KnownAccount, "liveKeyIds" | "inactiveKeyIds" | "listsKeyStates">;

/** Console and organization. An saId is unique within them. */
export interface ConsoleScope {
  readonly origin: string;
  /** Of the connection, the spec and the status. */
  readonly orgIds: readonly string[];
}

/** An object that names an account, in its status or in its spec. */
export interface Claim {
  readonly object: ServiceAccount;
  /** Absent if its connection is not known: the object then claims nothing. */
  readonly scope: ConsoleScope | undefined;
  /** Whether its account was found in the console of its current connection, and was its own when last read. */
  readonly isProven: boolean;
  /** Whether its connection is a ClusterConnection. */
  readonly isOfCluster: boolean;
  /** Whether its connection is usable. If not, only a proven claim counts. */
  readonly isUsable: boolean;
  /**
   * Whether it has permission to import accounts by saId. A claim without this permission must not block other objects.
   */
  readonly mayImport: boolean;
}

/** The console's accounts, or why there is no usable list. */
export type AccountListing =
  | { readonly ok: true; readonly accounts: readonly IamServiceAccount[] }
  | {
      readonly ok: false;
      readonly code: IamErrorCode;
      /** Whether the list has more accounts, or longer texts, than the operator reads. */
      readonly isTooLarge?: boolean;
    };

export type AccountOrigin = "Created" | "Imported" | "Recovered";

/** An account in the console whose description names an object, or, without descriptions, whose name is the object's. */
export interface MarkedAccount {
  readonly saId: string;
  /** Empty if the console shows no descriptions. */
  readonly description: string;
}

/** When all accounts of a connection were last listed, and when an account was last created. */
export interface ListTimes {
  readonly creationTime: Instant;
  readonly listTime: Instant;
}

/**
 * By keyId: when the key was first seen without an ApiKey that names it, and what its description shows about its
 * origin.
 */
export type UnnamedKeys = ReadonlyMap<
  string,
  { readonly noticedTime: Instant; readonly marker: Marker | undefined }
>;

/** Facts that the process remembers. Losing them costs a call, never correctness. */
export interface AccountState {
  /** The last read of the account. */
  readonly lastRead?: AccountRead | undefined;
  /** When the console's accounts were last listed for the object: the time before the call. */
  readonly listTime?: Instant | undefined;
  /** A response of createServiceAccount whose status may not have been written. */
  readonly created?: { readonly attempt: string; readonly account: IamServiceAccount } | undefined;
  /** A response that cannot be read: the status may not have it yet. */
  readonly unreadableResponse?: AccountStatus["unreadableResponse"] | undefined;
  /** Keys of the last list that no ApiKey names; absent before the first list. */
  readonly unnamed?: UnnamedKeys | undefined;
  /** By ID: settled attempts of ApiKeys that are not explained. */
  readonly evidence?: ReadonlyMap<string, AttemptEvidence> | undefined;
}

/** What the lists of the account's keys have shown since an attempt of an ApiKey was settled. */
export interface AttemptEvidence {
  readonly firstTime: Instant;
  /** Whether a second list was late enough. Later lists do not count. */
  readonly isComplete: boolean;
  /**
   * The keys that it may have issued, and whether their descriptions say so. Absent if the console does not list keys.
   */
  readonly keys: ReadonlyMap<string, boolean> | undefined;
  /** Keys in use that no list has shown. */
  readonly missingKeyIds: readonly string[];
}

export interface AccountRead {
  readonly saId: string | undefined;
  readonly consoleURL: string | undefined;
  readonly generation: number;
  /** Time before the call: a newer key may be missing in the response. */
  readonly startTime: Instant;
  readonly nextTime: Instant;
  /** Requests in {@link AccountSnapshot.keyRequests} that this read has handled. */
  readonly keyRequests: readonly string[];
  /** The finding instead of a usable account; valid until the next read. */
  readonly finding: Waiting | undefined;
}
