import type { ClusterConnection, Connection } from "../../../api/connection.ts";

export type ConnectionKindName = "Connection" | "ClusterConnection";
export type AnyConnection = Connection | ClusterConnection;
