/** Resolves a connectionRef to a console client that the namespace may use. */
import type { z } from "zod";
import {
  type ClusterConnection,
  type ConnectionSpec,
  clusterConnectionKind,
  connectionKind,
  gracePeriodMs,
  type Rights,
} from "../../api/connection.ts";
import type { ConnectionRef } from "../../api/fields.ts";
import type { Kind } from "../../api/kind.ts";
import { parseStoredSpec } from "../../api/parse-spec.ts";
import { clientIdentity } from "../../connections/client-settings.ts";
import { connectionKey } from "../../connections/connection-key.ts";
import type {
  Caches,
  ConnectionLookup,
  Connections,
  WithClient,
} from "../../reconciler/context.ts";
import type { Waiting } from "../../reconciler/rules/outcome.ts";
import { reconciling, stalled } from "../../reconciler/rules/waiting.ts";
import {
  clusterConnectionType,
  connectionType,
  namespaceType,
} from "../../resources/resource-types.ts";
import { type Clock, SECOND } from "../../util/time.ts";
import { stateFor } from "./rules/authentication.ts";
import { ALL_RIGHTS, effectiveGrant, isJudged, NO_RIGHTS } from "./rules/effective-grant.ts";
import { createSessions, type Session, type Sessions, type SessionsOptions } from "./sessions.ts";

/**
 * After a start, objects are reconciled before their connection is checked. They wait at most this long for its first
 * check, so that a restart does not make them show `Ready=False` for a moment.
 */
const FIRST_CHECK_MS = 5 * SECOND;

const CONNECTION_NOT_READY = "ConnectionNotReady";

type GrantingSpec = ConnectionSpec &
  Partial<Pick<ClusterConnection["spec"], "grants" | "withdrawalGracePeriod">>;

export interface ConnectionRegistry extends Connections<WithClient> {
  readonly sessions: Sessions;
  /** Must be called after the connection was reconciled: nothing waits for its first run any more. */
  noteChecked(key: string): void;
  forget(key: string): void;
  close(): Promise<void>;
}

interface ConnectionsOptions extends SessionsOptions {
  readonly caches: Pick<Caches, "of">;
}

interface Usable {
  readonly ok: true;
  readonly uid: string;
  readonly spec: GrantingSpec;
  /** `undefined` if no grant matches the namespace. */
  readonly grant: Rights | undefined;
}
type Found = Usable | Refused;
type Refused = Extract<ConnectionLookup<WithClient>, { ok: false }>;

/** The registry that the connection controllers fill and all other controllers use. */
export function createConnections(options: ConnectionsOptions): ConnectionRegistry {
  const sessions = createSessions(options);
  const checks = createFirstChecks(options.clock);
  const find = createFinder(options.caches);
  return {
    sessions,
    resolve: async (ref, namespace) => {
      const key = connectionKey(ref, namespace);
      const before = find(ref, namespace);
      if (!before.ok) return before;
      await checks.wait(key);
      const found = find(ref, namespace);
      return found.ok ? toAccess(ref, namespace, found, sessions.get(key)) : found;
    },
    noteChecked: checks.note,
    forget: (key) => {
      checks.forget(key);
      sessions.remove(key);
    },
    close: async () => {
      checks.noteAll();
      await sessions.close();
    },
  };
}

function toAccess(
  ref: ConnectionRef,
  namespace: string,
  { uid, spec, grant }: Usable,
  session: Session | undefined,
): ConnectionLookup<WithClient> {
  const title = titleOf(ref, namespace);
  const isCurrent = session?.identity.uid === uid && session.identity.spec === clientIdentity(spec);
  const isUsable = session !== undefined && isCurrent && session.usable;
  if (grant === undefined) {
    const { withdrawalGracePeriod = "Never" } = spec;
    const refusal = notGranted(title, namespace);
    return isUsable
      ? {
          ...refusal,
          grant: NO_RIGHTS,
          ungranted: {
            client: session.client,
            spec,
            gracePeriodMs: gracePeriodMs(withdrawalGracePeriod),
          },
        }
      : { ...refusal, grant: NO_RIGHTS };
  }
  if (isUsable) return { ok: true, access: { client: session.client, spec, grant } };
  return { ...notReady(title, isCurrent ? session?.reason : undefined), grant, spec };
}

