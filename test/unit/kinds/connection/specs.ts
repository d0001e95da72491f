import {
  type ClusterConnection,
  type ConnectionSpec,
  clusterConnectionKind,
} from "../../../../src/api/connection.ts";
import { parseSpec } from "../../../../src/api/parse-spec.ts";

export const rawSpec = {
  baseURL: "https://console.example.com",
  orgId: "org-1",
  projectId: "prj-1",
  domainName: "acme",
  credentials: { login: { secretRef: { name: "console-login" } } },
};

/** A spec with its defaults. */
export function connectionSpec(changes: object = {}): ClusterConnection["spec"] {
  const parsed = parseSpec(clusterConnectionKind, { spec: { ...rawSpec, ...changes } });
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.spec;
}

export const tokenCredentials: Pick<ConnectionSpec, "credentials"> = {
  credentials: { token: { secretRef: { name: "console-token", key: "token" } } },
};
