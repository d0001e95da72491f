import { describe, expect, test } from "vitest";
import {
  canCleanUp,
  cleanUp,
  GIVE_UP_AFTER_MS,
  judgeDeletion,
  orGiveUp,
  policyOf,
} from "../../../src/controllers/service-account/deletion.ts";
import type { Known } from "../../../src/controllers/service-account/observe.ts";
import type { Recall } from "../../../src/controllers/service-account/recall.ts";
import { IamError } from "../../../src/iam/errors.ts";
import { access, account, accountSpec, known, NOW, situation } from "./objects.ts";

const wish = (spec: object): Known["wish"] => ({ ok: true, spec: accountSpec(spec) });
const attempt = { id: "a-1", startTime: NOW };
const unclear: Recall = { kind: "Unclear", saIds: ["sa-7"] };
const unanswered: Recall = {
  kind: "Unanswered",
  finding: { state: "Reconciling", reason: "Unavailable", message: "down" },
};
const imported = { ...account, origin: "Imported" } as const;

test.each<{ name: string; seen: Partial<Known>; recall?: Recall; step: string }>([
  {
    name: "an object that is not held is no concern",
    seen: { held: false, account },
    step: "Done",
  },
  { name: "an object without an account goes at once", seen: {}, step: "Release" },
  {
    name: "an account that may be its own stays, and is named",
    seen: {},
    recall: unclear,
    step: "Release LeftBehind",
  },
  {
    name: "an object that may have an account waits for the console",
    seen: {},
    recall: unanswered,
    step: "Failing Unavailable",
  },
  {
    name: "users come before that",
    seen: { users: ["ApiKey ci-bot"] },
    recall: unanswered,
    step: "Hold InUse",
  },
  {
    name: "suspension holds what may need a call",
    seen: { wish: wish({ suspend: true }) },
    recall: unanswered,
    step: "Hold Suspended",
  },
  {
    name: "an account that may be there and shall stay needs no answer",
    seen: { wish: wish({ deletionPolicy: "Retain" }) },
    recall: unanswered,
    step: "Release",
  },
  {
    name: "nor does one to import, which stays by default",
    seen: { wish: wish({ saId: "sa-1" }) },
    recall: unanswered,
    step: "Release",
  },
  { name: "users come first", seen: { users: ["ApiKey ci-bot"], account }, step: "Hold InUse" },
  {
    name: "suspension holds a deletion",
    seen: { account, wish: wish({ suspend: true }) },
    step: "Hold Suspended",
  },
  {
    name: "suspension holds nothing that needs no call",
    seen: { wish: wish({ suspend: true }) },
    step: "Release",
  },
  {
    name: "an imported account is retained without a call",
    seen: { account: imported },
    step: "Release Retained",
  },
  { name: "a created account is cleaned up", seen: { account }, step: "CleanUp" },
  { name: "an open attempt is looked into first", seen: { attempt }, step: "CleanUp" },
  {
    name: "an open attempt is looked into even to retain",
    seen: { attempt, wish: wish({ deletionPolicy: "Retain" }) },
    step: "CleanUp",
  },
])("$name", ({ seen, recall = { kind: "Nothing" }, step }) => {
  const judged = judgeDeletion(known({ deleting: true, ...seen }), recall) ?? { kind: "CleanUp" };
  const reason =
    judged.kind === "Hold" || judged.kind === "Failing"
      ? judged.finding.reason
      : judged.kind === "Release"
        ? judged.note?.reason
        : undefined;
  expect([judged.kind, reason].filter(Boolean).join(" ")).toBe(step);
});

test.each([
  { name: "a created account is revoked by default", spec: {}, seen: account, policy: "Revoke" },
  {
    name: "an imported account is retained by default",
    spec: {},
    seen: imported,
    policy: "Retain",
  },
  {
    name: "the spec decides",
    spec: { deletionPolicy: "Delete" },
    seen: imported,
    policy: "Delete",
  },
])("$name", ({ spec, seen, policy }) => {
  expect(policyOf(known({ wish: wish(spec), account: seen }))).toBe(policy);
});