/** Finds the spec of a connection and the grant of a namespace in the caches. */
function createFinder(caches: ConnectionsOptions["caches"]) {
  const findSpec = (ref: ConnectionRef, namespace: string) => {
    const { name } = ref;
    const own = ref.kind === "Connection";
    const object = own
      ? caches.of(connectionType).get({ namespace, name })
      : caches.of(clusterConnectionType).get({ namespace: "", name });
    if (object === undefined) return undefined;
    const { uid } = object.metadata;
    const kind: Kind<z.ZodType<GrantingSpec>> = own ? connectionKind : clusterConnectionKind;
    return { uid, parsed: parseStoredSpec(kind, object) };
  };
  const grantFor = (ref: ConnectionRef, namespace: string, spec: GrantingSpec) => {
    if (ref.kind === "Connection") return { grant: ALL_RIGHTS, isCertain: true };
    const { grants = [], withdrawalGracePeriod = "Never" } = spec;
    const labels = labelsOf(caches.of(namespaceType).get({ namespace: "", name: namespace }));
    const grant = effectiveGrant({ grants, withdrawalGracePeriod }, namespace, labels);
    return { grant, isCertain: isJudged(grants, labels) };
  };
  return (ref: ConnectionRef, namespace: string): Found => {
    const title = titleOf(ref, namespace);
    const found = findSpec(ref, namespace);
    if (found === undefined) return notFound(title);
    const { uid, parsed } = found;
    if (!parsed.ok) return notReady(title, "InvalidSpec");
    const { grant, isCertain } = grantFor(ref, namespace, parsed.spec);
    const isUngranted = grant === undefined;
    if (isUngranted && (!isCertain || parsed.spec.suspend)) return notGranted(title, namespace);
    if (parsed.spec.suspend) return { ...suspended(title), spec: parsed.spec };
    return { ok: true, uid, spec: parsed.spec, grant };
  };
}

function titleOf({ kind, name }: ConnectionRef, namespace: string): string {
  return kind === "Connection" ? `Connection ${namespace}/${name}` : `ClusterConnection ${name}`;
}

function notFound(title: string): Refused {
  return refused(
    reconciling(
      "ConnectionNotFound",
      `${title} does not exist; create it, or create this object again with another spec.connectionRef.`,
    ),
  );
}

/** The message has only the reason: the details are for users with permission to read the connection. */
function notReady(title: string, reason: string | undefined): Refused {
  if (reason === undefined)
    return refused(
      reconciling(CONNECTION_NOT_READY, `${title} is not usable now; check its conditions.`),
    );
  const message = `${title} is not ready (${reason}); check its conditions.`;
  const state = stateFor(reason);
  return refused({ kind: "Waiting", state, reason: CONNECTION_NOT_READY, message });
}

function suspended(title: string): Refused {
  return refused(
    stalled(
      "ConnectionSuspended",
      `${title} is suspended: no call is made over it until its spec.suspend is false.`,
    ),
  );
}

function notGranted(title: string, namespace: string): Refused {
  return refused(
    stalled(
      "NotGranted",
      `No grant of ${title} matches namespace ${namespace}. Ask the administrator of ${title} to add the namespace to namespaces.names of a grant, to label it as the selector of a grant requires, or to add a grant to spec.grants.`,
    ),
  );
}

function refused(waiting: Waiting): Refused {
  return { ok: false, waiting };
}

function labelsOf(
  namespace:
    | { readonly metadata: { readonly labels?: Readonly<Record<string, string>> } }
    | undefined,
): Readonly<Record<string, string>> | undefined {
  return namespace === undefined ? undefined : (namespace.metadata.labels ?? {});
}

/** Lets callers wait until a connection was checked once, for a limited time. */
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
    /** The connection is gone: its waiting callers go on, and another connection of its name is new. */
    forget: (key: string) => {
      note(key);
      checked.delete(key);
    },
    noteAll: () => {
      for (const key of waiting.keys()) note(key);
    },
    wait: async (key: string): Promise<void> => {
      if (checked.has(key)) return;
      await new Promise<void>((resolve) => {
        const wake = () => {
          cancel();
          const others = waiting.get(key);
          others?.delete(wake);
          if (others?.size === 0) waiting.delete(key);
          resolve();
        };
        const cancel = clock.setTimer(FIRST_CHECK_MS, wake);
        waiting.set(key, (waiting.get(key) ?? new Set()).add(wake));
      });
    },
  };
}
