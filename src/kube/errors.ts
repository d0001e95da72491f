import type { Instant } from "../util/time.ts";

/** A closed set: code switches over it exhaustively, and metrics use the codes as labels. */
export type KubeErrorCode =
  | "Unauthenticated"
  | "Forbidden"
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Gone"
  | "Invalid"
  | "BadRequest"
  | "RateLimited"
  | "Unavailable"
  | "Timeout"
  | "MalformedResponse"
  /** The lease may be lost; the call was not sent. */
  | "NotLeading";

interface KubeErrorDetails {
  readonly status?: number;
  /** `reason` of the server's Status. */
  readonly reason?: string;
  readonly retryAt?: Instant;
  readonly cause?: unknown;
}

/** The error of a failed call to the API server. Its message contains the server's message, bounded, never a body. */
export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly code: KubeErrorCode;
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly retryAt: Instant | undefined;

  constructor(code: KubeErrorCode, message: string, details: KubeErrorDetails = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.code = code;
    this.status = details.status;
    this.reason = details.reason;
    this.retryAt = details.retryAt;
  }
}

export function isKubeError(error: unknown, code?: KubeErrorCode): error is KubeError {
  return error instanceof KubeError && (code === undefined || error.code === code);
}

const REFUSALS: ReadonlySet<KubeErrorCode> = new Set(["Forbidden", "Invalid", "BadRequest"]);

/** Whether the API server has answered that it does not accept the object: no repetition of the request helps. */
export function isRefusedWrite(error: unknown): error is KubeError {
  return isKubeError(error) && REFUSALS.has(error.code);
}
