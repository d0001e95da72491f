import { isIamError } from "../../../console/errors.ts";
import type { Progress, ReadContext } from "../../../reconciler/run-context.ts";
import type { Steps } from "../../../reconciler/steps.ts";
import type { ConnectionAction, ConnectionKind, SessionChange } from "../rules/snapshot.ts";
import { type Session, type Sessions, stateOf } from "../sessions.ts";
import { logIn } from "./log-in.ts";

type ConnectionProgress = Progress<ConnectionKind>;
type ConnectionRun = Pick<ReadContext<ConnectionKind>, "signal">;

/**
 * Opens, uses or closes the session of one connection. Nothing changes in the console, so every step is a read. Rejects
 * if an error does not come from the console.
 */
export function connectionSteps(sessions: Sessions): Steps<ConnectionKind> {
  return {
    CloseSession: {
      read: async (_, { snapshot, done }) => {
        sessions.remove(snapshot.key);
        return { snapshot: { ...snapshot, session: undefined }, done };
      },
    },
    OpenSession: {
      needsFinalizer: true,
      read: (action, progress, run) =>
        authenticate(sessions, open(sessions, progress.snapshot.key, action), progress, run),
    },
    Authenticate: {
      needsFinalizer: true,
      read: async (_, progress, run) => {
        const session = sessions.get(progress.snapshot.key);
        // The connection was deleted in between.
        if (session === undefined)
          return { ...progress, snapshot: { ...progress.snapshot, session } };
        return authenticate(sessions, session, progress, run);
      },
    },
    Probe: { read: (_, progress, run) => probe(sessions, progress, run) },
  };
}

async function authenticate(
  sessions: Sessions,
  before: Session,
  { snapshot }: ConnectionProgress,
  { signal }: ConnectionRun,
): Promise<ConnectionProgress> {
  const { key } = snapshot;
  const login = await logIn(sessions, key, before, signal);
  const session = sessions.get(key);
  const clockSkewSeconds = session?.client.clockSkew();
  const outage = sessions.outageOf(key) === undefined ? undefined : snapshot.outage;
  return {
    snapshot: { ...snapshot, session: session && stateOf(session), clockSkewSeconds, outage },
    done: { login },
  };
}

/** Makes one call; any answer below 500 ends the outage, even an error. */
async function probe(
  sessions: Sessions,
  progress: ConnectionProgress,
  { signal }: ConnectionRun,
): Promise<ConnectionProgress> {
  const { snapshot, done } = progress;
  const { client } = sessions.get(snapshot.key) ?? {};
  await client?.searchActions({ q: "a", pageSize: 1 }, signal).catch((error: unknown) => {
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
  const client = sessions.prepare(key, settings, ENDS_LOGIN_PAUSE.has(because));
  return { identity, client, usable, reason: "" };
}

/** A changed Secret may hold the same credentials as before, so it does not end their pause. */
const ENDS_LOGIN_PAUSE: ReadonlySet<SessionChange> = new Set([
  "Recreated",
  "SpecChanged",
  "Requested",
]);