test("a console that cannot be used is a reason to wait, not to skip", () => {
  const lookup = { ok: false, reason: "ConnectionNotReady", message: "not yet" } as const;
  expect(canCleanUp(known({ account, lookup }))).toEqual({
    ok: false,
    finding: { state: "Reconciling", reason: "ConnectionNotReady", message: "not yet" },
  });
  const grant = { ...access.grant, importServiceAccounts: false };
  const seen = known({ account: imported, lookup: { ok: true, access: { ...access, grant } } });
  expect(canCleanUp(seen)).toMatchObject({ ok: false, finding: { reason: "NotGranted" } });
});

test("what an object without a known account may have had is given up as well", () => {
  const finding = { state: "Reconciling", reason: "Unavailable", message: "down" } as const;
  const given = orGiveUp({ kind: "Failing", finding }, known(), NOW, NOW + GIVE_UP_AFTER_MS);
  expect(given).toMatchObject({
    note: {
      type: "Warning",
      reason: "LeftBehind",
      note: "Gave up cleaning up at the console and left whatever account ServiceAccount team-a/ci-bot had: its status does not name one. Last reason: down",
    },
  });
});

test("a failing clean-up is given up after ten minutes, and says what is left", () => {
  const finding = { state: "Reconciling", reason: "Unavailable", message: "down" } as const;
  const failing = { kind: "Failing", finding } as const;
  const seen = known({ account });
  expect(orGiveUp(failing, seen, NOW, NOW)).toEqual({
    kind: "Hold",
    finding,
    requeueAfterMs: 30_000,
  });
  const almost = NOW + GIVE_UP_AFTER_MS - 1_000;
  expect(orGiveUp(failing, seen, NOW, almost)).toMatchObject({ requeueAfterMs: 1_000 });
  expect(orGiveUp(failing, seen, NOW, NOW + GIVE_UP_AFTER_MS)).toEqual({
    kind: "Release",
    note: {
      type: "Warning",
      reason: "LeftBehind",
      action: "Delete",
      note: "Gave up cleaning up at the console and left service account sa-1 (tpn:r1:org-1:prj-1:sa/sa-1), keys when last listed: sak_1, with its policies. Last reason: down",
    },
  });
});

const gone = new IamError("NotFound", "404", { operation: "deleteServiceAccount", status: 404 });

function cleanUpWith(client: object, spec: object = {}) {
  const seen = situation({ deleting: true, account, wish: wish(spec) }, spec);
  const console = { extra: {}, listServiceAccounts: async () => [], ...client } as never;
  return cleanUp(
    { ...seen, access: { ...access, client: console } },
    async () => false,
    NOW,
    new AbortController().signal,
  );
}

describe("a 404 in the middle of a clean-up", () => {
  test("lets go of an account that the console does not list either", async () => {
    expect(await cleanUpWith({ getServiceAccount: async () => undefined })).toMatchObject({
      kind: "Release",
      note: { reason: "Released" },
    });
  });

  test("is tried again where the console lists the account", async () => {
    const step = await cleanUpWith({
      getServiceAccount: async () => undefined,
      listServiceAccounts: async () => [{ saId: "sa-1" }],
    });
    expect(step).toMatchObject({ kind: "Failing", finding: { reason: "Unavailable" } });
  });

  test("does not count as the end of an account that is still there", async () => {
    const answers = [{ saId: "sa-1" }, { saId: "sa-1" }];
    const client = {
      getServiceAccount: async () => answers.pop(),
      extra: { deleteServiceAccount: () => Promise.reject(gone) },
    };
    const step = await cleanUpWith(client, { deletionPolicy: "Delete" });
    expect(step).toMatchObject({ kind: "Failing", finding: { reason: "NotFound" } });
  });

  test("counts as the end of an account that is gone by then", async () => {
    const answers = [{ saId: "sa-1" }];
    const client = {
      getServiceAccount: async () => answers.pop(),
      extra: { deleteServiceAccount: () => Promise.reject(gone) },
    };
    const step = await cleanUpWith(client, { deletionPolicy: "Delete" });
    expect(step).toMatchObject({ kind: "Release", note: { reason: "Deleted" } });
  });
});
