import { decoded } from "../../http/content-encoding.ts";
import type { HttpRequest, HttpResponse, SendHttp } from "../../http/http.ts";
import { parseRetryAfter } from "../../http/retry-after.ts";
import { ServerClock } from "../../http/server-clock.ts";
import { undisputedTime, wallTime } from "../../util/agreed-time.ts";
import { Semaphore } from "../../util/semaphore.ts";
import { type Clock, type Instant, SECOND } from "../../util/time.ts";
import { TokenBucket } from "../../util/token-bucket.ts";
import type { Span, Tracer } from "../../util/trace.ts";
import { IamError, isIamError, WEB_PAGE } from "../errors.ts";
import type { Json } from "../model.ts";
import { Cooldown } from "../session/cooldown.ts";
import { type Identity, type Organization, organizationHeaders } from "../session/identity.ts";
import { parseJson } from "../wire/json.ts";
import { ShapeError } from "../wire/shape-error.ts";
import type { Call } from "./call.ts";
import {
  codeOfStatus,
  type Exchanged,
  requestIdOf,
  shapeFailure,
  statusFailure,
  transportFailure,
  unsentFailure,
} from "./failures.ts";

export interface Limits {
  readonly requestsPerSecond: number;
  readonly burst: number;
  readonly concurrency: number;
  readonly timeoutMs: number;
}

interface ExchangeOptions {
  readonly baseURL: string;
  readonly organization: Organization;
  readonly limits: Limits;
  readonly mutationTimeoutMs: number;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly send: SendHttp;
  readonly beforeMutation: (timeoutMs: number) => void;
  readonly onRequest: (operation: string, code: string, seconds: number) => void;
  readonly tracer: Tracer;
}

/** Concurrent urgent calls and logins, in addition to the connection's limit, because all other calls may hang. */
export const URGENT_CALLS = 2;
const ONE_MIB = 1_024 * 1_024;
const MAX_RECORD_BYTES = ONE_MIB;
/** Limit of one list answer, and of all pages of a listing together. */
export const MAX_LIST_BYTES = 8 * ONE_MIB;

/**
 * Sends each call once, within the connection's limits.
 *
 * *Guarantees*: a mutating call passes the fence after all waits here and again right before its first byte is sent,
 * and has a short deadline (S8). During a `Retry-After`, only calls with `ignoresHold` are sent. A failure before
 * sending has `sent: false`. Rejects with IamError, or with OutdatedIdentity before sending.
 */
