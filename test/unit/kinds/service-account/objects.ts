import { API_VERSION, FINALIZER } from "../../../../src/api/meta.ts";
import { parseSpec } from "../../../../src/api/parse-spec.ts";
import {
  type ServiceAccount,
  type ServiceAccountSpec,
  serviceAccountKind,
} from "../../../../src/api/service-account.ts";
import { ALL_RIGHTS } from "../../../../src/kinds/connection/rules/effective-grant.ts";
import type {
  AccountDone,
  AccountSnapshot,
  Claim,
  KnownAccount,
} from "../../../../src/kinds/service-account/rules/snapshot.ts";
import type { ConnectionAccess } from "../../../../src/reconciler/context.ts";
import { connectionSpec } from "../connection/specs.ts";

export const NOW = Date.UTC(2026, 0, 1);
export const key = { namespace: "team-a", name: "ci-bot" };
/** The name of its account where its spec gives none. */
export const accountName = "team-a-ci-bot";

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
  session: 0,
  extraCalls: new Set(),
  spec: connectionSpec(),
  grant: ALL_RIGHTS,
};

export const account: KnownAccount = {
  saId: "sa-1",
  name: accountName,
  tpn: "tpn:r1:org-1:prj-1:sa/sa-1",
  orgId: "org-1",
  projectId: "prj-1",
  state: "active",
  describedCluster: undefined,
  origin: "Created",
  consoleURL: "https://console.example.com",
  liveKeyIds: ["sak_1"],
  inactiveKeyIds: undefined,
  listsKeyStates: undefined,
};

export function claimOf(object: ServiceAccount, changes: Partial<Claim> = {}): Claim {
  return {
    object,
    scope: { origin: "https://console.example.com", orgId: "org-1" },
    isProven: object.status?.saId !== undefined,
    isOfCluster: true,
    isUsable: true,
    mayImport: true,
    ...changes,
  };
}

/** An object in order that has no account yet; `spec` is what its spec says. */
export function snapshotOf(
  changes: Partial<AccountSnapshot> = {},
  spec: object = {},
): AccountSnapshot {
  return {
    object: serviceAccount(),
    spec: accountSpec(spec),
    connection: { ok: true, access },
    clusterName: undefined,
    namespaceTerminating: false,
    account: undefined,
    attempt: undefined,
    unreadableResponse: undefined,
    users: [],
    accountCount: 1,
    apiKeys: [],
    apiKeysAreCurrent: true,
    listTimes: undefined,
    markedAccounts: undefined,
    namedAccounts: new Set(),
    unlistedKeyTime: undefined,
    keyRecoveryTime: undefined,
    keyRequests: [],
    recoveryTime: undefined,
    request: undefined,
    claim: claimOf(serviceAccount()),
    accountsBefore: 0,
    unmarkedBefore: 0,
    otherClaims: new Map(),
    listing: undefined,
    answer: undefined,
    state: {},
    ...changes,
  };
}

/** A snapshot as a table tells it, and what its run has done. */
export interface Given extends Partial<Omit<AccountSnapshot, "spec">> {
  readonly spec?: object;
  readonly done?: AccountDone;
}

/** The object is being deleted. */
export const deleted = serviceAccount({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } });

export const at = { now: NOW, monotonic: 0, fraction: 0.5 };
