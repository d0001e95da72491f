/**
 * Logs in to a console and keeps the login valid. The two kinds differ in scope and in the namespace of their Secrets.
 */
import type { ClusterConnection, Connection } from "../../api/connection.ts";
import { keyOf, type ObjectKey, type ResourceType } from "../../kube/resource.ts";
import type { Reconcile } from "../../runtime/result.ts";
import { connectionKey } from "../connection-key.ts";
import type { Context } from "../frame/context.ts";
import type { KindController } from "../frame/kind-controller.ts";
import { createReconciler } from "../frame/reconciler.ts";
import { clusterConnectionType, connectionType } from "../resource-types.ts";
import { perform } from "./actions/perform.ts";
import { type ConnectionSources, observe, readSpec } from "./observe.ts";
import type { AnyConnection, ConnectionKindName } from "./rules/kind-name.ts";
import { next, nextOfDeletion } from "./rules/next.ts";
import { report } from "./rules/report.ts";
import type { ConnectionKind } from "./rules/snapshot.ts";

export interface ConnectionReconciler<T> {
  readonly reconcile: Reconcile<T>;
  readonly onGone: (key: ObjectKey) => void;
}

export function createClusterConnectionController(
  context: Context,
  sources: ConnectionSources,
): ConnectionReconciler<ClusterConnection> {
  return create("ClusterConnection", clusterConnectionType, context, sources);
}

export function createConnectionController(
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
  const controller: KindController<ConnectionKind> = {
    type,
    parse: (object) => ({ ok: true, spec: readSpec(kind, object) }),
    start: {},
    needsFinalizer: new Set(["OpenSession", "Authenticate"]),
    always: new Set(),
    isReader: true,
    observe: (object, spec, run) => observe(kind, object, spec, sources, run, run.signal),
    next,
    nextOfDeletion,
    perform: (action, progress, run) => perform(registry.sessions, action, progress, run),
    report: (progress, outcome, at) => report(type, progress, outcome, at),
    forget: ({ namespace, name }) => registry.forget(connectionKey({ kind, name }, namespace)),
  };
  const { reconcile, onGone } = createReconciler(controller, context);
  return {
    onGone,
    reconcile: async (object, run) => {
      const { namespace, name } = keyOf(object);
      try {
        return await reconcile(object, run);
      } finally {
        registry.noteChecked(connectionKey({ kind, name }, namespace));
      }
    },
  };
}
