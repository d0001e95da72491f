import { isIamError } from "../../../iam/errors.ts";
import { loginReason } from "../rules/login-reason.ts";
import type { Login } from "../rules/snapshot.ts";
import type { Session, Sessions } from "../sessions.ts";

/** Logs in and puts the session into use, whatever comes of the login: its client remembers failed ones. */
export async function logIn(
  sessions: Sessions,
  key: string,
  session: Session,
  signal: AbortSignal,
): Promise<Login> {
  const isInUse = () => sessions.get(key)?.client === session.client;
  const wasUsable = isInUse() && session.usable;
  try {
    await session.client.authenticate(signal);
  } catch (error) {
    if (isIamError(error)) return putFailed(error);
    if (!isInUse()) await session.client.close();
    throw error;
  }
  const current = isInUse() ? sessions.get(key) : undefined;
  sessions.put(key, { ...session, ...current, usable: true, reason: "" });
  return { kind: "Accepted", isNew: !wasUsable };

  function putFailed(error: Extract<Login, { kind: "Failed" }>["error"]): Login {
    const reason = loginReason(error);
    // A console that is merely down takes no right away: calls fail as transient, and are retried.
    const usable = session.usable && reason === "ConsoleUnavailable";
    sessions.put(key, { ...session, usable, reason });
    return { kind: "Failed", reason, error };
  }
}
