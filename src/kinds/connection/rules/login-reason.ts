import { type IamError, isUnanswered } from "../../../console/errors.ts";

export type LoginReason =
  | "MfaRequired"
  | "LoginPaused"
  | "LoginFailed"
  | "AddressRefused"
  | "ConsoleUnavailable";

/** Why a connection is not authenticated, by the error of its login: every answered login without a token has failed. */
export function loginReason({ code, isAddressRefused }: IamError): LoginReason {
  if (isAddressRefused) return "AddressRefused";
  if (code === "MfaRequired" || code === "LoginPaused") return code;
  return isUnanswered(code) ? "ConsoleUnavailable" : "LoginFailed";
}

/** Whether the console has said nothing about the credentials. */
export function isUnjudged(reason: LoginReason): boolean {
  return reason === "ConsoleUnavailable" || reason === "AddressRefused";
}
