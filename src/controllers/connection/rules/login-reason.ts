import type { IamError, IamErrorCode } from "../../../iam/errors.ts";

export type LoginReason = "MfaRequired" | "LoginPaused" | "LoginFailed" | "ConsoleUnavailable";

const reasons: Readonly<Record<IamErrorCode, LoginReason>> = {
  Unauthenticated: "LoginFailed",
  PermissionDenied: "LoginFailed",
  NotFound: "LoginFailed",
  AlreadyExists: "LoginFailed",
  InvalidArgument: "LoginFailed",
  FailedPrecondition: "LoginFailed",
  RateLimited: "ConsoleUnavailable",
  Unavailable: "ConsoleUnavailable",
  Timeout: "ConsoleUnavailable",
  MalformedResponse: "ConsoleUnavailable",
  MfaRequired: "MfaRequired",
  LoginPaused: "LoginPaused",
};

/** Why a connection is not authenticated, by the error of its login. */
export function loginReason({ code }: IamError): LoginReason {
  return reasons[code];
}
