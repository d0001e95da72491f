import { API_VERSION } from "../../../../src/api/meta.ts";
import { clientIdentity } from "../../../../src/connections/client-settings.ts";
import type { IamClient } from "../../../../src/console/client/client.ts";
import type { ConnectionSnapshot } from "../../../../src/kinds/connection/rules/snapshot.ts";
import type { Session } from "../../../../src/kinds/connection/sessions.ts";
import { Redacted } from "../../../../src/util/redacted.ts";
import { connectionSpec } from "./specs.ts";

export const NOW = Date.UTC(2026, 0, 1);
export const at = { now: NOW, monotonic: 0, fraction: 0.5 };
export const credentials = { kind: "token", token: new Redacted("t") } as const;

const spec = connectionSpec();
export const identity = { uid: "u1", spec: clientIdentity(spec), inputs: "s1/1" };
export const session: Session = { identity, client: {} as IamClient, usable: true, reason: "" };

/** Of a connection in order that nothing uses. */
export const snapshot: ConnectionSnapshot = {
  object: {
    apiVersion: API_VERSION,
    kind: "ClusterConnection",
    metadata: { name: "default", uid: "u1", resourceVersion: "1", generation: 2 },
    spec,
  },
  key: "ClusterConnection/default",
  spec: { ok: true, suspend: false, spec },
  inputs: { ok: true, value: { credentials } },
  identity,
  session,
  outage: undefined,
  clockSkewSeconds: undefined,
  namespaceTerminating: false,
  users: [],
  request: undefined,
};
