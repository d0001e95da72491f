import { API_VERSION, FINALIZER } from "../../../../src/api/meta.ts";
import { parseSpec } from "../../../../src/api/parse-spec.ts";
import {
  type ServiceAccount,
  type ServiceAccountSpec,
  serviceAccountKind,
} from "../../../../src/api/service-account.ts";
import { ALL_RIGHTS } from "../../../../src/kinds/connection/rules/effective-grant.ts";
import { reconcileDeletion } from "../../../../src/kinds/service-account/deletion.ts";
import { createAccountEffects } from "../../../../src/kinds/service-account/effects/effects.ts";
import { MarkedAccounts } from "../../../../src/kinds/service-account/marked-accounts.ts";
import { accountAfter } from "../../../../src/kinds/service-account/rules/account.ts";
import type {
  AccountSnapshot,
  AccountUser,
  Claim,
  KnownAccount,
} from "../../../../src/kinds/service-account/rules/snapshot.ts";
import { reconcileAccount } from "../../../../src/kinds/service-account/run.ts";
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
    scope: { origin: "https://console.example.com", orgIds: ["org-1"] },
    isProven: object.status?.saId !== undefined,
    isOfCluster: true,
    isUsable: true,
    mayImport: true,
    ...changes,
  };
}

export function using(use: AccountUser["use"], name: string): AccountUser {
  return { name, use };
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
    usersAreBlocked: false,
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

/** The object is being deleted. */
export const deleted = serviceAccount({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } });

export const at = { now: NOW, monotonic: 0, fraction: 0.5 };

/** A snapshot as a table tells it, and the answers that its run gets. */
export interface Given extends Partial<Omit<AccountSnapshot, "spec" | "answer" | "listing">> {
  readonly spec?: object;
  /** Of getServiceAccount. */
  readonly answer?: AccountSnapshot["answer"];
  /** Of listServiceAccounts. */
  readonly listing?: AccountSnapshot["listing"];
  /** Of effects: a value, or what the run knows afterwards. */
  readonly answers?: Readonly<Record<string, unknown>>;
}

interface Step {
  readonly kind: string;
  readonly [input: string]: unknown;
}

/** The first effect of a run for which it gets no answer, or its end; and what the run knows then. */
export function play(
  { spec, answer, listing, answers, ...seen }: Given,
  now = NOW,
): { readonly step: Step; readonly known: AccountSnapshot } {
  const marked = new MarkedAccounts(() => undefined);
  const effects = { ...createAccountEffects(marked), readNow: () => ({ ...at, now }) };
  const start = snapshotOf(seen, spec);
  const isDeleting = start.object.metadata.deletionTimestamp !== undefined;
  const run = isDeleting ? reconcileDeletion(start, effects) : reconcileAccount(start, effects);
  const script: Readonly<Record<string, unknown>> = {
    ...(listing && { ListAccounts: { listing, listTime: now } }),
    ...(answer && {
      GetAccount: (known: AccountSnapshot) => {
        const account = accountAfter(known, answer);
        return { answer, account, lookTime: now };
      },
    }),
    ...answers,
  };
  let next = run.next();
  while (!next.done && next.value.does.kind in script) {
    const said = script[next.value.does.kind];
    next = run.next(said instanceof Function ? said(next.value.snapshot) : said);
  }
  if (next.done) return { step: { ...next.value.end }, known: next.value.snapshot };
  const { does, input, snapshot: known } = next.value;
  return { step: { kind: does.kind, ...(input as object) }, known };
}
