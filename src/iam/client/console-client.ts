import type { AddressPolicy } from "../../http/address-policy.ts";
import type { SendHttp } from "../../http/http.ts";
import type { TlsSettings } from "../../http/tls-settings.ts";
import type { Random } from "../../util/random.ts";
import type { Clock } from "../../util/time.ts";
import { TokenBucket } from "../../util/token-bucket.ts";
import { noTracer, type Tracer } from "../../util/trace.ts";
import { IamError, isIamError } from "../errors.ts";
import {
  Exchange,
  type Limits,
  MAX_LIST_BYTES,
  readAnswer,
  requireSuccess,
  URGENT_CALLS,
} from "../exchange/exchange.ts";
import type { Exchanged } from "../exchange/failures.ts";
import { createTransport } from "../exchange/transport.ts";
import type {
  extraOperations,
  IamCredentials,
  Json,
  Operation,
  Quota,
  QuotaQuery,
} from "../model.ts";
import { nobody, type Organization, userWith } from "../session/identity.ts";
import {
  type LoginEnd,
  LoginSession,
  type TokenSession,
  tokenSession,
} from "../session/session.ts";
import { TokenChecks } from "../session/token-checks.ts";
import { readActions, readQuotaPage } from "../wire/catalogue.ts";
import { readListing } from "../wire/listing.ts";
import { type LoginAnswer, readLogin } from "../wire/login.ts";
import { readBindings, readPolicies } from "../wire/policy.ts";
import {
  readKeyPair,
  readServiceAccount,
  readServiceAccountDetail,
  readServiceAccounts,
} from "../wire/service-account.ts";
import { ShapeError } from "../wire/shape-error.ts";
import { readAllPages } from "./all-pages.ts";
import type { Call } from "./call.ts";
import { Caller, type CallerOptions } from "./caller.ts";
import * as calls from "./calls.ts";
import type { IamClient } from "./client.ts";
import { shareCalls } from "./share-calls.ts";
import { spaceCalls } from "./space-calls.ts";

/** Observes requests and logins, for metrics. Must not throw. */
export interface IamObserver {
  /** A request ended; `code` is the status of its answer, or the IamErrorCode if there is no answer. */
  onRequest(operation: Operation, code: string, seconds: number): void;
  onLogin(result: LoginEnd): void;
}

export type ExtraCalls = Readonly<
  Partial<Record<(typeof extraOperations)[number], calls.ExtraCall | undefined>>
>;

export interface IamClientOptions extends Organization, TlsSettings {
  readonly baseURL: string;
  readonly credentials: IamCredentials;
  readonly limits: Limits;
  /** Deadline of mutating calls, at most the deadline of other calls. Default 5 s (S8). */
  readonly mutationTimeoutMs?: number;
  /** The proxy for the console; absent: no proxy. */
  readonly proxy?: string;
  /** The allowed addresses of the console (or the proxy), checked after name resolution; absent: any address. */
  readonly addresses?: AddressPolicy;
  readonly extraCalls?: ExtraCalls;
  /** `iam-operator/<version>` */
  readonly userAgent: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Replaces the network; for the simulation. */
  readonly send?: SendHttp;
  /** The fence: throws if a call that takes `timeoutMs` could outlive the lease. */
  readonly beforeMutation?: (timeoutMs: number) => void;
  readonly observer?: IamObserver;
  /** Records a span for every call. */
  readonly tracer?: Tracer;
}

const URGENT_DEADLINE_MS = 5_000;
/** Requested calls that can pass a `Retry-After`: enough for one or two keys at once, then one call every 6 s. */
const REQUESTED_CALLS = { perSecond: 1 / 6, burst: 20 };
const MUTATION_TIMEOUT_MS = 5_000;
const MAX_LIST_PAUSE_MS = 200;

