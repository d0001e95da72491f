import { keep } from "../util/kept.ts";
import type { Redacted } from "../util/redacted.ts";
import type { Instant } from "../util/time.ts";

/** What is known about a token after a call with it got a 401. */
export type TokenVerdict = "Accepted" | "Refused" | "Unknown";

/** A closed set: code switches over it exhaustively, and metrics use the codes as labels. */
export type IamErrorCode =
  | "Unauthenticated"
  | "PermissionDenied"
  | "NotFound"
  | "AlreadyExists"
  | "InvalidArgument"
  | "RateLimited"
  | "FailedPrecondition"
  | "Unavailable"
  | "Timeout"
  | "MalformedResponse"
  /** The call was answered with success, and a later read does not show its effect. */
  | "ChangeNotApplied"
  /** The login requires a second factor; no further login until the credentials change. */
  | "MfaRequired"
  /** Too many failed logins: no login is tried before `retryAt`. */
  | "LoginPaused";

/** The code of a request that was answered with a status of success and a web page: a gateway answered it. */
export const WEB_PAGE = "WebPage";

/** Whether a failure has this code because the console did not answer, or asked to wait. */
export function isUnanswered(code: string): boolean {
  return code === "Unavailable" || code === "Timeout" || code === "RateLimited";
}

/** Whether no answer to the call was received, or the answer was that the console cannot answer now. */
export function isUnansweredCall(error: unknown): boolean {
  return !isIamError(error) || isUnanswered(error.code);
}

/** Whether the console answered the call, but neither rejected it nor gave an answer that can be read. */
export function isUnreadable(error: unknown): error is IamError {
  return isIamError(error, "MalformedResponse");
}

interface IamErrorDetails {
  readonly operation: string;
  readonly status?: number;
  readonly requestId?: string;
  readonly retryAt?: Instant;
  /** False if it is certain that the console never received the request. */
  readonly sent?: boolean;
  /** After a 401 to a call of the connection's user: whether the console still accepts the login. */
  readonly login?: TokenVerdict;
  /** A 403 with the documented message: the console checked the policies of an authentic caller. */
  readonly isPolicyDenied?: boolean;
  /** Whether the failure is, or may be, due to the size of the response. */
  readonly isTooLarge?: boolean;
  /** Whether the operator does not connect to this address. */
  readonly isAddressRefused?: boolean;
  readonly cause?: unknown;
}

/** The error of a failed call to the console. Its message is bounded and never contains a whole body or a secret. */
export class IamError extends Error {
  override readonly name = "IamError";
  readonly code: IamErrorCode;
  readonly operation: string;
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  /** Do not retry before this instant (`Retry-After`, or the end of a pause). */
  readonly retryAt: Instant | undefined;
  readonly sent: boolean;
  readonly isTooLarge: boolean;
  readonly isAddressRefused: boolean;
  readonly login: TokenVerdict | undefined;
  readonly isPolicyDenied: boolean;

  constructor(code: IamErrorCode, message: string, details: IamErrorDetails) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.code = code;
    this.operation = details.operation;
    this.status = details.status;
    this.requestId = details.requestId;
    this.retryAt = details.retryAt;
    this.sent = details.sent ?? true;
    this.isTooLarge = details.isTooLarge ?? false;
    this.isAddressRefused = details.isAddressRefused ?? false;
    this.login = details.login;
    this.isPolicyDenied = details.isPolicyDenied ?? false;
  }
}

export function isIamError(error: unknown, code?: IamErrorCode): error is IamError {
  return error instanceof IamError && (code === undefined || error.code === code);
}

const REFUSED: ReadonlySet<IamErrorCode> = new Set([
  "Unauthenticated",
  "PermissionDenied",
  "NotFound",
  "InvalidArgument",
]);

/**
 * Whether a failed createServiceAccount or issueKey may have taken effect. `NotCommitted` only if the console answered
 * 401, 403, 404 or 422, or never received the request; everything else is `Unknown` and requires recovery.
 */
export function commitOutcome(error: unknown): "NotCommitted" | "Unknown" {
  if (!isIamError(error)) return "Unknown";
  return !error.sent || REFUSED.has(error.code) ? "NotCommitted" : "Unknown";
}

const MAX_QUOTE = 256;

/** A server's text for people to read: one line, bounded, without the given secrets. */
export function quoteServerText(text: string, secrets: readonly Redacted[] = []): string {
  // Longest first: a secret may contain another secret. Again after joining the lines: a break may have split a secret.
  const longestFirst = secrets
    .map((secret) => secret.reveal())
    .filter((secret) => secret !== "")
    .sort((one, other) => other.length - one.length);
  const line = without(text.toWellFormed(), longestFirst)
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  const clean = without(line, longestFirst);
  const quote =
    clean.length <= MAX_QUOTE ? clean : `${clean.slice(0, MAX_QUOTE - 1).toWellFormed()}…`;
  // Errors are kept, in statuses and for the next login; the text that the quote was cut from must not be.
  return keep(quote).value;
}

function without(text: string, secrets: readonly string[]): string {
  const left = secrets.reduce((result, secret) => result.replaceAll(secret, "<redacted>"), text);
  // A given secret may be half a surrogate pair, so its removal can leave the other half.
  return left.toWellFormed();
}
