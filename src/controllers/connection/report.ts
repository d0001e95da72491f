/** What a pass over a connection tells its users: conditions, the other status fields, events. */
import {
  type ConditionUpdate,
  findCondition,
  type Readiness,
  readinessConditions,
  setCondition,
} from "../../api/conditions.ts";
import type { ConnectionStatus } from "../../api/connection.ts";
import type { EventNote } from "../../kube/events/event-recorder.ts";
import { type Instant, MINUTE, SECOND, toIso8601 } from "../../util/time.ts";
import { originOf } from "../connection-origin.ts";
import type { Login } from "./apply.ts";
import type { AnyConnection } from "./kind-name.ts";
import type { LoginReason } from "./login-reason.ts";
import type { Observed } from "./observe.ts";

const NAMED_USERS = 5;
const SKEW_WARNING_S = (5 * MINUTE) / SECOND;
/** The Date header has whole seconds and travels for a while: smaller moves are noise. */
const SKEW_NOISE_S = 5;

export type Authentication = Omit<ConditionUpdate, "type">;

const loginAdvice: Readonly<Record<LoginReason, string>> = {
  MfaRequired:
    "The console asks this user for a second factor. Use a user without one, or a token; the login is tried again when the Secret changes.",
  LoginPaused:
    "Logins are paused so that the user is not locked out. Correct the credentials Secret: a changed Secret is tried at once.",
  LoginFailed:
    "Correct the credentials Secret, or the connection's domain settings; a changed Secret is tried at once.",
  ConsoleUnavailable: "It is tried again by itself.",
};

/** How the login stands, for the condition `Authenticated`. */
export function authentication(seen: Observed, login: Login | undefined): Authentication {
  const { spec, session } = seen;
  if (!spec.ok) return { status: "Unknown", reason: "InvalidSpec", message: spec.message };
  if (!spec.credentials.ok) {
    const { reason, message } = spec.credentials;
    return { status: "False", reason, message };
  }
  if (login?.kind === "Failed") {
    const { reason, error } = login;
    return {
      status: reason === "ConsoleUnavailable" ? "Unknown" : "False",
      reason,
      message: `${sentence(error.message)} ${loginAdvice[reason]}${requestNote(error.message, error.requestId)}`,
    };
  }
  if (login === undefined && session?.refusal !== undefined && !session.usable) {
    return {
      status: "False",
      reason: "LoginFailed",
      message: `The console refused a call although the login had succeeded: ${ended(session.refusal.message)} Next login not before ${toIso8601(session.refusal.until)}.`,
    };
  }
  return {
    status: "True",
    reason: "Authenticated",
    message: `The console at ${originOf(spec.spec.baseURL)} accepts the credentials.`,
  };
}

/** The connection as a whole: what holds its deletion comes first, then the login. */
export function readiness(seen: Observed, authenticated: Authentication): Readiness {
  if (seen.deleting) {
    return { state: "Reconciling", reason: "InUse", message: inUseMessage(seen.users) };
  }
  const { status, reason, message } = authenticated;
  if (status === "True") return { state: "Ready", reason, message };
  const needsPerson = reason === "InvalidSpec" || reason === "MfaRequired";
  return { state: needsPerson ? "Stalled" : "Reconciling", reason, message };
}

/** Names a few and counts the rest. */
export function inUseMessage(users: readonly string[]): string {
  const named = users.slice(0, NAMED_USERS).join(", ");
  const more = users.length > NAMED_USERS ? ` and ${users.length - NAMED_USERS} more` : "";
  return `Deletion waits for what still uses it: ${named}${more}. Delete these first.`;
}

export interface Report {
  readonly ready: Readiness;
  readonly authenticated: Authentication;
  readonly login: Login | undefined;
  readonly skewSeconds: number | undefined;
}

export function nextStatus(
  object: AnyConnection,
  seen: Observed,
  { ready, authenticated, login, skewSeconds }: Report,
  now: Instant,
): ConnectionStatus {
  const { status = {}, metadata } = object;
  const generation = metadata.generation ?? 0;
  const conditions = setCondition(
    readinessConditions(status.conditions ?? [], ready, generation, now),
    { type: "Authenticated", ...authenticated },
    generation,
    now,
  );
  const skew = steady(status.clockSkewSeconds, skewSeconds);
  return {
    ...status,
    observedGeneration: generation,
    conditions: [...conditions],
    users: seen.users.length,
    ...(seen.spec.ok ? { apiURL: seen.spec.spec.baseURL } : {}),
    ...(login?.kind === "Accepted" && login.isNew
      ? { lastAuthenticationTime: toIso8601(now) }
      : {}),
    ...(skew === undefined ? {} : { clockSkewSeconds: skew }),
    ...(seen.asked === undefined ? {} : { lastHandledReconcileAt: seen.asked }),
  };
}

/** One event for each change of readiness, and one when the clocks drift apart. */
export function notes(
  before: ConnectionStatus | undefined,
  after: ConnectionStatus,
): readonly EventNote[] {
  const old = findCondition(before?.conditions, "Ready");
  const ready = findCondition(after.conditions, "Ready");
  const changed =
    ready !== undefined && (old?.status !== ready.status || old.reason !== ready.reason);
  return [
    ...(changed
      ? [
          {
            type: ready.status === "True" || ready.reason === "InUse" ? "Normal" : "Warning",
            reason: ready.reason,
            action: "Authenticate",
            note: ready.message.slice(0, 1_000),
          } as const,
        ]
      : []),
    ...(isSkewed(after) && !isSkewed(before)
      ? [
          {
            type: "Warning",
            reason: "ClockSkewed",
            action: "Authenticate",
            note: `The console's clock and ours are ${Math.abs(after.clockSkewSeconds ?? 0)} seconds apart; expiry times are off by as much.`,
          } as const,
        ]
      : []),
  ];
}

function isSkewed(status: ConnectionStatus | undefined): boolean {
  return Math.abs(status?.clockSkewSeconds ?? 0) > SKEW_WARNING_S;
}

function steady(old: number | undefined, seen: number | undefined): number | undefined {
  if (seen === undefined) return old;
  const rounded = Math.round(seen);
  return old !== undefined && Math.abs(old - rounded) < SKEW_NOISE_S ? old : rounded;
}

function sentence(words: string): string {
  return ended(`${words.slice(0, 1).toUpperCase()}${words.slice(1)}`);
}

function ended(words: string): string {
  return /[.!?]$/.test(words) ? words : `${words}.`;
}

function requestNote(message: string, requestId: string | undefined): string {
  return requestId === undefined || message.includes(requestId) ? "" : ` (requestId ${requestId})`;
}
