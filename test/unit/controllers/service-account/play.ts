/** Plays a deletion through its rules and actions, at a console and in a cluster that are given as data. */
import { API_VERSION } from "../../../../src/api/meta.ts";
import type { ServiceAccount } from "../../../../src/api/service-account.ts";
import type { ReconcileContext } from "../../../../src/controllers/frame/kind-controller.ts";
import { isOutcome, isReleased } from "../../../../src/controllers/frame/rules/next-step.ts";
import type { Released, Waiting } from "../../../../src/controllers/frame/rules/outcome.ts";
import { perform } from "../../../../src/controllers/service-account/actions/perform.ts";
import {
  readClaim,
  readOtherClaims,
  saIdIndex,
} from "../../../../src/controllers/service-account/claims.ts";
import { MarkedAccounts } from "../../../../src/controllers/service-account/marked-accounts.ts";
import { nextOfDeletion } from "../../../../src/controllers/service-account/rules/deletion.ts";
import type {
  AccountAction,
  AccountKind,
  AccountSnapshot,
} from "../../../../src/controllers/service-account/rules/snapshot.ts";
import { cachesWith } from "../../../support/caches-with.ts";
import { rawSpec } from "../connection/specs.ts";
import { access, at, deleted, snapshotOf } from "./objects.ts";

const connection = {
  apiVersion: API_VERSION,
  kind: "ClusterConnection",
  metadata: { name: "default", uid: "c1", resourceVersion: "1" },
  spec: rawSpec,
};

function runAmong(others: readonly ServiceAccount[]): ReconcileContext<AccountKind> {
  const named = (value: string) => others.filter((other) => saIdIndex(other).includes(value));
  return {
    signal: new AbortController().signal,
    clock: { now: () => at.now },
    caches: cachesWith({
      serviceaccounts: { byIndex: (_: string, value: string) => named(value) },
      clusterconnections: { get: () => connection },
    }),
    connections: { resolve: async () => ({ ok: true, access }) },
  } as unknown as ReconcileContext<AccountKind>;
}

/** What the deletion comes to, after which actions. */
export async function playDeletion(
  client: object,
  changes: Partial<AccountSnapshot>,
  spec: object,
  others: readonly ServiceAccount[] = [],
) {
  const run = runAmong(others);
  const console = { listServiceAccounts: async () => [], ...client };
  const snapshot = snapshotOf({ object: deleted, ...changes }, spec);
  const saId = snapshot.account?.saId ?? snapshot.spec.saId;
  let progress = {
    snapshot: {
      ...snapshot,
      claim: await readClaim(snapshot.object, run),
      otherClaims: await readOtherClaims(saId === undefined ? [] : [saId], snapshot.object, run),
      connection: { ok: true, access: { ...access, client: console as never } } as const,
    },
    done: {},
  };
  const actions: AccountAction[] = [];
  const marked = new MarkedAccounts(() => undefined);
  for (;;) {
    const step: AccountAction | Waiting | Released = nextOfDeletion(progress, at);
    if (isOutcome(step) || isReleased(step)) return { end: step as Waiting | Released, actions };
    actions.push(step as AccountAction);
    progress = (await perform(step as AccountAction, progress, run, marked)) as typeof progress;
  }
}