export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #host: string;
  readonly #slots: Semaphore;
  readonly #urgentSlots = new Semaphore(URGENT_CALLS);
  readonly #bucket: TokenBucket;
  /** The pause that the console required with `Retry-After`. */
  readonly #hold: Cooldown;
  readonly #consoleClock: ServerClock;

  constructor(options: ExchangeOptions) {
    const { requestsPerSecond, burst, concurrency } = options.limits;
    this.#options = options;
    this.#host = new URL(options.baseURL).host;
    this.#slots = new Semaphore(concurrency);
    this.#bucket = new TokenBucket(options.clock, { perSecond: requestsPerSecond, burst });
    this.#hold = new Cooldown(options.clock);
    this.#consoleClock = new ServerClock(options.clock);
  }

  /** Seconds by which the console's clock is ahead of the process's own; `undefined` if it is unknown. */
  get skew(): number | undefined {
    const time = this.#consoleClock.now();
    return time === undefined ? undefined : (time - wallTime(this.#options.clock)) / SECOND;
  }

  /** By the console's clock; `undefined` if it is unknown, or overruled by the clocks of process and API server. */
  get consoleTime(): Instant | undefined {
    return this.#consoleClock.isOverruled ? undefined : this.#consoleClock.now();
  }

  /** Whether a `Retry-After` of the console is in effect. */
  get isHeld(): boolean {
    return this.#hold.until !== undefined;
  }

  /** Throws RateLimited while a `Retry-After` is in effect, whichever call of the connection got it. */
  refuseWhileHeld(operation: string): void {
    const retryAt = this.#hold.until;
    if (retryAt === undefined) return;
    const message = `${operation} was not sent: the console requires a pause`;
    throw new IamError("RateLimited", message, { operation, sent: false, retryAt });
  }

  /** Resolves to the answer, whatever its status. */
  send(call: Call, identity: Identity, signal: AbortSignal): Promise<Exchanged> {
    const { operation, method } = call;
    const fields = {
      operation,
      "http.request.method": method,
      "server.address": this.#host,
    };
    return this.#options.tracer.span(`console ${operation}`, fields, async (span) => {
      const exchanged = await this.#sendInTurn(call, identity, signal, span);
      noteAnswer(span, exchanged);
      return exchanged;
    });
  }

  async #sendInTurn(
    call: Call,
    identity: Identity,
    signal: AbortSignal,
    span: Span,
  ): Promise<Exchanged> {
    const { clock } = this.#options;
    const since = clock.monotonic();
    let isSending = false;
    try {
      return await (call.isUrgent ? this.#urgentSlots : this.#slots).run(async () => {
        if (call.isUrgent) this.#bucket.reserve();
        else await this.#bucket.take(signal);
        signal.throwIfAborted();
        if (!call.ignoresHold) this.refuseWhileHeld(call.operation);
        if (identity.isUsable?.() === false) throw new OutdatedIdentity();
        if (call.isMutating) this.#options.beforeMutation(this.#timeoutOf(call));
        isSending = true;
        span.set({ waitedMs: Math.round(clock.monotonic() - since) });
        call.onSend?.();
        return await this.#transmit(call, identity, signal);
      }, signal);
    } catch (error) {
      if (isSending || isIamError(error) || error instanceof OutdatedIdentity) throw error;
      throw signal.aborted
        ? unsentFailure(call.operation, "it was cancelled")
        : unsentFailure(call.operation, "changes are not allowed now", error);
    }
  }

  async #transmit(call: Call, identity: Identity, signal: AbortSignal): Promise<Exchanged> {
    const { clock, send, onRequest } = this.#options;
    const startedAt = clock.monotonic();
    const finished = (code: string) =>
      onRequest(call.operation, code, (clock.monotonic() - startedAt) / 1_000);
    const request = this.#toRequest(call, identity, signal);
    let response: HttpResponse;
    try {
      response = decoded(await send(request), request.maxBytes);
    } catch (error) {
      const failure = transportFailure(call.operation, error);
      finished(failure.code);
      throw failure;
    }
    finished(isPage(call, response) ? WEB_PAGE : String(response.status));
    const receivedAt = clock.now();
    this.#consoleClock.note(response.headers, startedAt, undisputedTime(clock));
    if (isThrottled(response.status))
      this.#holdUntil(parseRetryAfter(response.headers, receivedAt));
    const secrets = [...identity.secrets, ...call.secrets];
    return { operation: call.operation, response, secrets, receivedAt };
  }

  #holdUntil(retryAt = 0): void {
    // Of several answers, the longest wait counts.
    if (retryAt > (this.#hold.until ?? 0)) this.#hold.start(retryAt - this.#options.clock.now());
  }

  #toRequest(call: Call, identity: Identity, signal: AbortSignal): HttpRequest {
    const { baseURL, organization, userAgent } = this.#options;
    return {
      method: call.method,
      url: `${baseURL.replace(/\/+$/, "")}${call.path}`,
      headers: {
        accept: "application/json",
        "accept-encoding": "identity",
        "user-agent": userAgent,
        ...(call.body === undefined ? {} : { "content-type": "application/json" }),
        ...(call.isPublic ? {} : organizationHeaders(organization, call.ignoresPartition !== true)),
        ...identity.headers.reveal(),
      },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      timeoutMs: this.#timeoutOf(call),
      maxBytes: call.method === "GET" ? MAX_LIST_BYTES : MAX_RECORD_BYTES,
      signal,
      ...(call.isMutating
        ? { beforeSending: () => this.#options.beforeMutation(this.#timeoutOf(call)) }
        : {}),
    };
  }

  #timeoutOf(call: Call): number {
    const { limits, mutationTimeoutMs } = this.#options;
    return call.isMutating ? Math.min(limits.timeoutMs, mutationTimeoutMs) : limits.timeoutMs;
  }
}

/** The call was not sent: while it waited, its identity was replaced or doubted. */
export class OutdatedIdentity extends Error {}

/** Answers with any other status concern only their own call. */
function isThrottled(status: number): boolean {
  return status === 429 || status >= 500;
}

/** A failure here must not lose the answer: it may be the only answer with a key's secret. */
function noteAnswer(span: Span, exchanged: Exchanged): void {
  if (!span.isRecording) return;
  const { status } = exchanged.response;
  try {
    span.set({ "http.response.status_code": status, requestId: requestIdOf(exchanged) });
    if (!isSuccess(status)) span.fail(codeOfStatus(status));
  } catch {
    // The span lacks these fields.
  }
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** No JSON begins like a page. A page in place of the login is a failed login. */
function isPage({ isPublic }: Call, { status, body }: HttpResponse): boolean {
  return isPublic !== true && isSuccess(status) && /^\s*</.test(body.toString("utf8", 0, 64));
}

/** Throws if the answer is not a success. */
export function requireSuccess(exchanged: Exchanged): void {
  if (!isSuccess(exchanged.response.status)) throw statusFailure(exchanged);
}

/** Reads a successful answer; MalformedResponse if it is not JSON or `read` cannot use it. */
export function readAnswer<T>(exchanged: Exchanged, read: (json: Json) => T): T {
  return readBody(exchanged, (body) => {
    const json = parseJson(body);
    if (json === undefined)
      throw new ShapeError("the answer is not JSON, or too deep, or too large");
    return read(json);
  });
}

/** Reads the body of a successful answer; MalformedResponse if `read` cannot use it. */
export function readBody<T>(exchanged: Exchanged, read: (body: Buffer) => T): T {
  requireSuccess(exchanged);
  try {
    return read(exchanged.response.body);
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw shapeFailure(exchanged, error, isLarge(exchanged.response.body));
  }
}

const LARGE_BYTES = 1_048_576;

/** Whether a response may be unreadable because of its size: valid JSON with too many values. */
function isLarge(body: Buffer): boolean {
  return body.length > LARGE_BYTES;
}

/** Whether an answer proves that the console accepted the credentials. */
export function provesCredentials({ response: { status } }: Exchanged): boolean {
  if (isSuccess(status)) return true;
  const code = codeOfStatus(status);
  return code === "PermissionDenied" || code === "NotFound" || code === "InvalidArgument";
}
