/** Converts the API server's refusals, an HTTP status and a metav1.Status, to KubeError. */
import type { HttpError, HttpFailure } from "../../http/http.ts";
import { parseRetryAfter } from "../../http/retry-after.ts";
import type { Instant } from "../../util/time.ts";
import { isKubeError, KubeError, type KubeErrorCode } from "../errors.ts";

const MAX_MESSAGE = 500;
const TOO_LARGE_VERSION = "ResourceVersionTooLarge";
const TERMINATING = "NamespaceTerminating";

/** The fields of metav1.Status that the operator reads. */
interface ServerStatus {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly retryAfterSeconds?: number;
  /** A cause that says more than the reason: a resource version newer than the server's, or a terminating namespace. */
  readonly cause?: typeof TOO_LARGE_VERSION | typeof TERMINATING;
  /** Whether the object has a different UID than the precondition. */
  readonly uidDiffers: boolean;
}

interface ServerRefusal {
  /** The action and its object: `apply secrets team-a/ci`. */
  readonly attempted: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly serverStatus: ServerStatus | undefined;
  readonly now: Instant;
}

/** The error for an unsuccessful answer. */
export function toKubeError(refusal: ServerRefusal): KubeError {
  const { attempted, status, headers, serverStatus, now } = refusal;
  const retryAt = parseRetryAfter(headers, now, serverStatus?.retryAfterSeconds);
  const reason = serverStatus?.cause ?? serverStatus?.reason;
  const said = bounded(serverStatus?.message ?? "");
  // The server treats a UID precondition that differs as a change of an immutable field.
  const code = status === 422 && serverStatus?.uidDiffers ? "Conflict" : codeOf(status, reason);
  return new KubeError(code, `${attempted}: ${said || `status ${status}`}`, {
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(retryAt === undefined ? {} : { retryAt }),
  });
}

/** Whether the server does not know a resource version yet: the server lags, or etcd was restored. */
export function isVersionTooLarge(error: KubeError): boolean {
  return error.reason === TOO_LARGE_VERSION;
}

/** Whether a new object is refused because its namespace is being deleted or does not exist. */
export function isNamespaceGone(error: unknown): boolean {
  return isKubeError(error, "NotFound") || (isKubeError(error) && error.reason === TERMINATING);
}

/** Whether the server refuses to stream a kind because its cache is not filled yet. Only the message shows this. */
export function isInitializing({ code, message }: KubeError): boolean {
  return code === "RateLimited" && message.endsWith(": storage is (re)initializing");
}

const CODE_OF_FAILURE: Readonly<Record<HttpFailure, KubeErrorCode>> = {
  refused: "Unavailable",
  forbidden: "Unavailable",
  network: "Unavailable",
  timeout: "Timeout",
  aborted: "Timeout",
  tooLarge: "MalformedResponse",
};

/** The error for a request that got no answer. */
export function fromHttpError(attempted: string, error: HttpError): KubeError {
  return new KubeError(CODE_OF_FAILURE[error.failure], `${attempted}: ${error.message}`, {
    cause: error,
  });
}

/** Reads a metav1.Status; `undefined` if the value is not a Status. */
export function parseStatus(value: unknown): ServerStatus | undefined {
  if (!isRecord(value) || value.kind !== "Status") return undefined;
  const details = isRecord(value.details) ? value.details : {};
  const message = typeof value.message === "string" ? value.message : undefined;
  return {
    ...(typeof value.code === "number" ? { code: value.code } : {}),
    ...(typeof value.reason === "string" ? { reason: value.reason } : {}),
    ...(message === undefined ? {} : { message }),
    ...(typeof details.retryAfterSeconds === "number"
      ? { retryAfterSeconds: details.retryAfterSeconds }
      : {}),
    ...causeOf(details.causes, message),
    uidDiffers: hasCause(details.causes, "field", "metadata.uid"),
  };
}

function causeOf(causes: unknown, message = ""): Pick<ServerStatus, "cause"> {
  // Older servers send only the text without a cause. client-go checks both too.
  const isTooLarge = message.startsWith("Too large resource version");
  if (isTooLarge || hasCause(causes, "reason", TOO_LARGE_VERSION))
    return { cause: TOO_LARGE_VERSION };
  return hasCause(causes, "reason", TERMINATING) ? { cause: TERMINATING } : {};
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hasCause(causes: unknown, property: "reason" | "field", value: string): boolean {
  return (
    Array.isArray(causes) && causes.some((cause) => isRecord(cause) && cause[property] === value)
  );
}

const CODE_OF_STATUS: Readonly<Record<number, KubeErrorCode>> = {
  401: "Unauthenticated",
  403: "Forbidden",
  404: "NotFound",
  408: "Timeout",
  409: "Conflict",
  410: "Gone",
  422: "Invalid",
  429: "RateLimited",
  504: "Timeout",
};

/** A version that is too large for the server maps to Gone too: in both cases the caller reads again. */
function codeOf(status: number, reason: string | undefined): KubeErrorCode {
  if (reason === TOO_LARGE_VERSION || reason === "Expired") return "Gone";
  if (status === 409 && reason === "AlreadyExists") return "AlreadyExists";
  const known = CODE_OF_STATUS[status];
  if (known !== undefined) return known;
  if (status >= 500) return "Unavailable";
  // Redirects are not followed: they would send the token to another server.
  return status >= 400 ? "BadRequest" : "MalformedResponse";
}

function bounded(message: string): string {
  const line = message.replaceAll(/\s+/g, " ").trim();
  return line.length <= MAX_MESSAGE ? line : `${line.slice(0, MAX_MESSAGE)}…`;
}
