/** Plays a deletion through its rules and actions, at a console and in a cluster that are given as data. */
import { API_VERSION } from "../../../../src/api/meta.ts";
import type { ServiceAccount } from "../../../../src/api/service-account.ts";
import { isOutcome, isReleased } from "../../../../src/controllers/frame/rules/next-step.ts";
import type { Released, Waiting } from "../../../../src/controllers/frame/rules/outcome.ts";
import { type Step, stepOf } from "../../../../src/controllers/frame/steps.ts";
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
  AccountProgress,
  AccountRun,
  AccountSnapshot,
} from "../../../../src/controllers/service-account/rules/snapshot.ts";
import { accountSteps } from "../../../../src/controllers/service-account/steps/steps.ts";
import { extraOperations } from "../../../../src/iam/endpoints.ts";
import { cachesWith } from "../../../support/caches-with.ts";
import { rawSpec } from "../connection/specs.ts";
import { access, at, deleted, snapshotOf } from "./objects.ts";

const connection = {
  apiVersion: API_VERSION,
  kind: "ClusterConnection",
  metadata: { name: "default", uid: "c1", resourceVersion: "1" },
  spec: rawSpec,
};

function runAmong(console: object, others: readonly ServiceAccount[]): AccountRun {
  const named = (value: string) => others.filter((other) => saIdIndex(other).includes(value));
  return {
    signal: new AbortController().signal,
    clock: { now: () => at.now },
    caches: cachesWith({
      serviceaccounts: { byIndex: (_: string, value: string) => named(value) },
      clusterconnections: { get: () => connection },
    }),
    connections: { resolve: async () => ({ ok: true, access }) },
    console: () => console,
  } as unknown as AccountRun;
}

/** What the deletion comes to, after which actions. */
export async function playDeletion(
  client: object,
  changes: Partial<AccountSnapshot>,
  spec: object,
  others: readonly ServiceAccount[] = [],
) {
  const run = runAmong({ listServiceAccounts: async () => [], ...client }, others);
  const snapshot = snapshotOf({ object: deleted, ...changes }, spec);
  const saId = snapshot.account?.saId ?? snapshot.spec.saId;
  let progress = {
    snapshot: {
      ...snapshot,
      claim: await readClaim(snapshot.object, run),
      otherClaims: await readOtherClaims(saId === undefined ? [] : [saId], snapshot.object, run),
      connection: {
        ok: true,
        access: {
          ...access,
          extraCalls: new Set(extraOperations.filter((name) => name in client)),
        },
      } as const,
    },
    done: {},
  };
  const actions: AccountAction[] = [];
  const steps = accountSteps(new MarkedAccounts(() => undefined));
  for (;;) {
    const step: AccountAction | Waiting | Released = nextOfDeletion(progress, at);
    if (isOutcome(step) || isReleased(step)) return { end: step as Waiting | Released, actions };
    actions.push(step as AccountAction);
    const action = step as AccountAction;
    progress = (await carryOut(
      stepOf({ steps }, action),
      action,
      progress,
      run,
    )) as typeof progress;
  }
}

async function carryOut(
  step: Step<AccountKind, AccountAction>,
  action: AccountAction,
  progress: AccountProgress,
  run: AccountRun,
): Promise<AccountProgress> {
  if ("read" in step) return step.read(action, progress, run);
  const answer = "call" in step ? await step.call(action, progress, run) : undefined;
  return step.after(action, progress, answer as undefined, at);
}
