import type { Connection } from "../../api/connection.ts";
import { defineKind } from "../frame/kind-module.ts";
import { clusterConnectionType, connectionType } from "../resource-types.ts";
import { bundleId } from "./rules/client-settings.ts";

export const clusterConnections = defineKind({
  type: clusterConnectionType,
  // Only administrators write it.
  cache: { keep: (_, whole) => whole },
});

export const connections = defineKind({
  type: connectionType,
  cache: { keep: withBundleId },
});

/** The certificates of a large Connection are replaced by a hash, which still tells one client from another. */
function withBundleId(trimmed: Connection, whole: Connection): Connection {
  const { caBundle }: Partial<Connection["spec"]> = whole.spec ?? {};
  if (trimmed === whole || typeof caBundle !== "string") return trimmed;
  return { ...trimmed, spec: { ...trimmed.spec, caBundle: bundleId(caBundle) } };
}
