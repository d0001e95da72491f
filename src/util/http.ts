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
