/** What a run over a ServiceAccount knows, may do and has done. */
import type { ApiKey } from "../../../api/api-key.ts";
import type { ServiceAccount, ServiceAccountSpec } from "../../../api/service-account.ts";
import type { IamErrorCode } from "../../../iam/errors.ts";
import type {
  IamServiceAccount,
  IamServiceAccountDetail,
  NewServiceAccount,
} from "../../../iam/model.ts";
import type { Instant } from "../../../util/time.ts";
import type { ConnectionLookup } from "../../frame/context.ts";
import type { KindTypes, Progress } from "../../frame/kind-controller.ts";
import type { Waiting } from "../../frame/rules/outcome.ts";
import type { Marker } from "../../marker.ts";
import type { MarkedAccount } from "../marked-accounts.ts";
import type { CreationAttempt } from "./status.ts";

export interface AccountKind extends KindTypes {
  readonly Object: ServiceAccount;
  readonly Spec: ServiceAccountSpec;
  readonly Snapshot: AccountSnapshot;
  readonly Done: AccountDone;
  readonly Action: AccountAction;
  readonly State: AccountState;
}

export type AccountProgress = Progress<AccountKind>;

export interface AccountSnapshot {
  readonly object: ServiceAccount;
  readonly spec: ServiceAccountSpec;
  readonly connection: ConnectionLookup;
  readonly namespaceTerminating: boolean;
  /** What the status names, or a look in the console has found since. */
  readonly account: KnownAccount | undefined;
  /** Internal. A recorded creation with an unknown outcome. */
  readonly attempt: CreationAttempt | undefined;
  /** ApiKeys and PolicyBindings that refer to the object, by kind and name, once it is to be deleted. */
  readonly users: readonly string[];
  /** Other objects of the namespace and the connection that have an account, or are older and want one; 0 without a limit. */
  readonly accountsBefore: number;
  /** Of these, those whose account has no description of the operator's, or is not known yet. */
  readonly unmarkedBefore: number;
  /** Objects that have or want an account of the same connection, this one included. */
  readonly accountCount: number;
  /** When the newest of its ApiKeys' keys that the account's list lacks came into use. */
  readonly unlistedKeyTime: Instant | undefined;
  /** When an issue of one of its ApiKeys whose outcome was unknown was last closed. */
  readonly keyRecoveryTime: Instant | undefined;
  /** Requests of people for a run over one of its ApiKeys. */
  readonly keyRequests: readonly string[];
  /** When a creation whose outcome was unknown was last closed. */
  readonly recoveryTime: Instant | undefined;
  /** Of the object's connection; `undefined` if the object imports its account. */
  readonly listTimes: ListTimes | undefined;
  readonly apiKeys: readonly ApiKey[];
  /** Accounts whose descriptions name the object, and that no object names; `undefined` without a list. */
  readonly markedAccounts: readonly MarkedAccount[] | undefined;
  /** Accounts of the status's `orphanedAccounts` and `markedAccounts` that other objects name. */
  readonly namedAccounts: ReadonlySet<string>;
  /** Whether the cache has every write of this process to these ApiKeys. */
  readonly apiKeysAreCurrent: boolean;
  /** A person's request for a new look that has not been answered. */
  readonly request: string | undefined;
  /** The object's own claim, whatever account it is on. */
  readonly claim: Claim;
  /** Those of others on accounts that may be the object's, by saId. */
  readonly otherClaims: ReadonlyMap<string, readonly Claim[]>;
  /** listServiceAccounts; absent until a run asks. */
  readonly listing: AccountListing | undefined;
  /** getServiceAccount; absent until a run asks. Without detail where the console does not know the account. */
  readonly answer: { readonly detail: IamServiceAccountDetail | undefined } | undefined;
  readonly state: AccountState;
}

/** A service account of the console as one object of ours knows it. */
export interface KnownAccount {
  readonly saId: string;
  readonly tpn: string | undefined;
  readonly orgId: string;
  readonly projectId: string | undefined;
  readonly state: string | undefined;
  readonly origin: "Created" | "Imported";
  /** Origin of the console that it was found at. */
  readonly consoleURL: string | undefined;
  /** Absent where the console's answer lists no keys. */
  readonly liveKeyIds: readonly string[] | undefined;
}

/** Console and organization; saIds are unique within. */
export interface ConsoleScope {
  readonly origin: string;
  readonly orgId: string;
}

