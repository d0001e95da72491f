import { isIamError } from "../../../iam/errors.ts";
import type { Progress, ReconcileContext } from "../../frame/kind-controller.ts";
import type { ConnectionAction, ConnectionKind } from "../rules/snapshot.ts";
import type { Session, Sessions } from "../sessions.ts";
import { logIn } from "./log-in.ts";

/** Opens, uses or closes the session of one connection. Rejects if an error does not come from the console. */
export async function perform(
  sessions: Sessions,
  action: ConnectionAction,
  { snapshot, done }: Progress<ConnectionKind>,
  { signal }: Pick<ReconcileContext<ConnectionKind>, "signal">,
): Promise<Progress<ConnectionKind>> {
  const { key } = snapshot;
  if (action.kind === "CloseSession") {
    sessions.remove(key);
    return { snapshot: { ...snapshot, session: undefined }, done };
  }
  if (action.kind === "Probe")
    return await probe(sessions, action.session, { snapshot, done }, signal);
  const before = action.kind === "OpenSession" ? open(sessions, key, action) : action.session;
  const login = await logIn(sessions, key, before, signal);
  const session = sessions.get(key);
  const clockSkewSeconds = session?.client.clockSkew();
  const outage = sessions.outageOf(key) === undefined ? undefined : snapshot.outage;
  return { snapshot: { ...snapshot, session, clockSkewSeconds, outage }, done: { login } };
}

/** Makes one call; any answer below 500 ends the outage, even an error. */
async function probe(
  sessions: Sessions,
  { client }: Session,
  { snapshot, done }: Progress<ConnectionKind>,
  signal: AbortSignal,
): Promise<Progress<ConnectionKind>> {
  await client.searchActions({ q: "a", pageSize: 1 }, signal).catch((error: unknown) => {
    if (!isIamError(error)) throw error;
  });
  const outage = sessions.outageOf(snapshot.key) === undefined ? undefined : snapshot.outage;
  return { snapshot: { ...snapshot, outage }, done: { ...done, hasProbed: true } };
}

/**
 * A changed spec may lead to a different console: the session is not usable until that console accepts the credentials.
 */
function open(
  sessions: Sessions,
  key: string,
  { identity, because, settings }: Extract<ConnectionAction, { kind: "OpenSession" }>,
): Session {
  const usable = because !== "SpecChanged" && (sessions.get(key)?.usable ?? false);
  return { identity, client: sessions.prepare(key, settings), usable, reason: "" };
}
