import fc from "fast-check";
import { IamError } from "../../../../src/console/errors.ts";
import { reconcileDeletion } from "../../../../src/kinds/service-account/deletion.ts";
import { createAccountEffects } from "../../../../src/kinds/service-account/effects/effects.ts";
import { MarkedAccounts } from "../../../../src/kinds/service-account/marked-accounts.ts";
import { report } from "../../../../src/kinds/service-account/rules/report.ts";
import type {
  AccountEffects,
  AccountEnded,
  AccountKind,
  AccountSnapshot,
} from "../../../../src/kinds/service-account/rules/snapshot.ts";
import { reconcileAccount } from "../../../../src/kinds/service-account/run.ts";
import { reconciling, stalled } from "../../../../src/reconciler/rules/waiting.ts";
import { blockedSince } from "../blocked-cleanup.ts";
import { ago, maybe, mostly, type Requeued, rarely, type Situation, usually } from "../requeue.ts";
import * as accounts from "./objects.ts";

const { NOW } = accounts;
const effects = createAccountEffects(new MarkedAccounts(() => undefined));
/** What is read for these is an error of the console. */
const unanswered = new WeakSet<AccountSnapshot>();
const rules: Requeued<AccountKind>["rules"] = {
  run: (snapshot, readNow) => reconcileAccount(snapshot, { ...effects, readNow }),
  runOfDeletion: (snapshot, readNow) => {
    const run = reconcileDeletion(snapshot, { ...effects, readNow });
    return unanswered.has(snapshot) ? withoutAnswers(run) : run;
  },
  report,
};

// biome-ignore lint/correctness/useYield: the run goes on without its driver
function* withoutAnswers(run: AccountEffects<AccountEnded>): AccountEffects<AccountEnded> {
  const down = new IamError("Unavailable", "down", { operation: "getServiceAccount" });
  let next = run.next();
  while (!next.done) next = run.next(down);
  return next.value;
}
const before = ago.map((ms) => NOW - ms);
const lastRead = fc
  .record({
    startTime: before,
    nextTime: ago.map((ms) => NOW + ms),
    finding: mostly(undefined, stalled("ServiceAccountGone", "gone")),
    saId: mostly("sa-1", "sa-2"),
  })
  .map((read) => ({
    ...read,
    consoleURL: accounts.account.consoleURL,
    generation: 1,
    keyRequests: [],
  }));
const situations = fc
  .record({
    account: mostly<AccountSnapshot["account"]>(
      accounts.account,
      undefined,
      { ...accounts.account, state: "inactive" },
      { ...accounts.account, tpn: undefined },
    ),
    attempt: rarely(
      before.map((startTime) => ({ id: "u1-a", startTime, name: undefined, described: undefined })),
    ),
    connection: mostly<AccountSnapshot["connection"]>(
      { ok: true, access: accounts.access },
      { ok: false, waiting: reconciling("ConnectionNotReady", "wait") },
      { ok: false, waiting: stalled("ConnectionSuspended", "wait") },
    ),
    users: fc.constantFrom([], [accounts.using("Keys", "ApiKey one")]),
    unlistedKeyTime: rarely(before),
    keyRecoveryTime: rarely(before),
    recoveryTime: rarely(before),
    keyRequests: mostly<string[]>([], ["k1 now"]),
    request: mostly(undefined, "now"),
    accountCount: fc.constantFrom(1, 10_000),
    lastRead: usually(lastRead),
    listTime: maybe(before),
    unnamed: rarely(
      before.map((noticedTime) => new Map([["sak_1", { noticedTime, marker: undefined }]])),
    ),
    blocked: maybe(before),
    spec: mostly<object>({}, { suspend: true }, { saId: "sa-1" }, { deletionPolicy: "Retain" }),
    deleting: mostly(false, true),
    listing: mostly<AccountSnapshot["listing"]>(
      undefined,
      { ok: true, accounts: [] },
      { ok: false, code: "PermissionDenied" },
    ),
    done: mostly<"Read" | "Unanswered" | undefined>(undefined, "Read", "Unanswered"),
  })
  .map(
    ({
      spec,
      deleting,
      lastRead: last,
      listTime,
      unnamed,
      blocked,
      done,
      ...seen
    }): Situation<AccountKind> => {
      const snapshot = accounts.snapshotOf(
        {
          ...seen,
          ...(deleting ? { object: blockedSince(accounts.deleted, blocked) } : {}),
          ...(done === "Read" ? { lookTime: NOW - 5, listTime: NOW - 5 } : {}),
          state: { lastRead: last, listTime, unnamed },
        },
        spec,
      );
      if (done === "Unanswered") unanswered.add(snapshot);
      return { snapshot, spec: snapshot.spec, done };
    },
  );

export const requeued: Requeued<AccountKind> = { rules, situations, now: NOW };
