/** Converts every failure of a call to an IamError. */

import { HttpError, type HttpResponse } from "../../http/http.ts";
import { parseRetryAfter } from "../../http/retry-after.ts";
import { assertNever } from "../../util/assert-never.ts";
import type { Redacted } from "../../util/redacted.ts";
import type { Instant } from "../../util/time.ts";
import { IamError, type IamErrorCode, quoteServerText } from "../errors.ts";
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
  /** True if only this call got a 401 and the console still accepts the token. */
  readonly loginAccepted?: boolean;
}

/** Credentials are sent only to the origin of the connection. */
const REDIRECTED =
  ", a redirect, which the operator does not follow; check the connection's baseURL";

const LOGIN_ACCEPTED = " while the login is accepted";

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

export function statusFailure(exchanged: Exchanged): IamError {
  const { operation, response, receivedAt, loginAccepted = false } = exchanged;
  const { status, headers } = response;
  const { message, requestId } = errorDetails(exchanged);
  const retryAt = parseRetryAfter(headers, receivedAt);
  const words = message === undefined ? "" : `: ${message}`;
  const trace = requestId === undefined ? "" : ` (request ${requestId})`;
  return new IamError(
    codeOfStatus(status),
    `${operation} was answered with status ${status}${isRedirect(status) ? REDIRECTED : ""}${loginAccepted ? LOGIN_ACCEPTED : ""}${words}${trace}`,
    {
      operation,
      status,
      ...(requestId === undefined ? {} : { requestId }),
      ...(retryAt === undefined ? {} : { retryAt }),
      loginAccepted,
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
  return new IamError("MalformedResponse", `${operation} cannot be understood: ${error.message}`, {
    operation,
    status: response.status,
    isTooLarge,
    ...(requestId === undefined ? {} : { requestId }),
  });
}

/** The error for a call without an answer. */
export function transportFailure(operation: string, error: unknown): IamError {
  if (!(error instanceof HttpError)) {
    // Not quoted and not kept as the cause: the message of an unexpected error may contain anything.
    return new IamError("Unavailable", `${operation} failed in an unexpected way`, { operation });
  }
  return new IamError(
    codeOfFailure(error),
    `${operation} got no answer from the console: ${error.message}`,
    {
      operation,
      sent: error.failure !== "refused",
      isTooLarge: error.failure === "tooLarge",
      cause: error,
    },
  );
}

function codeOfFailure({ failure }: HttpError): IamErrorCode {
  switch (failure) {
    case "timeout":
      return "Timeout";
    case "tooLarge":
      return "MalformedResponse";
    case "refused":
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
