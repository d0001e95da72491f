/** The door through which everything that can go wrong becomes an IamError. */

import { HttpError, type HttpResponse } from "../../http/http.ts";
import { parseRetryAfter } from "../../http/retry-after.ts";
import { assertNever } from "../../util/assert-never.ts";
import type { Redacted } from "../../util/redacted.ts";
import type { Instant } from "../../util/time.ts";
import { IamError, type IamErrorCode, quoteServerText } from "../errors.ts";
import type { Operation } from "../model.ts";
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

/** The code of an answer that is no success, by its status alone. */
export function codeOfStatus(status: number): IamErrorCode {
  const known = byStatus[status];
  if (known !== undefined) return known;
  if (status >= 500) return "Unavailable";
  return status >= 400 ? "FailedPrecondition" : "MalformedResponse";
}

/** An answer together with what went into the call. */
export interface Exchanged {
  readonly operation: Operation;
  readonly response: HttpResponse;
  /** Everything secret that the request carried. */
  readonly secrets: readonly Redacted[];
  readonly receivedAt: Instant;
  /** A 401 of this call alone: the same token is accepted otherwise. */
  readonly loginStands?: boolean;
}

/** Credentials go to the origin of the connection only. */
const REDIRECTED =
  ", a redirect, which the operator does not follow; check the connection's baseURL";

const LOGIN_STANDS = " while the login is accepted";

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

export function statusFailure(exchanged: Exchanged): IamError {
  const { operation, response, receivedAt, loginStands = false } = exchanged;
  const { status, headers } = response;
  const { message, requestId } = saidBy(exchanged);
  const retryAt = parseRetryAfter(headers, receivedAt);
  const words = message === undefined ? "" : `: ${message}`;
  const trace = requestId === undefined ? "" : ` (request ${requestId})`;
  return new IamError(
    codeOfStatus(status),
    `${operation} was answered with status ${status}${isRedirect(status) ? REDIRECTED : ""}${loginStands ? LOGIN_STANDS : ""}${words}${trace}`,
    {
      operation,
      status,
      ...(requestId === undefined ? {} : { requestId }),
      ...(retryAt === undefined ? {} : { retryAt }),
      loginStands,
    },
  );
}

/** A success that cannot be understood. */
export function shapeFailure(
  exchanged: Exchanged,
  error: ShapeError,
  isTooLarge = false,
): IamError {
  const { operation, response } = exchanged;
  const { requestId } = saidBy(exchanged);
  return new IamError("MalformedResponse", `${operation} cannot be understood: ${error.message}`, {
    operation,
    status: response.status,
    isTooLarge,
    ...(requestId === undefined ? {} : { requestId }),
  });
}

/** A call without an answer. */
export function transportFailure(operation: Operation, error: unknown): IamError {
  if (!(error instanceof HttpError)) {
    // Not quoted and not kept as cause: a transport that breaks its promise may say anything.
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

/** A call that was given up before anything was sent. */
export function unsentFailure(operation: Operation, why: string, cause?: unknown): IamError {
  return new IamError("Unavailable", `${operation} was not sent: ${why}`, {
    operation,
    sent: false,
    cause,
  });
}

/** The console's name for the request, which its people can look up; from the answer or its headers. */
export function requestIdOf(exchanged: Exchanged): string | undefined {
  return saidBy(exchanged).requestId;
}

function saidBy({ response, secrets }: Exchanged) {
  const said = readServerText(response.body);
  const hidden = [...secrets, ...said.secrets].flatMap(spellings);
  const quote = (text: string | undefined) =>
    text === undefined ? undefined : quoteServerText(text, hidden) || undefined;
  const requestId = quote(said.requestId ?? response.headers["x-request-id"]);
  return { message: quote(said.message), requestId: requestId?.slice(0, 128) };
}