/** An object that names an account, in its status or in its spec. */
export interface Claim {
  readonly object: ServiceAccount;
  /** Absent where its connection is not known: it claims nothing then. */
  readonly scope: ConsoleScope | undefined;
  /** Whether its account was found in the console that its connection leads to now. */
  readonly isProven: boolean;
  /** Whether its connection is one of the cluster, not of its namespace. */
  readonly isOfCluster: boolean;
  /** Whether its connection can be used; without, only what was proven before counts. */
  readonly isUsable: boolean;
  /** Whether it may adopt accounts by saId; a claim without the right to it must not block others. */
  readonly mayImport: boolean;
}

/** The console's accounts, or why there is no list of them that could be used. */
export type AccountListing =
  | { readonly ok: true; readonly accounts: readonly IamServiceAccount[] }
  | {
      readonly ok: false;
      readonly code: IamErrorCode;
      /** Whether there are more accounts, or longer texts, than the operator reads. */
      readonly isTooLarge?: boolean;
    };

export type AccountOrigin = "Created" | "Imported" | "Recovered";

export type AccountAction =
  /** listServiceAccounts. */
  | { readonly kind: "ListAccounts" }
  /** getServiceAccount. */
  | { readonly kind: "GetAccount"; readonly saId: string }
  /** The intent, written before the call that cannot be repeated. */
  | { readonly kind: "RecordAttempt" }
  /** Lists all accounts, unless another object's run has just done it. */
  | { readonly kind: "AuditAccounts" }
  /** createServiceAccount, once. */
  | { readonly kind: "CreateAccount"; readonly account: NewServiceAccount }
  | { readonly kind: "CloseAttempt" }
  | {
      readonly kind: "RecordAccount";
      readonly because: AccountOrigin | "FinalizerMissing";
      readonly account: KnownAccount;
    }
  /** Calls syncBindings with nothing to bind, or without the policies given. */
  | {
      readonly kind: "RevokePolicies";
      readonly tpn: string;
      readonly orgId: string;
      /** Absent for every policy, whoever bound it. */
      readonly only?: readonly string[];
    }
  /** A call that the connection names. */
  | { readonly kind: "DeleteAccount"; readonly saId: string };

/** When all accounts of a connection were last listed, and one was last created. */
export interface ListTimes {
  readonly creationTime: Instant;
  readonly listTime: Instant;
}

export interface AccountDone {
  /** The attempt that this run has recorded, so that its call may follow. */
  readonly announced?: string;
  /** When this run began to ask the console about the account. */
  readonly lookTime?: Instant;
  /** When this run listed the console's accounts: the time before the call. */
  readonly listTime?: Instant;
  /** Whether this run has seen to the list that is due without anything that happened to the object. */
  readonly audited?: boolean;
  /** How the account came to be known. */
  readonly became?: AccountOrigin;
  /** What a call of a deletion failed with. */
  readonly failure?: Waiting;
  /** What a deletion has done in the console. */
  readonly cleanedUp?: "Revoked" | "Deleted" | "RetainNotGranted";
}

/** By keyId: since when no ApiKey names the key, and what its description says about its origin. */
export type UnnamedKeys = ReadonlyMap<
  string,
  { readonly noticedTime: Instant; readonly marker: Marker | undefined }
>;

/** What the process remembers; losing it costs a call, never correctness. */
export interface AccountState {
  /** The last look at the account. */
  readonly look?: AccountLook | undefined;
  /** When the console's accounts were last listed for the object: the time before the call. */
  readonly listTime?: Instant | undefined;
  /** An answer of createServiceAccount whose status may not have been written. */
  readonly created?: { readonly attempt: string; readonly account: IamServiceAccount } | undefined;
  /** Keys of the last list that no ApiKey names; absent before the first list. */
  readonly unnamed?: UnnamedKeys | undefined;
  /** Since when a deletion could not clean up in the console. */
  readonly failingSince?: Instant | undefined;
}

export interface AccountLook {
  readonly saId: string | undefined;
  readonly consoleURL: string | undefined;
  readonly generation: number;
  /** Before the console was asked: a key that came later may be missing from the answer. */
  readonly startTime: Instant;
  readonly nextTime: Instant;
  /** Those of {@link AccountSnapshot.keyRequests} that it has answered. */
  readonly keyRequests: readonly string[];
  /** What was found instead of a usable account; holds until the next look. */
  readonly finding: Waiting | undefined;
}
