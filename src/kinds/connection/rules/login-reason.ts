import { type IamError, isUnanswered } from "../../../console/errors.ts";

export type LoginReason = "MfaRequired" | "LoginPaused" | "LoginFailed" | "ConsoleUnavailable";

/** Why a connection is not authenticated, by the error of its login: every answered login without a token has failed. */
export function loginReason({ code }: IamError): LoginReason {
  if (code === "MfaRequired" || code === "LoginPaused") return code;
  return isUnanswered(code) ? "ConsoleUnavailable" : "LoginFailed";
}
