/** The way from a connectionRef to a console client that the namespace may use. */
import {
  type ClusterConnection,
  type ConnectionSpec,
  clusterConnectionKind,
  connectionKind,
} from "../../api/connection.ts";
import type { ConnectionRef } from "../../api/fields.ts";
import { type ParsedSpec, parseSpec } from "../../api/parse-spec.ts";
import { type Clock, SECOND } from "../../util/time.ts";
import { connectionKey } from "../connection-key.ts";
import type { ConnectionLookup, Connections, Stores } from "../context.ts";
import { clientIdentity } from "./client-settings.ts";
import { ALL_RIGHTS, effectiveGrant } from "./effective-grant.ts";
import { createSessions, type Sessions, type SessionsOptions } from "./sessions.ts";

/**
 * After a start, objects come before their connection has been checked. Waiting this long for its first
 * login keeps them from showing `Ready=False` for a moment at every restart.
 */
const FIRST_CHECK_MS = 5 * SECOND;

type GrantingSpec = ConnectionSpec & { readonly grants?: ClusterConnection["spec"]["grants"] };

export interface ConnectionRegistry extends Connections {
  readonly sessions: Sessions;
  /** Says that a pass over the connection has ended, so that nothing waits for its first one any more. */
  noteChecked(key: string): void;
  forget(key: string): void;
  close(): Promise<void>;
}

export interface ConnectionsOptions extends SessionsOptions {
  readonly stores: Pick<Stores, "clusterConnections" | "connections" | "namespaces">;
}

/** The registry that the connection controllers fill and every other controller asks. */
export function createConnections(options: ConnectionsOptions): ConnectionRegistry {
  const { stores, clock } = options;
  const sessions = createSessions(options);
  const checks = createFirstChecks(clock);
  const parsed = new WeakMap<object, ParsedSpec<GrantingSpec>>();

  const find = ({ kind, name }: ConnectionRef, namespace: string) =>
    kind === "Connection"
      ? stores.connections.get({ namespace, name })
      : stores.clusterConnections.get({ namespace: "", name });

  const parse = (object: NonNullable<ReturnType<typeof find>>): ParsedSpec<GrantingSpec> => {
    const known = parsed.get(object);
    if (known !== undefined) return known;
    const result: ParsedSpec<GrantingSpec> =
      object.kind === "Connection"
        ? parseSpec(connectionKind, object)
        : parseSpec(clusterConnectionKind, object);
    parsed.set(object, result);
    return result;
  };

  const grantOf = ({ kind }: ConnectionRef, namespace: string, spec: GrantingSpec) =>
    kind === "Connection"
      ? ALL_RIGHTS
      : effectiveGrant(
          spec.grants ?? [],
          namespace,
          labelsOf(stores.namespaces.get({ namespace: "", name: namespace })),
        );

  return {
    sessions,
    resolve: async (ref, namespace) => {
      const title = titleOf(ref, namespace);
      const before = find(ref, namespace);
      if (before === undefined) return notFound(title);
      const key = connectionKey(ref, namespace);
      await checks.wait(key);
      const object = find(ref, namespace);
      if (object === undefined) return notFound(title);
      const spec = parse(object);
      if (!spec.ok) return notReady(title, "InvalidSpec");
      const grant = grantOf(ref, namespace, spec.spec);
      if (grant === undefined) return notGranted(title, namespace);
      const session = sessions.get(key);
      if (
        session === undefined ||
        session.identity.uid !== object.metadata.uid ||
        session.identity.spec !== clientIdentity(spec.spec)
      ) {
        return notReady(title, undefined);
      }
      if (!session.usable) return notReady(title, session.reason);
      return { ok: true, access: { client: session.client, spec: spec.spec, grant } };
    },
    noteChecked: checks.note,
    forget: (key) => {
      checks.note(key);
      sessions.remove(key);
    },
    close: async () => {
      checks.noteAll();
      await sessions.close();
    },
  };
}

function titleOf({ kind, name }: ConnectionRef, namespace: string): string {
  return kind === "Connection" ? `Connection ${namespace}/${name}` : `ClusterConnection ${name}`;
}

function notFound(title: string): ConnectionLookup {
  return {
    ok: false,
    reason: "ConnectionNotFound",
    message: `${title} does not exist; create it, or name another one in spec.connectionRef.`,
  };
}

/** Says only the reason: the details are for those who may read the connection itself. */
function notReady(title: string, reason: string | undefined): ConnectionLookup {
  return {
    ok: false,
    reason: "ConnectionNotReady",
    message:
      reason === undefined
        ? `${title} has not been able to log in yet; its conditions say why.`
        : `${title} is not ready (${reason}); its conditions say why.`,
  };
}

function notGranted(title: string, namespace: string): ConnectionLookup {
  return {
    ok: false,
    reason: "NotGranted",
    message: `No grant of ${title} matches namespace ${namespace}; add it to spec.grants[].namespaces.names, or label the namespace as one of the selectors asks.`,
  };
}

function labelsOf(
  namespace:
    | { readonly metadata: { readonly labels?: Readonly<Record<string, string>> } }
    | undefined,
): Readonly<Record<string, string>> | undefined {
  return namespace === undefined ? undefined : (namespace.metadata.labels ?? {});
}

/** Lets callers wait, for a bounded time, until a connection was checked once. */
function createFirstChecks(clock: Clock) {
  const checked = new Set<string>();
  const waiting = new Map<string, Set<() => void>>();
  const note = (key: string) => {
    checked.add(key);
    for (const wake of waiting.get(key) ?? []) wake();
    waiting.delete(key);
  };
  return {
    note,
    noteAll: () => {
      for (const key of [...waiting.keys()]) note(key);
    },
    wait: async (key: string): Promise<void> => {
      if (checked.has(key)) return;
      await new Promise<void>((resolve) => {
        const wake = () => {
          cancel();
          waiting.get(key)?.delete(wake);
          resolve();
        };
        const cancel = clock.setTimer(FIRST_CHECK_MS, wake);
        waiting.set(key, (waiting.get(key) ?? new Set()).add(wake));
      });
    },
  };
}
