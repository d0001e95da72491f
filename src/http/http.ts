/** One HTTP request, as the Kubernetes and IAM clients pass it to a transport. */
export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Absolute URL with its query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Total deadline in milliseconds, from sending to the last byte of the answer. */
  readonly timeoutMs: number;
  /** Maximum size of the answer's body in bytes. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  /**
   * Called once there is a connection, right before the first byte is sent. If it throws, nothing is sent and the
   * call fails as `refused`, with the thrown value as its cause.
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
 * Why a request has no answer. Only `refused` and `forbidden` prove that the server never received the request. A
 * `forbidden` address is one to which the operator does not connect. No message contains a URL's query, a header or a body.
 */
export type HttpFailure = "refused" | "forbidden" | "timeout" | "aborted" | "tooLarge" | "network";

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

/** A request whose answer is read while the server still sends it; always a GET. */
export interface StreamRequest {
  /** Absolute URL with its query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Deadline in milliseconds for the answer's head; the body has no deadline. */
  readonly headTimeoutMs: number;
  /** Aborting closes the connection and makes the body throw, at any time. */
  readonly signal: AbortSignal;
}

export interface StreamResponse {
  readonly status: number;
  /** Lower-case names; repeated headers are joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** Can be iterated once. Leaving the iteration early closes the connection. Throws {@link HttpError} only. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Opens one stream on a separate connection. Rejects with {@link HttpError} only. */
export type OpenStream = (request: StreamRequest) => Promise<StreamResponse>;
