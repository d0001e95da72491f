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

import { type ConnectionSources, observe, readSpec } from "./observe.ts";
import type { AnyConnection, ConnectionKindName } from "./rules/kind-name.ts";
import { next, nextOfDeletion } from "./rules/next.ts";
import { report } from "./rules/report.ts";
import type { ConnectionKind } from "./rules/snapshot.ts";
import { connectionSteps } from "./steps/steps.ts";

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
  const controller: KindDefinition<ConnectionKind> = {
    type,
    parse: (object) => ({ ok: true, spec: readSpec(kind, object) }),
    start: {},
    observe: (object, spec, run) => observe(kind, object, spec, sources, run, run.signal),
    next,
    nextOfDeletion,
    steps: connectionSteps(registry.sessions),
    report: (progress, outcome, at) => report(type, progress, outcome, at),
    forget: ({ namespace, name }) => registry.forget(connectionKey({ kind, name }, namespace)),
  };
  const { reconcile, onGone, plan } = createReconciler(controller, context);
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