/** A client for one console, with its own connections and session. Changed options require a new client. */
export function createIamClient(options: IamClientOptions): IamClient {
  const closing = new AbortController();
  const wire = createWire(options);
  const exchange = createExchange(options, wire.send);
  const session = createSession(options, exchange, closing.signal);
  const shared = {
    exchange,
    session,
    tokenChecks: checkTokens(exchange, closing.signal),
    clock: options.clock,
    closing: closing.signal,
  };
  const rest = {
    clockSkew: () => exchange.skew,
    close: async () => {
      closing.abort(new Error("the client was closed"));
      await wire.close();
    },
  };
  const callsOf = (own: Pick<CallerOptions, "mayPassHold" | "deadlineMs">) => {
    const caller = new Caller({ ...shared, ...own });
    const extra = extraCalls(caller, options.extraCalls ?? {});
    return { ...managementCalls(caller, options.clock), ...resourceCalls(caller), extra, ...rest };
  };
  const passes = new TokenBucket(options.clock, REQUESTED_CALLS);
  const variant = (...own: Parameters<typeof callsOf>): IamClient => ({
    ...callsOf(...own),
    get urgent() {
      return urgent;
    },
    get requested() {
      return requested;
    },
  });
  const urgent = variant({ mayPassHold: () => true, deadlineMs: URGENT_DEADLINE_MS });
  const requested = variant({ mayPassHold: (isHeld) => isHeld && passes.tryTake() });
  return variant({ mayPassHold: () => false });
}

function createWire(options: IamClientOptions) {
  if (options.send !== undefined) return { send: options.send, close: async () => undefined };
  return createTransport({
    origin: new URL(options.baseURL).origin,
    connections: options.limits.concurrency + URGENT_CALLS,
    clock: options.clock,
    caBundle: options.caBundle,
    trustOnlyCABundle: options.trustOnlyCABundle,
    clientCertificate: options.clientCertificate,
    ...(options.proxy === undefined ? {} : { proxy: options.proxy }),
    ...(options.addresses === undefined ? {} : { addresses: options.addresses }),
  });
}

function createExchange(options: IamClientOptions, send: SendHttp): Exchange {
  return new Exchange({
    baseURL: options.baseURL,
    organization: options,
    limits: options.limits,
    mutationTimeoutMs: options.mutationTimeoutMs ?? MUTATION_TIMEOUT_MS,
    userAgent: options.userAgent,
    clock: options.clock,
    send,
    beforeMutation: options.beforeMutation ?? (() => undefined),
    onRequest: (...seen) => options.observer?.onRequest(...seen),
    tracer: options.tracer ?? noTracer,
  });
}

function createSession(
  options: IamClientOptions,
  exchange: Exchange,
  closing: AbortSignal,
): TokenSession {
  const { credentials, clock, random, observer } = options;
  if (credentials.kind === "token") return tokenSession(credentials.token);
  const login = async (): Promise<LoginAnswer> =>
    readOnce(await exchange.send(calls.login(credentials), nobody, closing), readLogin);
  return new LoginSession({
    login,
    clock,
    random,
    onLogin: (result) => observer?.onLogin(result),
  });
}

/** Checks tokens with the smallest documented Bearer call that names no account, key, policy or cluster. */
function checkTokens(exchange: Exchange, closing: AbortSignal): TokenChecks {
  const neutral = {
    ...calls.searchActions({ q: "a", pageSize: 1 }),
    ignoresHold: true,
    isUrgent: true,
  } as const;
  return new TokenChecks((token) => exchange.send(neutral, userWith(token.value), closing));
}

