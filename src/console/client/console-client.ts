import type { AddressPolicy } from "../../http/address-policy.ts";
import type { SendHttp } from "../../http/http.ts";
import type { Lookup } from "../../http/resolver.ts";
import type { TlsSettings } from "../../http/tls-settings.ts";
import type { Random } from "../../util/random.ts";
import type { Clock } from "../../util/time.ts";
import { TokenBucket } from "../../util/token-bucket.ts";
import { noTracer, type Tracer } from "../../util/trace.ts";
import {
  type ExtraCalls,
  endpoints,
  extraEndpoints,
  type ListPages,
  pagedAccounts,
} from "../endpoints.ts";
import { Exchange, type Limits, URGENT_CALLS } from "../exchange/exchange.ts";
import { createTransport } from "../exchange/transport.ts";
import type { IamCredentials } from "../model.ts";
import { anonymous, type Organization, userWith } from "../session/identity.ts";
import { LoginCircuits } from "../session/login-circuits.ts";
import {
  type LoginEnd,
  LoginSession,
  type TokenSession,
  tokenSession,
} from "../session/session.ts";
import { TokenChecks } from "../session/token-checks.ts";
import { Caller, type CallerOptions } from "./caller.ts";
import type { Calls, IamClient } from "./client.ts";
import { type Row, toCall } from "./endpoint.ts";
import { singleflight } from "./singleflight.ts";
import { throttle } from "./throttle.ts";

/** Observes requests and logins, for metrics. Must not throw. */
export interface IamObserver {
  /** A request ended; `code` is the status of its answer, or the IamErrorCode if there is no answer. */
  onRequest(operation: string, code: string, seconds: number): void;
  onLogin(result: LoginEnd): void;
}

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
  /** Resolves the names of the console and the proxy; absent: as the machine does. */
  readonly lookup?: Lookup | undefined;
  /** The namespace whose users decide which console this is; absent: an administrator. */
  readonly owner?: string | undefined;
  readonly extraCalls?: ExtraCalls;
  /** Absent: the console lists all accounts in one answer. */
  readonly accountListPages?: ListPages | undefined;
  /** `iam-operator/<version>` */
  readonly userAgent: string;
  readonly clock: Clock;
  readonly random: Random;
  /** The circuits of the process; by default, the client shares its circuit with no other client. */
  readonly loginCircuits?: LoginCircuits;
  /** A user's change or request: the first login is tried even if logins with these credentials are paused. */
  readonly endsLoginPause?: boolean;
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

type Rows = Readonly<Record<string, Row<unknown, unknown>>>;

/** A client for one console, with its own connections and session. Changed options require a new client. */
export function createIamClient({
  caBundle,
  trustOnlyCABundle,
  clientCertificate,
  ...options
}: IamClientOptions): IamClient {
  const closing = new AbortController();
  // Apart from the options, which the client keeps: the certificates' texts would stay in memory.
  const wire = createWire(options, { caBundle, trustOnlyCABundle, clientCertificate });
  const exchange = createExchange(options, wire.send);
  const { session, leave } = createSession(options, exchange, closing.signal);
  const shared = {
    exchange,
    session,
    tokenChecks: checkTokens(exchange, closing.signal),
    clock: options.clock,
    closing: closing.signal,
  };
  const rest = {
    clockSkew: () => exchange.skew,
    consoleTime: () => exchange.consoleTime,
    close: async () => {
      if (!closing.signal.aborted) leave();
      closing.abort(new Error("the client was closed"));
      await wire.close();
    },
  };
  const { login: _, ...documented } = endpoints;
  const rows = {
    ...documented,
    ...(options.accountListPages && pagedAccounts(options.accountListPages)),
    ...extraEndpoints(options.extraCalls ?? {}),
  } as Rows;
  const passes = new TokenBucket(options.clock, REQUESTED_CALLS);
  const variant = (own: Pick<CallerOptions, "mayPassHold" | "deadlineMs">): IamClient => {
    const caller = new Caller({ ...shared, ...own });
    return {
      ...(callsOf(rows, caller, options.clock) as Calls),
      authenticate: (signal) => caller.authenticate(signal),
      ...rest,
      get urgent() {
        return urgent;
      },
      get requested() {
        return requested;
      },
    };
  };
  const urgent = variant({ mayPassHold: () => true, deadlineMs: URGENT_DEADLINE_MS });
  const requested = variant({ mayPassHold: (isHeld) => isHeld && passes.tryTake() });
  return variant({ mayPassHold: () => false });
}

function createWire(options: Omit<IamClientOptions, keyof TlsSettings>, tls: TlsSettings) {
  if (options.send !== undefined) return { send: options.send, close: async () => undefined };
  return createTransport({
    origin: new URL(options.baseURL).origin,
    connections: options.limits.concurrency + URGENT_CALLS,
    clock: options.clock,
    ...tls,
    lookup: options.lookup,
    owner: options.owner,
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
): { readonly session: TokenSession; readonly leave: () => void } {
  const { credentials, clock, random, observer, baseURL } = options;
  if (credentials.kind === "token")
    return { session: tokenSession(credentials.token), leave: () => undefined };
  const circuits = options.loginCircuits ?? new LoginCircuits(clock, random);
  const { circuit, leave } = circuits.join(baseURL, credentials);
  if (options.endsLoginPause) circuit.endPause();
  const call = toCall("login", endpoints.login, credentials);
  const login = () =>
    endpoints.login.read(() => exchange.send(call, anonymous, closing), credentials);
  const onLogin = (result: LoginEnd) => observer?.onLogin(result);
  return { session: new LoginSession({ login, circuit, onLogin }), leave };
}

/** Checks tokens with the smallest documented Bearer call that names no account, key, policy or cluster. */
function checkTokens(exchange: Exchange, closing: AbortSignal): TokenChecks {
  const { searchActions } = endpoints;
  const query = { q: "a", pageSize: 1 };
  const neutral = {
    ...toCall("searchActions", searchActions, query),
    ignoresHold: true,
    isUrgent: true,
  } as const;
  return new TokenChecks((token) =>
    searchActions.read(() => exchange.send(neutral, userWith(token.value), closing), query),
  );
}

/** The methods of a client, one for each row. */
function callsOf(rows: Rows, caller: Caller, clock: Clock): object {
  return Object.fromEntries(
    Object.entries(rows).map(([operation, row]) => [
      operation,
      methodOf(operation, row, caller, clock),
    ]),
  );
}

function methodOf<Input, Answer>(
  operation: string,
  row: Row<Input, Answer>,
  caller: Caller,
  clock: Clock,
): (input: Input, signal?: AbortSignal) => Promise<Answer> {
  const make = async (input: Input, { signal, onSend }: CallOptions) =>
    row.read(async (page) => {
      const call = toCall(operation, row, input, page);
      return caller.call(onSend === undefined ? call : { ...call, onSend }, signal);
    }, input);
  if (!row.isShared) return (input, signal) => make(input, { signal });
  const { maxPauseMs } = row;
  const spaced = maxPauseMs === undefined ? make : throttle({ clock, maxPauseMs }, make);
  return singleflight(operation, (input: Input, onSend) => spaced(input, { onSend }));
}

interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onSend?: () => void;
}
