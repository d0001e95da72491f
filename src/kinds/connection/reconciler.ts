/**
 * Logs in to a console and keeps the login valid. The two kinds differ in scope and in the namespace of their Secrets.
 */
import type { ClusterConnection, Connection } from "../../api/connection.ts";
import { connectionKey } from "../../connections/connection-key.ts";
import { keyOf, type ObjectKey, type ResourceType } from "../../kube/resource.ts";
import type { Context } from "../../reconciler/context.ts";
import type { KindDefinition } from "../../reconciler/kind-definition.ts";
import type { PlannedObject } from "../../reconciler/plan/plan-object.ts";
import { createReconciler } from "../../reconciler/reconciler.ts";
import { clusterConnectionType, connectionType } from "../../resources/resource-types.ts";
import type { Reconcile, Run } from "../../runtime/result.ts";
import { sessionEffects } from "./effects/session.ts";
import { type ConnectionSources, observe, readSpec } from "./observe.ts";
import type { AnyConnection, ConnectionKindName } from "./rules/kind-name.ts";
import { report } from "./rules/report.ts";
import type { ConnectionKind } from "./rules/snapshot.ts";
import { deleteConnection, reconcileConnection } from "./run.ts";

interface ConnectionReconciler<T> {
  readonly reconcile: Reconcile<T>;
  readonly onGone: (key: ObjectKey) => void;
  readonly plan: (object: T, run: Pick<Run, "signal">) => Promise<PlannedObject>;
}

export function createClusterConnectionReconciler(
  context: Context,
  sources: ConnectionSources,
): ConnectionReconciler<ClusterConnection> {
  return create("ClusterConnection", clusterConnectionType, context, sources);
}

export function createConnectionReconciler(
  context: Context,
  sources: ConnectionSources,
): ConnectionReconciler<Connection> {
  return create("Connection", connectionType, context, sources);
}

function create<T extends AnyConnection>(
  kind: ConnectionKindName,
  type: ResourceType<T>,
  context: Context,
  sources: ConnectionSources,
): ConnectionReconciler<T> {
  const { registry } = sources;
  const effects = sessionEffects(registry.sessions);
  const definition: KindDefinition<ConnectionKind> = {
    type,
    parse: (object) => ({ ok: true, spec: readSpec(kind, object) }),
    observe: (object, spec, run) => observe(kind, object, spec, sources, run, run.signal),
    run: (snapshot, readNow) => reconcileConnection(snapshot, readNow().now, effects),
    runOfDeletion: (snapshot, readNow) => deleteConnection(snapshot, readNow().now, effects),
    report: (snapshot, outcome, at) => report(type, snapshot, outcome, at),
    isReader: true,
    forget: ({ namespace, name }) => registry.forget(connectionKey({ kind, name }, namespace)),
  };
  const { reconcile, onGone, plan } = createReconciler(definition, context);
  const noteChecked = (object: T) => {
    const { namespace, name } = keyOf(object);
    registry.noteChecked(connectionKey({ kind, name }, namespace));
  };
  return {
    onGone,
    reconcile: (object, run) => reconcile(object, run).finally(() => noteChecked(object)),
    plan: (object, run) => plan(object, run).finally(() => noteChecked(object)),
  };
}
