import type { Progress, ReconcileContext } from "../../frame/kind-controller.ts";
import type { ConnectionAction, ConnectionKind } from "../rules/snapshot.ts";
import type { Session, Sessions } from "../sessions.ts";
import { logIn } from "./log-in.ts";

/** Opens, uses or closes the session of one connection. Rejects where a login failed for another reason than the console's. */
export async function perform(
  sessions: Sessions,
  action: ConnectionAction,
  { snapshot, done }: Progress<ConnectionKind>,
  { signal }: Pick<ReconcileContext<undefined>, "signal">,
): Promise<Progress<ConnectionKind>> {
  const { key } = snapshot;
  if (action.kind === "CloseSession") {
    sessions.remove(key);
    return { snapshot: { ...snapshot, session: undefined }, done };
  }
  const before = action.kind === "OpenSession" ? open(sessions, key, action) : action.session;
  const login = await logIn(sessions, key, before, signal);
  const session = sessions.get(key);
  const clockSkewSeconds = session?.client.clockSkew()?.seconds;
  return { snapshot: { ...snapshot, session, clockSkewSeconds }, done: { login } };
}

/** Another address is another console until it has accepted the credentials. */
function open(
  sessions: Sessions,
  key: string,
  { identity, because, settings }: Extract<ConnectionAction, { kind: "OpenSession" }>,
): Session {
  const usable = because !== "SpecChanged" && (sessions.get(key)?.usable ?? false);
  return { identity, client: sessions.prepare(key, settings), usable, reason: "" };
}
