import fc from "fast-check";
import { test } from "vitest";
import { reconciling, stalled } from "../../../../src/controllers/frame/rules/waiting.ts";
import { MarkedAccounts } from "../../../../src/controllers/service-account/marked-accounts.ts";
import { nextOfDeletion } from "../../../../src/controllers/service-account/rules/deletion.ts";
import { next } from "../../../../src/controllers/service-account/rules/next.ts";
import { report } from "../../../../src/controllers/service-account/rules/report.ts";
import type {
  AccountKind,
  AccountSnapshot,
} from "../../../../src/controllers/service-account/rules/snapshot.ts";
import { accountSteps } from "../../../../src/controllers/service-account/steps/steps.ts";
import { blockedSince } from "../blocked-cleanup.ts";
import { ago, expectRequeued, maybe, type Rules, remembering, type Situation } from "../requeue.ts";
import * as accounts from "./objects.ts";

const { NOW } = accounts;
const rules: Rules<AccountKind> = {
  start: {},
  steps: accountSteps(new MarkedAccounts(() => undefined)),
  next,
  nextOfDeletion,
  report,
};
const lastRead = fc
  .record({
    age: ago,
    nextIn: ago,
    finding: fc.constantFrom(undefined, undefined, stalled("ServiceAccountGone", "gone")),
    saId: fc.constantFrom("sa-1", "sa-2"),
  })
  .map(({ age, nextIn, finding, saId }) => ({
    saId,
    consoleURL: accounts.account.consoleURL,
    generation: 1,
    startTime: NOW - age,
    nextTime: NOW - age + nextIn,
    keyRequests: [],
    finding,
  }));
const situations = fc
  .record({
    account: fc.constantFrom(
      undefined,
      accounts.account,
      accounts.account,
      { ...accounts.account, state: "inactive" },
      { ...accounts.account, tpn: undefined },
    ),
    attempt: maybe(ago.map((ms) => ({ id: "u1-a", startTime: NOW - ms, described: undefined }))),
    connection: fc.constantFrom<AccountSnapshot["connection"]>(
      { ok: true, access: accounts.access },
      { ok: true, access: accounts.access },
      { ok: false, waiting: reconciling("ConnectionNotReady", "wait") },
      { ok: false, waiting: stalled("ConnectionSuspended", "wait") },
    ),
    users: fc.constantFrom([], ["ApiKey one"]),
    unlistedKeyTime: maybe(ago.map((ms) => NOW - ms)),
    keyRecoveryTime: maybe(ago.map((ms) => NOW - ms)),
    recoveryTime: maybe(ago.map((ms) => NOW - ms)),
    keyRequests: fc.constantFrom([], ["k1 now"]),
    request: fc.constantFrom(undefined, undefined, "now"),
    accountCount: fc.constantFrom(1, 10_000),
    lastRead: maybe(lastRead),
    listTime: maybe(ago.map((ms) => NOW - ms)),
    blocked: maybe(ago.map((ms) => NOW - ms)),
    spec: fc.constantFrom(
      {},
      {},
      { suspend: true },
      { saId: "sa-1" },
      { deletionPolicy: "Retain" },
    ),
    deleting: fc.constantFrom(false, false, true),
    listing: fc.constantFrom<AccountSnapshot["listing"]>(
      undefined,
      undefined,
      { ok: true, accounts: [] },
      { ok: false, code: "PermissionDenied" },
    ),
    done: fc.constantFrom(
      undefined,
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
      blocked,
      done,
      ...seen
    }): Situation<AccountKind> => {
      const snapshot = accounts.snapshotOf(
        {
          ...seen,
          ...(deleting ? { object: blockedSince(accounts.deleted, blocked) } : {}),
          state: { lastRead: last, listTime },
        },
        spec,
      );
      return { snapshot, spec: snapshot.spec, ...(done === undefined ? {} : { done }) };
    },
  );

test("a run over a ServiceAccount names the time of the next one", () => {
  expectRequeued(rules, situations, NOW, remembering);
});
