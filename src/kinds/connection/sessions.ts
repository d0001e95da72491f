/** The sessions of all connections: one console client per connection, and whether it may be used. */

import type { ClientSettings } from "../../connections/client-settings.ts";
import type { IamClient } from "../../console/client/client.ts";
import type { IamError } from "../../console/errors.ts";
import type { Log } from "../../util/log.ts";
import { type Clock, type Instant, MINUTE, SECOND } from "../../util/time.ts";
import { toError } from "../../util/to-error.ts";
import { CertificateShares } from "./certificate-shares.ts";
import { type Outage, OutageWatch } from "./outage-watch.ts";
import { loginReason } from "./rules/login-reason.ts";
import { watchLogin } from "./watch-login.ts";

/** Running calls of a replaced client get this long to finish. */
const GRACE_MS = MINUTE;
const FIRST_PAUSE_MS = 15 * SECOND;
const LONGEST_PAUSE_MS = 5 * MINUTE;
/** A rejected token does not recover: only a new token helps, and it opens a new session. */
const TOKEN_PAUSE_MS = 10 * MINUTE;
/** A rejection this long after the previous rejection counts as the first. */
const FORGIVEN_AFTER_MS = 15 * MINUTE;

/** The data a session was created from; a difference in any part requires a new session. */
export interface SessionIdentity {
  readonly uid: string;
  readonly spec: string;
  /** Versions of the objects that the spec refers to. */
  readonly inputs: string;
}

export interface SessionState {
  readonly identity: SessionIdentity;
  /** Whether the login was accepted and has not been rejected since. */
  readonly usable: boolean;
  /** Why the session is not usable, as one CamelCase word. */
  readonly reason: string;
  readonly refusal?: LoginRefusal;
}

export interface Session extends SessionState {
  readonly client: IamClient;
}

/** The console rejected calls even though the previous login had succeeded. */
interface LoginRefusal {
  readonly at: Instant;
  readonly count: number;
  /** No new login before this time. */
  readonly until: Instant;
  readonly message: string;
}

export interface Sessions {
  get(key: string): Session | undefined;
  /**
   * Creates a client that is not in use yet: the caller must either put its session or close the client. With
   * `endsLoginPause`, its first login is tried even if logins with its credentials are paused.
   */
  prepare(key: string, settings: ClientSettings, endsLoginPause?: boolean): IamClient;
  /** Replaces the session; the client of the previous session is closed after a grace period of one minute. */
  put(key: string, session: Session): void;
  remove(key: string): void;
  /** Calls back with the key of a connection when the console rejects its login during a call. */
  onRefused(listener: (key: string) => void): () => void;
  /** The current outage of the connection's console; `undefined` while the console answers. */
  outageOf(key: string): Outage | undefined;
  /** Calls back with the key of a connection when its console stops answering or answers again. */
  onOutage(listener: (key: string) => void): () => void;
  /** Calls back with the key of a connection when it becomes usable or unusable, or gets a new client. */
  onChange(listener: (key: string) => void): () => void;
  /** Closes every client at once. */
  close(): Promise<void>;
  readonly certificates: CertificateShares;
}

export interface SessionsOptions {
  /** `key` is the {@link connectionKey} of the connection; `onRequest` is called with the result of each request. */
  readonly createClient: (
    settings: ClientSettings,
    key: string,
    client: { readonly onRequest: (code: string) => void; readonly endsLoginPause: boolean },
  ) => IamClient;
  readonly clock: Clock;
  readonly log: Log;
}

/** What rules may know about a session. */
export function stateOf({ client: _, ...state }: Session): SessionState {
  return state;
}

export function createSessions({ createClient, clock, log }: SessionsOptions): Sessions {
  const sessions = new Map<string, Session>();
  const retiring = new Map<IamClient, () => void>();
  const refused = new Set<(key: string) => void>();
  const changed = new Set<(key: string) => void>();
  const interrupted = new Set<(key: string) => void>();
  const watches = new WeakMap<IamClient, OutageWatch>();
  const certificates = new CertificateShares();

  const closeClient = async (client: IamClient) => {
    retiring.delete(client);
    try {
      await client.close();
    } catch (error) {
      log.warn({ err: toError(error) }, "could not close a client");
    }
  };
  const retire = (client: IamClient) => {
    const close = () => {
      closeClient(client).catch(() => undefined);
    };
    retiring.set(client, clock.setTimer(GRACE_MS, close));
  };
  const replace = (key: string, next: Session | undefined) => {
    const old = sessions.get(key);
    if (next === undefined) sessions.delete(key);
    else sessions.set(key, next);
    if (old !== undefined && old.client !== next?.client) retire(old.client);
    if (old?.usable !== next?.usable || (next?.usable && old?.client !== next.client)) {
      for (const listener of changed) listener(key);
    }
  };

  return {
    certificates,
    get: (key) => sessions.get(key),
    prepare: (key, settings, endsLoginPause = false) => {
      certificates.note(key, settings);
      const { kind } = settings.credentials;
      const watch = new OutageWatch(clock, () => {
        if (sessions.get(key)?.client !== client) return;
        for (const listener of interrupted) listener(key);
      });
      const onRequest = (code: string) => watch.note(code);
      const plain = createClient(settings, key, { onRequest, endsLoginPause });
      const client: IamClient = watchLogin(plain, (error) => {
        const session = sessions.get(key);
        if (session?.client !== client || !session.usable) return;
        const refusal = refuse(session.refusal, kind, error, clock.now());
        replace(key, { ...session, usable: false, reason: loginReason(error), refusal });
        for (const listener of refused) listener(key);
      });
      watches.set(client, watch);
      return client;
    },
    outageOf: (key) => {
      const client = sessions.get(key)?.client;
      return client && watches.get(client)?.outage;
    },
    onOutage: (listener) => subscribe(interrupted, listener),
    put: replace,
    remove: (key) => {
      certificates.forget(key);
      replace(key, undefined);
    },
    onRefused: (listener) => subscribe(refused, listener),
    onChange: (listener) => subscribe(changed, listener),
    close: async () => {
      const clients = [...sessions.values()].map(({ client }) => client);
      sessions.clear();
      for (const cancel of retiring.values()) cancel();
      await Promise.all([...clients, ...retiring.keys()].map(closeClient));
    },
  };
}

function subscribe<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The pause after a rejection; it doubles with each consecutive rejection of a login. Pure. */
export function refuse(
  before: LoginRefusal | undefined,
  credentials: "login" | "token",
  error: IamError,
  now: Instant,
): LoginRefusal {
  const count = before === undefined || now - before.at > FORGIVEN_AFTER_MS ? 1 : before.count + 1;
  const pause =
    credentials === "token"
      ? TOKEN_PAUSE_MS
      : Math.min(FIRST_PAUSE_MS * 2 ** (count - 1), LONGEST_PAUSE_MS);
  return {
    at: now,
    count,
    until: Math.max(now + pause, error.retryAt ?? 0),
    message: error.message,
  };
}
