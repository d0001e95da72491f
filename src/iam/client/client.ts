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
 * Access to one console through one connection: one method per documented endpoint, and the extra calls of the
 * connection. Every method sends its request once. After a 401 on a Bearer call, the client checks the token with a
 * neutral call (searchActions). If the console refuses the token for that call too, the client logs in again and
 * repeats the first call once. An answer of 429 or 5xx with a `Retry-After` holds every later call until then, for five
 * minutes at most: held calls reject with RateLimited and are not sent. Rejects with IamError only.
 */
export interface IamClient {
  /** Logs in if there is no token, which proves that the console accepts the credentials. */
  authenticate(signal?: AbortSignal): Promise<void>;
  /** Not idempotent. */
  createServiceAccount(
    account: NewServiceAccount,
    signal?: AbortSignal,
  ): Promise<IamServiceAccount>;
  /** All accounts; rejects with MalformedResponse if the listing is incomplete. */
  listServiceAccounts(signal?: AbortSignal): Promise<readonly IamServiceAccount[]>;
  /** `undefined` if the console does not know the account (404). */
  getServiceAccount(
    saId: string,
    signal?: AbortSignal,
  ): Promise<IamServiceAccountDetail | undefined>;
  /** Not idempotent. Only this answer contains the secret. */
  issueKey(saId: string, key: NewKey, signal?: AbortSignal): Promise<KeyPair>;
  /** Opaque in and out: the spec shows neither body. */
  validateKey(body: Json, signal?: AbortSignal): Promise<Json>;
  /** All matching policies; rejects with MalformedResponse if the listing is incomplete. */
  listPolicies(
    query: { orgId: string; status?: string; search?: string },
    signal?: AbortSignal,
  ): Promise<readonly IamPolicy[]>;
  /** Full replacement. Idempotent. */
  syncBindings(bindings: BindingSet, signal?: AbortSignal): Promise<void>;
  /** `readable: false` if the form of the answer is unknown; rejects with MalformedResponse if it is incomplete. */
  listBindings(tpn: string, signal?: AbortSignal): Promise<LiveBindings>;
  /** Opaque in and out: the spec shows neither body. */
  evaluatePolicy(body: Json, signal?: AbortSignal): Promise<Json>;
  /** One page. */
  listInstances(
    page: { page: number; pageSize: number },
    key: KeyPair,
    signal?: AbortSignal,
  ): Promise<readonly Json[]>;
  /** All pages or a rejection. Uses the key if given, otherwise the connection's user. */
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
  /** Contains the calls that the connection configures. */
  readonly extra: {
    readonly disableKey?: (saId: string, keyId: string, signal?: AbortSignal) => Promise<void>;
    readonly deleteKey?: (saId: string, keyId: string, signal?: AbortSignal) => Promise<void>;
    readonly deleteServiceAccount?: (saId: string, signal?: AbortSignal) => Promise<void>;
  };
  /**
   * The same connection for revoking access. Its calls, and their logins, are sent even while a `Retry-After` holds all
   * other calls. They have reserved slots and end within 5 s.
   */
  readonly urgent: IamClient;
  /** The same connection for user requests. During a `Retry-After`, only a limited number of its calls are sent. */
  readonly requested: IamClient;
  /** Seconds by which the console's clock is ahead, according to the last answer with a `Date`. */
  clockSkew(): number | undefined;
  /** Aborts running calls and closes the pooled connections. */
  close(): Promise<void>;
}
