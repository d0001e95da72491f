/** The condition `Authenticated` of a connection. Pure. */
import type { ConditionUpdate } from "../../../api/conditions.ts";
import { toIso8601 } from "../../../util/time.ts";
import { originOf } from "../../connection-origin.ts";
import { ended, withRequestId } from "../../frame/rules/failure.ts";
import type { LoginReason } from "./login-reason.ts";
import type { ConnectionSnapshot, Login } from "./snapshot.ts";

const loginAdvice: Readonly<Record<LoginReason, string>> = {
  MfaRequired:
    "The console requires a second factor from this user. Use a user without a second factor, or a token; the login is retried when the Secret changes.",
  LoginPaused:
    "Logins are paused so that the user is not locked out. Correct the credentials Secret: a changed Secret is tried within 15 seconds.",
  LoginFailed:
    "Correct the credentials Secret, or the connection's domain settings; a changed Secret is tried within 15 seconds.",
  ConsoleUnavailable: "The login is retried.",
};

export function authentication(
  { spec, material, session, outage }: ConnectionSnapshot,
  login: Login | undefined,
): Omit<ConditionUpdate, "type"> {
  if (!spec.ok) return { status: "Unknown", reason: "InvalidSpec", message: spec.message };
  if (material?.ok === false) {
    const { reason, message } = material;
    return { status: "False", reason, message };
  }
  if (login?.kind === "Failed") return failedLogin(login);
  if (login === undefined && session?.refusal !== undefined && !session.usable) {
    const { message, until } = session.refusal;
    return {
      status: "False",
      reason: "LoginFailed",
      message: `The console refused a call although the login had succeeded: ${ended(message)} Next login not before ${toIso8601(until)}.`,
    };
  }
  if (outage !== undefined) return unavailable(originOf(spec.spec.baseURL), outage);
  return {
    status: "True",
    reason: "Authenticated",
    message: `The console at ${originOf(spec.spec.baseURL)} accepts the credentials.`,
  };
}

/** The message changes as little as possible during an outage, because each change is a write. */
function unavailable(
  origin: string,
  { since, code, waiting }: NonNullable<ConnectionSnapshot["outage"]>,
): Omit<ConditionUpdate, "type"> {
  const objects = waiting === 1 ? "1 object waits" : `${roughly(waiting)} objects wait`;
  return {
    status: "Unknown",
    reason: "ConsoleUnavailable",
    message: `The console at ${origin} has not answered since ${toIso8601(since)} (${code}); ${objects} for it. Calls are repeated until it answers.`,
  };
}

/** The count, rounded down to 1, 2, 5, 10, 20, 50 and so on. */
function roughly(count: number): string {
  if (count < 3) return `${count}`;
  const power = 10 ** Math.floor(Math.log10(count));
  const step = [5, 2, 1].find((each) => each * power <= count) ?? 1;
  return `at least ${step * power}`;
}

function failedLogin({
  reason,
  error,
}: Extract<Login, { kind: "Failed" }>): Omit<ConditionUpdate, "type"> {
  const { message } = error;
  const said = ended(`${message.slice(0, 1).toUpperCase()}${message.slice(1)}`);
  return {
    status: reason === "ConsoleUnavailable" ? "Unknown" : "False",
    reason,
    message: withRequestId(`${said} ${loginAdvice[reason]}`, error),
  };
}
