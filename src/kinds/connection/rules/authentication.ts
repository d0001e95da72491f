/** The condition `Authenticated` of a connection. Pure. */
import type { ConditionUpdate } from "../../../api/conditions.ts";
import { originOf } from "../../../connections/connection-origin.ts";
import { type IamError, WEB_PAGE } from "../../../console/errors.ts";
import { withRequestId } from "../../../reconciler/rules/failure.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import { ended } from "../../../util/ended.ts";
import { toIso8601 } from "../../../util/time.ts";
import { isUnjudged, type LoginReason } from "./login-reason.ts";
import type { ConnectionSnapshot, Login } from "./snapshot.ts";

const loginAdvice: Readonly<Record<LoginReason, string>> = {
  MfaRequired:
    "The console requires a second factor from this user. Use a user without a second factor, or a token; the login is retried when the Secret changes.",
  LoginPaused:
    "Logins are paused so that the user is not locked out. Correct the credentials Secret: a changed Secret is tried within 15 seconds.",
  LoginFailed:
    "Correct the credentials Secret, or the connection's domain settings; a changed Secret is tried within 15 seconds.",
  AddressRefused:
    "Correct spec.baseURL, or spec.proxyURL if it is set, or ask the operator's administrator to allow the address.",
  ConsoleUnavailable: "The login is retried.",
};

/** The statuses by which a console says that it does not accept the credentials. */
const REJECTIONS: ReadonlySet<number | undefined> = new Set([400, 401, 403, 409, 422, 423]);

const NOT_A_REJECTION =
  "A console rejects credentials in other ways: check that spec.baseURL is the console's address, and that no proxy or gateway answers in its place. Otherwise: ";

/** No login is at this address, so nothing is known about the credentials. */
const NOT_FOUND: ReadonlySet<number | undefined> = new Set([404, 405]);

const WRONG_ADDRESS =
  "No login was found at this address, so the credentials were not checked. Correct the host and the path of spec.baseURL: the console's API is at api/v1/iam below it, also behind a proxy or gateway. The login is retried.";

/** The advice, and for an answer that may not come from the console's login, where else to look. */
function adviceOn(reason: LoginReason, { status }: IamError): string {
  const isFailure = reason === "LoginFailed" || reason === "LoginPaused";
  if (isFailure && NOT_FOUND.has(status)) return WRONG_ADDRESS;
  const mayBeElsewhere = isFailure && !REJECTIONS.has(status);
  return `${mayBeElsewhere ? NOT_A_REJECTION : ""}${loginAdvice[reason]}`;
}

export function authentication({
  spec,
  inputs,
  session,
  outage,
  login,
}: ConnectionSnapshot): Omit<ConditionUpdate, "type"> {
  if (!spec.ok) return { status: "Unknown", reason: "InvalidSpec", message: spec.message };
  if (inputs?.ok === false) {
    const { reason, message } = inputs;
    return { status: "False", reason, message };
  }
  if (login?.kind === "Failed") return failedLogin(login, spec.spec.baseURL, outage);
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

type Outage = NonNullable<ConnectionSnapshot["outage"]>;

/** The message changes as little as possible during an outage, because each change is a write. */
function unavailable(origin: string, outage: Outage): Omit<ConditionUpdate, "type"> {
  return {
    status: "Unknown",
    reason: "ConsoleUnavailable",
    message: describeOutage(origin, outage),
  };
}

function describeOutage(origin: string, { since, code, waiting }: Outage): string {
  return `${failureOf(origin, code)} since ${toIso8601(since)} (${code})${waitingText(waiting)}. Calls are repeated until it answers.`;
}

/** Nothing before an object has called: after a resume, the count starts again. */
function waitingText(count: number): string {
  if (count === 0) return "";
  return count === 1 ? "; 1 object waits for it" : `; ${roughly(count)} objects wait for it`;
}

function failureOf(origin: string, code: string): string {
  return code === WEB_PAGE
    ? `At ${origin}, web pages have answered in place of the console`
    : `The console at ${origin} has not answered`;
}

/** The count, rounded down to 1, 2, 5, 10, 20, 50 and so on. */
function roughly(count: number): string {
  if (count < 3) return `${count}`;
  const power = 10 ** Math.floor(Math.log10(count));
  const step = [5, 2].find((each) => each * power <= count) ?? 1;
  return `at least ${step * power}`;
}

function failedLogin(
  { reason, error }: Extract<Login, { kind: "Failed" }>,
  baseURL: string,
  outage: Outage | undefined,
): Omit<ConditionUpdate, "type"> {
  const { message } = error;
  const said = ended(`${message.slice(0, 1).toUpperCase()}${message.slice(1)}`);
  const advice =
    reason === "ConsoleUnavailable" && outage !== undefined
      ? describeOutage(originOf(baseURL), outage)
      : adviceOn(reason, error);
  return {
    status: isUnjudged(reason) ? "Unknown" : "False",
    reason,
    message: withRequestId(`${said} ${advice}`, error),
  };
}

/** Stalled if a login that fails for this reason requires manual action. */
export function stateFor(reason: string): Waiting["state"] {
  return RESOLVED_WITHOUT_A_PERSON.has(reason) ? "Reconciling" : "Stalled";
}

/** Another controller may create a missing object, and a console may recover. */
const RESOLVED_WITHOUT_A_PERSON: ReadonlySet<string> = new Set([
  "SecretNotFound",
  "ConfigMapNotFound",
  "ConsoleUnavailable",
]);
