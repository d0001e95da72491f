import type { Refusal } from "../server-fault.ts";
import type { Tree } from "./tree.ts";

/** An answer that is not a success, as metav1.Status. */
export class ApiFailure extends Error {
  override readonly name = "ApiFailure";
  readonly status: number;
  readonly reason: string;
  readonly details: Tree;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    reason: string,
    message: string,
    details: Tree = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.details = details;
    this.headers = headers;
  }

  get body(): Tree {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: this.message,
      reason: this.reason,
      details: this.details,
      code: this.status,
    };
  }
}

export const notFound = (what: string) => new ApiFailure(404, "NotFound", `${what} not found`);
export const alreadyExists = (what: string) =>
  new ApiFailure(409, "AlreadyExists", `${what} already exists`);
export const conflict = (what: string, why: string) =>
  new ApiFailure(409, "Conflict", `Operation cannot be fulfilled on ${what}: ${why}`);
export const invalid = (what: string, why: string, field?: string) =>
  new ApiFailure(
    422,
    "Invalid",
    `${what} is invalid: ${why}`,
    field === undefined ? {} : { causes: [{ reason: "FieldValueInvalid", field, message: why }] },
  );
export const badRequest = (why: string) => new ApiFailure(400, "BadRequest", why);
export const forbidden = (why: string, details: Tree = {}) =>
  new ApiFailure(403, "Forbidden", why, details);
export const expired = (why: string) => new ApiFailure(410, "Expired", why);
export const versionTooLarge = (wanted: string, current: string) =>
  new ApiFailure(504, "Timeout", `Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
  });

const REASONS: Readonly<Record<number, string>> = {
  400: "BadRequest",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Expired",
  422: "Invalid",
  429: "TooManyRequests",
};

/** The answer to a request that a fault refuses. */
export function refusal({ status, retryAfter, message = "injected" }: Refusal): ApiFailure {
  const headers: Record<string, string> =
    retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
  return new ApiFailure(status, REASONS[status] ?? "InternalError", message, {}, headers);
}
