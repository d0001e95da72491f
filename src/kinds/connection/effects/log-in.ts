import { isIamError } from "../../../console/errors.ts";
import { isUnjudged, loginReason } from "../rules/login-reason.ts";
import type { Login } from "../rules/snapshot.ts";
import type { Session, Sessions } from "../sessions.ts";

/**
 * Logs in and puts the session into use even if the console rejects the login, because its client remembers failed
 * logins. Rejects with an error that does not come from the console.
 */
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
    // A console outage does not make a usable session unusable: its calls fail as transient and are retried.
    const usable = session.usable && isUnjudged(reason);
    sessions.put(key, { ...session, usable, reason });
    return { kind: "Failed", reason, error };
  }
}
