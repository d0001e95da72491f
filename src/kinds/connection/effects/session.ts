/** Opens, uses or closes the session of one connection. Nothing changes in the console, so every effect is a read. */
import type { ClientSettings } from "../../../connections/client-settings.ts";
import { isIamError } from "../../../console/errors.ts";
import { defineEffect } from "../../../reconciler/effects.ts";
import type { ReadContext } from "../../../reconciler/run-context.ts";
import type { ConnectionKind, ConnectionSnapshot, SessionChange } from "../rules/snapshot.ts";
import { type Session, type SessionIdentity, type Sessions, stateOf } from "../sessions.ts";
import { logIn } from "./log-in.ts";

type Run = Pick<ReadContext<ConnectionKind>, "signal">;

interface NewSession {
  readonly because: SessionChange;
  readonly identity: SessionIdentity;
  readonly settings: ClientSettings;
}

export type SessionEffects = ReturnType<typeof sessionEffects>;

/** Each returns the new snapshot, and rejects if an error does not come from the console. */
export function sessionEffects(sessions: Sessions) {
  return {
    closeSession: define<void>("CloseSession", false, async (_, { key }) => {
      sessions.remove(key);
      return { session: undefined };
    }),
    openSession: define<NewSession>("OpenSession", true, async (input, snapshot, run) =>
      authenticate(sessions, open(sessions, snapshot.key, input), snapshot, run),
    ),
    /** Makes no call while the client has a valid token. */
    authenticate: define<void>("Authenticate", true, async (_, snapshot, run) => {
      const session = sessions.get(snapshot.key);
      if (session === undefined) return { session };
      return authenticate(sessions, session, snapshot, run);
    }),
    /**
     * One call to a console that did not answer: any answer below 500 ends the outage, even an error, but not a web page. So
     * a gateway that answers only other calls with web pages is no outage.
     */
    probe: define<void>("Probe", false, async (_, { key, outage }, { signal }) => {
      const call = sessions.get(key)?.client.searchActions({ q: "a", pageSize: 1 }, signal);
      await call?.catch((error: unknown) => {
        if (!isIamError(error)) throw error;
      });
      return { outage: sessions.outageOf(key) && outage };
    }),
  };
}

function define<Input>(
  kind: string,
  needsFinalizer: boolean,
  read: (
    input: Input,
    snapshot: ConnectionSnapshot,
    run: Run,
  ) => Promise<Partial<ConnectionSnapshot>>,
) {
  return defineEffect<ConnectionKind, ConnectionSnapshot, Input, ConnectionSnapshot>({
    kind,
    needsFinalizer,
    read: async (input, snapshot, run) => ({
      answer: { ...snapshot, ...(await read(input, snapshot, run)) },
    }),
  });
}

async function authenticate(
  sessions: Sessions,
  before: Session,
  { key, outage }: ConnectionSnapshot,
  { signal }: Run,
): Promise<Partial<ConnectionSnapshot>> {
  const login = await logIn(sessions, key, before, signal);
  const session = sessions.get(key);
  return {
    login,
    session: session && stateOf(session),
    clockSkewSeconds: session?.client.clockSkew(),
    outage: sessions.outageOf(key) && outage,
  };
}

/**
 * A changed spec may lead to a different console: the session is not usable until that console accepts the credentials.
 */
function open(
  sessions: Sessions,
  key: string,
  { identity, because, settings }: NewSession,
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
