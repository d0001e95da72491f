import type {
  ActionQuery,
  BindingSet,
  IamAction,
  IamPolicy,
  IamServiceAccount,
  IamServiceAccountDetail,
  Json,
  KeyPair,
  LiveBindings,
  NewKey,
  NewServiceAccount,
  Quota,
  QuotaQuery,
} from "../model.ts";

/**
 * One console seen through one connection: a method per documented endpoint, and the extra calls of the
 * connection. Every method sends its request once. After a 401 on a Bearer call the session checks its token by a neutral
 * call (searchActions), and repeats the call once with a new login if the console refuses the token for that one too. An answer of 429 or 5xx with a `Retry-After` holds every later call until then, five
 * minutes at most: they reject with RateLimited, unsent. Rejects with IamError only.
 */
export interface IamClient {
  /** Unless a token is at hand: proves that the credentials are accepted. */
  authenticate(signal?: AbortSignal): Promise<void>;
  /** Not idempotent. */
  createServiceAccount(
    account: NewServiceAccount,
    signal?: AbortSignal,
  ): Promise<IamServiceAccount>;
  /** All pages; rejects with MalformedResponse where the listing is not whole. */
  listServiceAccounts(signal?: AbortSignal): Promise<readonly IamServiceAccount[]>;
  /** getServiceAccount; `undefined` where the console does not know the account (404). */
  getServiceAccount(
    saId: string,
    signal?: AbortSignal,
  ): Promise<IamServiceAccountDetail | undefined>;
  /** Not idempotent; the secret is shown by this answer only. */
  issueKey(saId: string, key: NewKey, signal?: AbortSignal): Promise<KeyPair>;
  /** Opaque in and out: the spec shows neither body. */
  validateKey(body: Json, signal?: AbortSignal): Promise<Json>;
  /** All pages. */
  listPolicies(
    query: { orgId: string; status?: string; search?: string },
    signal?: AbortSignal,
  ): Promise<readonly IamPolicy[]>;
  /** Full replacement. Idempotent. */
  syncBindings(bindings: BindingSet, signal?: AbortSignal): Promise<void>;
  /** Read tolerantly. */
  listBindings(tpn: string, signal?: AbortSignal): Promise<LiveBindings>;
  /** Opaque in and out: the spec shows neither body. */
  evaluatePolicy(body: Json, signal?: AbortSignal): Promise<Json>;
  /** One page. */
  listInstances(
    page: { page: number; pageSize: number },
    key: KeyPair,
    signal?: AbortSignal,
  ): Promise<readonly Json[]>;
  /** All pages or nothing; with the key where one is given, otherwise as the connection's user. */
  listResourceQuotas(
    query: QuotaQuery,
    key?: KeyPair,
    signal?: AbortSignal,
  ): Promise<readonly Quota[]>;
  /** One page. */
  searchActions(
    query: ActionQuery,
    key?: KeyPair,
    signal?: AbortSignal,
  ): Promise<readonly IamAction[]>;
  /** Present where the connection names the call. */
  readonly extra: {
    readonly disableKey?: (saId: string, keyId: string, signal?: AbortSignal) => Promise<void>;
    readonly deleteKey?: (saId: string, keyId: string, signal?: AbortSignal) => Promise<void>;
    readonly deleteServiceAccount?: (saId: string, signal?: AbortSignal) => Promise<void>;
  };
  /** The same connection for revoking access: its calls, and logins for them, go through while `Retry-After` holds all others, have slots of their own, and end within 5 s. */
  readonly urgent: IamClient;
  /** The same for what a person asks for: only so many calls go through while a `Retry-After` holds. */
  readonly requested: IamClient;
  /** How many seconds the console's clock was ahead by the last answer with a `Date`. */
  clockSkew(): number | undefined;
  /** Frees pooled connections; running calls are aborted. */
  close(): Promise<void>;
}
