/** Converts every failure of a call to an IamError. */

import { HttpError, type HttpFailure, type HttpResponse } from "../../http/http.ts";
import { parseRetryAfter } from "../../http/retry-after.ts";
import { assertNever } from "../../util/assert-never.ts";
import type { Redacted } from "../../util/redacted.ts";
import type { Instant } from "../../util/time.ts";
import { IamError, type IamErrorCode, quoteServerText, type TokenVerdict } from "../errors.ts";
import type { ShapeError } from "../wire/shape-error.ts";
import { spellings } from "./secret-spellings.ts";
import { readServerText } from "./server-text.ts";

const byStatus: Readonly<Record<number, IamErrorCode>> = {
  401: "Unauthenticated",
  403: "PermissionDenied",
  404: "NotFound",
  409: "AlreadyExists",
  422: "InvalidArgument",
  429: "RateLimited",
};

/** The error code of an unsuccessful answer; depends only on its status. */
export function codeOfStatus(status: number): IamErrorCode {
  const known = byStatus[status];
  if (known !== undefined) return known;
  if (status >= 500) return "Unavailable";
  return status >= 400 ? "FailedPrecondition" : "MalformedResponse";
}

/** An answer, with the parts of its call that are needed to read it. */
export interface Exchanged {
  readonly operation: string;
  readonly response: HttpResponse;
  /** All secrets of the request. */
  readonly secrets: readonly Redacted[];
  readonly receivedAt: Instant;
  /** After a 401: whether the console still accepts the token; absent if the call was made without a token. */
  readonly login?: TokenVerdict;
}

/** Credentials are sent only to the origin of the connection. */
const REDIRECTED =
  ", a redirect, which the operator does not follow; check the connection's baseURL";

const LOGIN: Readonly<Record<TokenVerdict, string>> = {
  Accepted: " while the login is accepted",
  Unknown: "; whether the login is still accepted is not known",
  Refused: "",
};

/** The documented message of a 403. */
const POLICY_DENIED = /^policy denied\b/i;

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

export function statusFailure(exchanged: Exchanged): IamError {
  const { operation, response, receivedAt, login } = exchanged;
  const { status, headers } = response;
  const { message, requestId } = errorDetails(exchanged);
  const retryAt = parseRetryAfter(headers, receivedAt);
  const words = message === undefined ? "" : `: ${message}`;
  const trace = requestId === undefined ? "" : ` (request ${requestId})`;
  return new IamError(
    codeOfStatus(status),
    `${operation} was answered with status ${status}${isRedirect(status) ? REDIRECTED : ""}${login === undefined ? "" : LOGIN[login]}${words}${trace}`,
    {
      operation,
      status,
      ...(requestId === undefined ? {} : { requestId }),
      ...(retryAt === undefined ? {} : { retryAt }),
      ...(login === undefined ? {} : { login }),
      isPolicyDenied: status === 403 && POLICY_DENIED.test(message ?? ""),
    },
  );
}

/** The error for a successful answer that cannot be read. */
export function shapeFailure(
  exchanged: Exchanged,
  error: ShapeError,
  isTooLarge = false,
): IamError {
  const { operation, response } = exchanged;
  const { requestId } = errorDetails(exchanged);
  const message = `${operation} was answered with status ${response.status}${formOf(response)}, but the answer cannot be understood: ${error.message}`;
  return new IamError("MalformedResponse", message, {
    operation,
    status: response.status,
    isTooLarge,
    ...(requestId === undefined ? {} : { requestId }),
  });
}

const MEDIA_TYPE = /^[a-z]{1,20}[/][a-z0-9.+-]{1,30}(?=$|[ ;])/i;
const ENCODING = /^[a-z0-9-]{1,20}$/i;

/** The type and encoding of a body, if they have a usual form: nothing else of a header is quoted. */
function formOf({ headers }: HttpResponse): string {
  const [type] = MEDIA_TYPE.exec(headers["content-type"] ?? "") ?? [];
  const [encoding] = ENCODING.exec(headers["content-encoding"] ?? "") ?? [];
  const named = [type, encoding && `content encoding ${encoding}`].filter((part) => part);
  return named.length === 0 ? "" : ` (${named.join(", ")})`;
}

/** The error for a call without an answer, or with an answer that is too large. */
export function transportFailure(operation: string, error: unknown): IamError {
  if (!(error instanceof HttpError)) {
    // Not quoted and not kept as the cause: the message of an unexpected error may contain anything.
    return new IamError("Unavailable", `${operation} failed in an unexpected way`, { operation });
  }
  const { failure } = error;
  const isAddressRefused = failure === "forbidden";
  return new IamError(codeOfFailure(error), `${operation} ${fateOf(failure)}: ${error.message}`, {
    operation,
    sent: failure !== "refused" && !isAddressRefused,
    isTooLarge: failure === "tooLarge",
    isAddressRefused,
    cause: error,
  });
}

function fateOf(failure: HttpFailure): string {
  if (failure === "forbidden") return "was not sent";
  return failure === "tooLarge"
    ? "was answered, but cannot be read"
    : "got no answer from the console";
}

function codeOfFailure({ failure }: HttpError): IamErrorCode {
  switch (failure) {
    case "timeout":
      return "Timeout";
    case "tooLarge":
      return "MalformedResponse";
    case "refused":
    case "forbidden":
    case "aborted":
    case "network":
      return "Unavailable";
    default:
      return assertNever(failure);
  }
}

/** The error for a call that ended before anything was sent. */
export function unsentFailure(operation: string, why: string, cause?: unknown): IamError {
  return new IamError("Unavailable", `${operation} was not sent: ${why}`, {
    operation,
    sent: false,
    cause,
  });
}

/** The console's request ID, from the body or the headers of the answer, for the console's support. */
export function requestIdOf(exchanged: Exchanged): string | undefined {
  return errorDetails(exchanged).requestId;
}

function errorDetails({ response, secrets }: Exchanged) {
  const said = readServerText(response.body);
  const hidden = [...secrets, ...said.secrets].flatMap(spellings);
  const quote = (text: string | undefined) =>
    text === undefined ? undefined : quoteServerText(text, hidden) || undefined;
  const requestId = quote(said.requestId ?? response.headers["x-request-id"]);
  return { message: quote(said.message), requestId: requestId?.slice(0, 128) };
}
