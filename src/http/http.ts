/** One HTTP request as both plumbing floors hand it to a transport. */
export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Absolute URL with its query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Total deadline in milliseconds, from sending to the last byte of the answer. */
  readonly timeoutMs: number;
  /** Bound of the answer's body in bytes. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  /**
   * Asked when there is a connection, right before the first byte leaves. Where it throws, nothing is sent:
   * the call is `refused`, with what was thrown as its cause.
   */
  readonly beforeSending?: () => void;
}

export interface HttpResponse {
  readonly status: number;
  /** Lower-case names; repeated headers are joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * Why a request has no answer. `refused` is the only cause that proves that the server never saw it.
 * No message carries a URL's query, a header or a body.
 */
export type HttpFailure = "refused" | "timeout" | "aborted" | "tooLarge" | "network";

export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly failure: HttpFailure;

  constructor(failure: HttpFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

/** Sends one request once: no retries, no redirects. Rejects with {@link HttpError} only. */
export type SendHttp = (request: HttpRequest) => Promise<HttpResponse>;

/** A request whose answer is read while it is still being sent; always a GET. */
export interface StreamRequest {
  /** Absolute URL with its query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Deadline in milliseconds of the answer's head; the body has none. */
  readonly headTimeoutMs: number;
  /** Aborting closes the connection and makes the body throw, at any time. */
  readonly signal: AbortSignal;
}

export interface StreamResponse {
  readonly status: number;
  /** Lower-case names; repeated headers are joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** To be iterated once. Leaving the iteration early closes the connection; it throws {@link HttpError} only. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Opens one stream on a connection of its own. Rejects with {@link HttpError} only. */
export type OpenStream = (request: StreamRequest) => Promise<StreamResponse>;