/** Calls about identities. */
function managementCalls(caller: Caller, clock: Clock) {
  // Creating an account requires the whole list.
  const listAccounts = shareCalls(
    "listServiceAccounts",
    spaceCalls({ clock, maxPauseMs: MAX_LIST_PAUSE_MS }, async (_: "all", onSend: () => void) => {
      const call = { ...calls.listServiceAccounts(), onSend };
      return readAnswer(await caller.call(call), readServiceAccounts);
    }),
  );
  // Issuing a key requires the account's key list.
  const lookAtAccount = shareCalls("getServiceAccount", (saId: string, onSend) =>
    unlessNotFound(async () => {
      const call = { ...calls.getServiceAccount(saId), onSend };
      return readAnswer(await caller.call(call), (json) => readServiceAccountDetail(json, saId));
    }),
  );
  return {
    authenticate: (signal) => caller.authenticate(signal),
    createServiceAccount: async (account, signal) =>
      readAnswer(
        await caller.call(calls.createServiceAccount(account), signal),
        readServiceAccount,
      ),
    listServiceAccounts: (signal) => listAccounts("all", signal),
    getServiceAccount: lookAtAccount,
    issueKey: async (saId, key, signal) =>
      readOnce(await caller.call(calls.issueKey(saId, key), signal), readKeyPair),
    validateKey: async (body, signal) =>
      readOpaque(await caller.call(calls.validateKey(body), signal)),
    listPolicies: async (query, signal) =>
      readAnswer(await caller.call(calls.listPolicies(query), signal), readPolicies),
    // The body of the answer is not documented and not needed: the status is enough.
    syncBindings: async (bindings, signal) =>
      requireSuccess(await caller.call(calls.syncBindings(bindings), signal)),
    listBindings: async (tpn, signal) =>
      readAnswer(await caller.call(calls.listBindings(tpn), signal), (json) =>
        readBindings(json, tpn),
      ),
    evaluatePolicy: async (body, signal) =>
      readOpaque(await caller.call(calls.evaluatePolicy(body), signal)),
  } satisfies Partial<IamClient>;
}

/** Calls about instances, quotas and actions. */
function resourceCalls(caller: Caller) {
  return {
    listInstances: async (page, key, signal) =>
      readAnswer(
        await caller.call(calls.listInstances(page, key), signal),
        (json) => readListing(json, ["instances"]).records,
      ),
    listResourceQuotas: (query, key, signal) =>
      allQuotas(query, (page) => caller.call(calls.listResourceQuotas(query, page, key), signal)),
    searchActions: async (query, key, signal) =>
      readAnswer(await caller.call(calls.searchActions(query, key), signal), readActions),
  } satisfies Partial<IamClient>;
}

function extraCalls(caller: Caller, named: ExtraCalls): IamClient["extra"] {
  const { disableKey, deleteKey, deleteServiceAccount } = named;
  const make = async (call: Call, signal?: AbortSignal) =>
    requireSuccess(await caller.call(call, signal));
  const onKey =
    (operation: "disableKey" | "deleteKey", call: calls.ExtraCall) =>
    async (saId: string, keyId: string, signal?: AbortSignal) =>
      make(calls.extraCall(operation, call, { saId, keyId }), signal);
  return {
    ...(disableKey && { disableKey: onKey("disableKey", disableKey) }),
    ...(deleteKey && { deleteKey: onKey("deleteKey", deleteKey) }),
    ...(deleteServiceAccount && {
      deleteServiceAccount: async (saId: string, signal?: AbortSignal) =>
        make(calls.extraCall("deleteServiceAccount", deleteServiceAccount, { saId }), signal),
    }),
  };
}

async function allQuotas(
  query: QuotaQuery,
  readPage: (page: number) => Promise<Exchanged>,
): Promise<readonly Quota[]> {
  let bytes = 0;
  try {
    return await readAllPages(async (page) => {
      const exchanged = await readPage(page);
      bytes += exchanged.response.body.length;
      if (bytes > MAX_LIST_BYTES) throw new ShapeError(`it has more than ${MAX_LIST_BYTES} bytes`);
      return readAnswer(exchanged, readQuotaPage);
    });
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    const message = `the quotas of cluster ${query.clusterId} cannot be listed whole: ${error.message}`;
    throw new IamError("MalformedResponse", message, { operation: "listResourceQuotas" });
  }
}

/** Reads an answer that contains a secret, and wipes its bytes. */
function readOnce<T>(exchanged: Exchanged, read: (json: Json) => T): T {
  try {
    return readAnswer(exchanged, read);
  } finally {
    exchanged.response.body.fill(0);
  }
}

/** Any JSON; `null` if the body is empty. */
function readOpaque(exchanged: Exchanged): Json {
  requireSuccess(exchanged);
  return exchanged.response.body.length === 0 ? null : readAnswer(exchanged, (json) => json);
}

/** NotFound is always the 404 of this call: a 404 of the login is Unauthenticated. */
async function unlessNotFound<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isIamError(error, "NotFound")) return undefined;
    throw error;
  }
}
