import { API_VERSION, FINALIZER } from "../../../src/api/meta.ts";
import { parseSpec } from "../../../src/api/parse-spec.ts";
import {
  type ServiceAccount,
  type ServiceAccountSpec,
  serviceAccountKind,
} from "../../../src/api/service-account.ts";
import { ALL_RIGHTS } from "../../../src/controllers/connection/rules/effective-grant.ts";
import type { ConnectionAccess } from "../../../src/controllers/frame/context.ts";
import type { Account } from "../../../src/controllers/service-account/account.ts";
import type { Known } from "../../../src/controllers/service-account/observe.ts";
import type { Situation } from "../../../src/controllers/service-account/plan.ts";
import type { IamClient } from "../../../src/iam/client/client.ts";
import { connectionSpec } from "../connection/specs.ts";

export const NOW = Date.UTC(2026, 0, 1);
export const key = { namespace: "team-a", name: "ci-bot" };

export function accountSpec(changes: object = {}): ServiceAccountSpec {
  const parsed = parseSpec(serviceAccountKind, { spec: changes });
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.spec;
}

export function serviceAccount(
  changes: Partial<Omit<ServiceAccount, "metadata">> & { metadata?: object } = {},
): ServiceAccount {
  return {
    apiVersion: API_VERSION,
    kind: "ServiceAccount",
    spec: accountSpec(),
    ...changes,
    metadata: {
      ...key,
      uid: "u1",
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: "2026-01-01T00:00:00Z",
      finalizers: [FINALIZER],
      ...changes.metadata,
    },
  };
}

export const access: ConnectionAccess = {
  client: { extra: {} } as IamClient,
  spec: connectionSpec(),
  grant: ALL_RIGHTS,
};

export const account: Account = {
  saId: "sa-1",
  tpn: "tpn:r1:org-1:prj-1:sa/sa-1",
  orgId: "org-1",
  projectId: "prj-1",
  state: "active",
  origin: "Created",
  liveKeyIds: ["sak_1"],
};

/** An object in order that has no account yet. */
export function known(changes: Partial<Known> = {}): Known {
  return {
    key,
    uid: "u1",
    generation: 1,
    deleting: false,
    namespaceTerminating: false,
    held: true,
    wish: { ok: true, spec: accountSpec() },
    lookup: { ok: true, access },
    account: undefined,
    attempt: undefined,
    users: [],
    unlistedKeyAt: undefined,
    asked: undefined,
    memory: { uid: "u1" },
    ...changes,
  };
}

export function situation(changes: Partial<Known> = {}, spec: object = {}): Situation {
  return { known: known(changes), spec: accountSpec(spec), access };
}
