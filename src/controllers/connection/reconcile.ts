import { readinessConditions } from "../../api/conditions.ts";
import type { ClusterConnection, Connection, ConnectionStatus } from "../../api/connection.ts";
import { keyOf, type ObjectKey, type ResourceType } from "../../kube/resource.ts";
import type { Store } from "../../kube/store/store.ts";
import type { Reconcile, Result } from "../../runtime/result.ts";
import { SECOND } from "../../util/time.ts";
import { connectionKey } from "../connection-key.ts";
import type { Context } from "../context.ts";
import { failureReadiness } from "../failure.ts";
import { clusterConnectionType, connectionType } from "../resource-types.ts";
import { writeStatus } from "../status-writer.ts";
import { reportQuietly } from "../unreported.ts";
import { type Applied, apply } from "./apply.ts";
import type { ConnectionRegistry } from "./connections.ts";
import type { AnyConnection, ConnectionKindName } from "./kind-name.ts";
import { type Observed, observe } from "./observe.ts";
import { plan } from "./plan.ts";
import { authentication, nextStatus, notes, readiness } from "./report.ts";

/** Secrets are not watched: this is how long a changed one may go unnoticed. */
const CHECK_READY_MS = 60 * SECOND;
const CHECK_UNREADY_MS = 12 * SECOND;
const JITTER = 0.2;

export interface ConnectionDeps {
  readonly registry: ConnectionRegistry;
  /** Where the credentials Secrets of ClusterConnections are. */
  readonly operatorNamespace: string;
}

export interface ConnectionController<T> {
  readonly reconcile: Reconcile<T>;
  /** The object is gone: forgets its session and its series. */
  onGone(key: ObjectKey): void;
}

export function createClusterConnectionReconciler(
  context: Context,
  deps: ConnectionDeps,
): ConnectionController<ClusterConnection> {
  const { clusterConnections } = context.caches;
  return createReconciler(
    "ClusterConnection",
    clusterConnectionType,
    clusterConnections,
    context,
    deps,
  );
}

export function createConnectionReconciler(
  context: Context,
  deps: ConnectionDeps,
): ConnectionController<Connection> {
  return createReconciler("Connection", connectionType, context.caches.connections, context, deps);
}

function createReconciler<T extends AnyConnection>(
  kind: ConnectionKindName,
  type: ResourceType<T>,
  store: Store<T>,
  context: Context,
  deps: ConnectionDeps,
): ConnectionController<T> {
  const { registry } = deps;
  const applyDeps = { type, store, registry };

  const reportFailure = async (object: T, error: unknown, signal: AbortSignal) => {
    const ready = failureReadiness(error);
    if (ready === undefined) return;
    const { metadata, status = {} } = object;
    const generation = metadata.generation ?? 0;
    const conditions = readinessConditions(
      status.conditions ?? [],
      ready,
      generation,
      context.clock.now(),
    );
    context.metrics.objectReady.set(series(kind, object), 0);
    await writeReport(object, { ...status, conditions: [...conditions] }, signal);
  };

  const writeReport = async (object: T, status: ConnectionStatus, signal: AbortSignal) => {
    await writeStatus<T>(context, type, store, object, status, { signal });
    const target = { apiVersion: object.apiVersion, kind, metadata: object.metadata };
    for (const note of notes(object.status, status)) context.events.record(target, note);
  };

  const pass = async (object: T, signal: AbortSignal): Promise<Result> => {
    const seen = await observe(kind, object, context, deps, signal);
    let applied: Applied<T> = { object, gone: false };
    for (const action of plan(seen, context.clock.now())) {
      applied = await apply(action, applied, seen.key, context, applyDeps, signal);
    }
    if (applied.gone || (seen.deleting && !seen.held)) return {};
    const authenticated = authentication(seen, applied.login);
    const ready = readiness(seen, authenticated);
    const skewSeconds = registry.sessions.get(seen.key)?.client.clockSkew()?.seconds;
    const report = { ready, authenticated, login: applied.login, skewSeconds };
    const status = nextStatus(object, seen, report, context.clock.now());
    context.metrics.objectReady.set(series(kind, object), ready.state === "Ready" ? 1 : 0);
    await writeReport(applied.object, status, signal);
    return requeue(seen, ready.state === "Ready", context);
  };

  return {
    reconcile: async (object, { signal }) => {
      const key = connectionKey(
        { kind, name: object.metadata.name },
        object.metadata.namespace ?? "",
      );
      try {
        return await pass(object, signal);
      } catch (error) {
        throw await reportQuietly(error, () => reportFailure(object, error, signal), context.log);
      } finally {
        registry.noteChecked(key);
      }
    },
    onGone: ({ namespace, name }) => {
      registry.forget(connectionKey({ kind, name }, namespace));
      context.metrics.forgetObject(kind, namespace, name);
    },
  };
}

function requeue(seen: Observed, isReady: boolean, { random }: Context): Result {
  const base = isReady || !seen.spec.ok ? CHECK_READY_MS : CHECK_UNREADY_MS;
  return { requeueAfterMs: Math.round(base * (1 + JITTER * (random.fraction() - 0.5))) };
}

function series(kind: ConnectionKindName, object: AnyConnection) {
  const { namespace, name } = keyOf(object);
  return { kind, namespace, name };
}
