/** The operator's types for the console's API. The wire formats are parsed elsewhere. */
import type { Redacted } from "../util/redacted.ts";
import type { Instant } from "../util/time.ts";

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/** The credentials of a connection: a login or a fixed token. */
export type IamCredentials =
  | ({ readonly kind: "login" } & LoginCredentials)
  | { readonly kind: "token"; readonly token: Redacted };

export interface LoginCredentials {
  readonly username: string;
  readonly password: Redacted;
  readonly domain: string;
}

export interface IamServiceAccount {
  readonly saId: string;
  readonly tpn?: string;
  readonly orgId?: string;
  readonly projectId?: string;
  readonly name?: string;
  readonly description?: string;
  /** `active`, or a value that the spec does not list. */
  readonly status?: string;
}

export interface IamServiceAccountDetail extends IamServiceAccount {
  /** IDs of the account's keys; `undefined` if the answer has no readable key list. */
  readonly keyIds: readonly string[] | undefined;
  /** Further data of the keys, by keyId. The documentation does not promise it. */
  readonly keyRecords?: ReadonlyMap<string, IamKeyRecord>;
}

export interface IamKeyRecord {
  readonly description?: string | undefined;
  /** Absent if the console does not show it. */
  readonly state?: ListedKeyState | undefined;
}

/** An inactive key is one that the console lists as inactive, expired or the like. It may become active again. */
export type ListedKeyState = "Active" | "Inactive";

export interface NewServiceAccount {
  readonly orgId: string;
  readonly projectId: string;
  readonly name: string;
  readonly description: string;
}

export interface KeyPair {
  readonly keyId: string;
  readonly secret: Redacted;
}

/** What an answer shows about the lifetime of a key. */
export interface KeyLifetime {
  /** In milliseconds. */
  readonly lifetimeMs?: number;
  /** By the console's clock. */
  readonly expiresAt?: Instant;
}

/** The answer of issueKey. */
export interface NewKeyPair extends KeyPair {
  readonly lifetime?: KeyLifetime;
}

/** A key, and the account in the path of its calls. */
export interface KeyIds {
  readonly saId: string;
  readonly keyId: string;
}

/** Length of an issued secret in characters, according to the console's documentation. */
export const SECRET_LENGTH = 43;

export interface NewKey {
  readonly saId: string;
  readonly description: string;
  readonly expiresInDays: number;
}

export interface IamPolicy {
  readonly policyId: string;
  readonly name?: string;
  /** For example `scp`; `undefined` if the record does not contain it. */
  readonly kind?: string;
}

export interface PolicyQuery {
  readonly orgId: string;
  readonly status?: string;
  readonly search?: string;
}

export type LiveBindings =
  | { readonly readable: true; readonly policyIds: readonly string[] }
  | { readonly readable: false };

export interface BindingSet {
  readonly tpn: string;
  readonly orgId: string;
  /** The complete set: every other policy is unbound. */
  readonly policyIds: readonly string[];
}

export interface Quota {
  readonly name: string;
  readonly namespace: string;
  readonly status: string | undefined;
  readonly displayRequest: string;
  readonly displayLimit: string;
  readonly createdAt: string;
}

/** A query with `key` is made with that API key, otherwise as the connection's user. */
export interface QuotaQuery {
  readonly clusterId: number;
  readonly namespaces: readonly string[];
  readonly filterNames: readonly string[];
  readonly key?: KeyPair | undefined;
}

export interface InstanceQuery {
  readonly page: number;
  readonly pageSize: number;
  readonly key: KeyPair;
}

export interface ActionQuery {
  readonly q: string;
  readonly pageSize?: number;
  readonly key?: KeyPair | undefined;
}

export interface IamAction {
  readonly actionId: string;
  readonly actionClass: string | undefined;
}
