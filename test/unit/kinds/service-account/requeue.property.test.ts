import fc from "fast-check";
import { test } from "vitest";
import { MarkedAccounts } from "../../../../src/kinds/service-account/marked-accounts.ts";
import { nextOfDeletion } from "../../../../src/kinds/service-account/rules/deletion.ts";
import { next } from "../../../../src/kinds/service-account/rules/next.ts";
import { report } from "../../../../src/kinds/service-account/rules/report.ts";
import type {
  AccountDone,
  AccountKind,
  AccountSnapshot,
} from "../../../../src/kinds/service-account/rules/snapshot.ts";
import { accountSteps } from "../../../../src/kinds/service-account/steps/steps.ts";
import { reconciling, stalled } from "../../../../src/reconciler/rules/waiting.ts";
import { blockedSince } from "../blocked-cleanup.ts";
import {
  ago,
  expectRequeued,
  maybe,
  mostly,
  type Rules,
  rarely,
  type Situation,
  usually,
} from "../requeue.ts";
import * as accounts from "./objects.ts";

const { NOW } = accounts;
const rules: Rules<AccountKind> = {
  start: {},
  steps: accountSteps(new MarkedAccounts(() => undefined)),
  next,
  nextOfDeletion,
  report,
};
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
    users: fc.constantFrom([], ["ApiKey one"]),
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
    done: mostly<AccountDone | undefined>(
      undefined,
      { lookTime: NOW - 5, listTime: NOW - 5 },
      { failure: reconciling("Unavailable", "down") },
    ),
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
          state: { lastRead: last, listTime, unnamed },
        },
        spec,
      );
      return { snapshot, spec: snapshot.spec, ...(done === undefined ? {} : { done }) };
    },
  );

test("a run over a ServiceAccount names the time of the next one", () => {
  expectRequeued(rules, situations, NOW);
});
