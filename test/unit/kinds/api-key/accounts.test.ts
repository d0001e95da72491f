/** An ApiKey whose `spec.serviceAccountRef` names another account than the key in use belongs to. */

import { describe, expect, test } from "vitest";
import { annotations } from "../../../../src/api/meta.ts";
import { accountOfPair } from "../../../../src/kinds/api-key/effects/define.ts";
import { issueKey, recordIntent } from "../../../../src/kinds/api-key/effects/issue.ts";
import { endKey } from "../../../../src/kinds/api-key/effects/retire.ts";
import { isMoving, withKnownAccounts } from "../../../../src/kinds/api-key/rules/accounts.ts";
import { issuanceAllowed } from "../../../../src/kinds/api-key/rules/forecast.ts";
import { readinessOf } from "../../../../src/kinds/api-key/rules/readiness.ts";
import type { ApiKeySnapshot, ReadyAccount } from "../../../../src/kinds/api-key/rules/snapshot.ts";
import { withDeliveredKey, withLateKeys } from "../../../../src/kinds/api-key/rules/transitions.ts";
import { pendingSecret } from "../../../../src/kinds/api-key/secret/render.ts";
import { pairIn, viewSecret } from "../../../../src/kinds/api-key/secret/view.ts";
import { defaultTiming } from "../../../../src/kinds/api-key/timing.ts";
import { reconciling } from "../../../../src/reconciler/rules/waiting.ts";
import { DAY, HOUR, MINUTE } from "../../../../src/util/time.ts";
import {
  account,
  answerOf,
  at,
  checked,
  current,
  delivered,
  firstOf,
  foreign,
  having,
  holding,
  keySpec,
  NOW,
  noKeys,
  ofBot,
  openAttempt,
  owner,
  pair,
  planOf,
  play,
  prechecked,
  same,
  type snapshot,
  staged,
  stored,
  superseded,
  timing,
  values,
} from "./builders.ts";

const ofOther = { serviceAccount: "other", saId: "sa-2" };
const other: ReadyAccount = {
  ...account,
  saId: "sa-2",
  values: { ...values, saId: "sa-2", tpn: "tpn:sa-2" },
};
const ending = { canDisableKeys: true, canDeleteKeys: true };
const waiting = reconciling("ServiceAccountNotReady", "wait");
const moved = keySpec({ serviceAccountRef: { name: "other" } });

/** Key 1 of account bot is in use, and the spec names account other. */
function moving(changes: Parameters<typeof snapshot>[0] = {}): ApiKeySnapshot {
  return delivered({
    spec: moved,
    account: other,
    otherAccounts: new Map([["sa-1", account]]),
    ...changes,
  });
}

const step = (world: ApiKeySnapshot, answers = {}, ms = 0) =>
  firstOf(having(answers, world), play(having(answers, world), at(ms)));

describe("a change of account", () => {
  test("is a need for a key of the new account", () => {
    expect(isMoving(moving())).toBe(true);
    expect(step(moving())).toEqual({ kind: "Precheck" });
    expect(step(moving(), { Precheck: prechecked })).toMatchObject({
      kind: "RecordIntent",
      because: { reason: "AccountChanged" },
    });
  });

  test("is none if both names stand for one account", () => {
    const renamed = moving({ account: { ...other, saId: "sa-1" } });
    expect(isMoving(renamed)).toBe(false);
    expect(step(renamed).kind).not.toBe("Precheck");
    const { current: known } = withKnownAccounts(renamed.status, { saId: "sa-1" }, "other");
    expect(known).toMatchObject({ serviceAccount: "other", saId: "sa-1" });
  });

  test("leaves accounts of other keys as they are", () => {
    const status = { ...noKeys, superseded: [superseded(1), superseded(2, ofOther)] };
    const known = withKnownAccounts(status, { saId: "sa-2" }, "renamed");
    expect(known.superseded.map(({ serviceAccount }) => serviceAccount)).toEqual([
      "bot",
      "renamed",
    ]);
  });

  test("gives keys without an account the one that the spec names", () => {
    const unknown = { serviceAccount: undefined, saId: undefined };
    const status = { ...noKeys, current: current(1, unknown), orphaned: [] };
    const known = withKnownAccounts(status, { saId: "sa-2" }, "renamed");
    expect(known.current).toMatchObject({ serviceAccount: "renamed", saId: "sa-2" });
  });

  test("is none for a key that names no account", () => {
    const unknown = { serviceAccount: undefined, saId: undefined };
    const world = moving({ status: { current: current(1, unknown) } });
    expect(step(world, { RenderSecret: same })).toEqual({ kind: "Settled" });
  });

  test("changes nothing while the new account is not ready", () => {
    const world = moving({ account: waiting });
    expect(isMoving(world)).toBe(true);
    expect(step(world)).toMatchObject({ kind: "Waiting", message: "wait" });
    const { state, message } = readinessOf(world, step(world) as never, at());
    expect({ state, message }).toEqual({ state: "Ready", message: expect.stringMatching("wait") });
  });

  test("waits for a window, unless it is requested", () => {
    const windows = [{ schedule: "0 3 1 7 *", duration: "1h" }];
    const spec = keySpec({ ...moved, rotation: { windows } });
    const world = moving({ spec });
    expect(step(world)).toMatchObject({
      kind: "Waiting",
      reason: "WaitingForWindow",
      message: expect.stringContaining(", before which no rotation window opens, or when "),
    });
    const tomorrow = [{ schedule: "0 3 * * *", duration: "1h" }];
    const soon = moving({ spec: keySpec({ ...moved, rotation: { windows: tomorrow } }) });
    expect(step(soon)).toMatchObject({
      afterMs: 3 * HOUR,
      message: expect.stringMatching(/when the next rotation window opens, at \S+T03:00:00Z, or /),
    });
    const rest = { kind: "Settled" } as const;
    expect(issuanceAllowed(world, rest, at(), defaultTiming)).toMatchObject({ reason: "Allowed" });
    const requested = moving({ spec, self: { ...world.self, rotateToken: "now" } });
    expect(step(requested)).toEqual({ kind: "Precheck" });
    const safety = {
      current: current(1, { issueTime: NOW - 85 * DAY, expirationTime: NOW + 5 * DAY }),
    };
    expect(step(moving({ spec, status: safety }))).toEqual({ kind: "Precheck" });
  });

  test("takes no permission from a workload whose key works", () => {
    const missingPermissions = "no policy is bound to it";
    expect(step(moving({ missingPermissions }))).toMatchObject({ reason: "PermissionsMissing" });
    const windows = [{ schedule: "0 3 1 7 *", duration: "1h" }];
    const waiting = moving({
      missingPermissions,
      spec: keySpec({ ...moved, rotation: { windows } }),
    });
    expect(step(waiting)).toMatchObject({ reason: "PermissionsMissing" });
    expect(issuanceAllowed(waiting, { kind: "Settled" }, at(), defaultTiming)).toMatchObject({
      reason: "PermissionsMissing",
    });
    const ended = { current: current(1, { expirationTime: NOW - 1 }) };
    expect(step(moving({ missingPermissions, status: ended }))).toEqual({ kind: "Precheck" });
    const pending = staged({ ...pair(2), ...ofOther });
    const accepted = { pending, verdicts: checked("sak_2") };
    expect(step(moving({ missingPermissions, ...accepted }))).toMatchObject({
      reason: "PermissionsMissing",
    });
    expect(step(moving(accepted)).kind).toBe("SwitchSecret");
  });
});

describe("a pending pair", () => {
  const verdicts = checked("sak_2");

  test("of the account in use is delivered although the spec names another account", () => {
    const world = moving({ pending: staged(pair(2)), verdicts });
    expect(step(world).kind).toBe("SwitchSecret");
    expect(step({ ...world, account: waiting }).kind).toBe("SwitchSecret");
  });

  test("of an account that the spec no longer names is left, and its key listed", () => {
    const pending = staged({ ...pair(2), ...ofOther });
    const attempt = { ...openAttempt(2), ...ofOther };
    const back = delivered({ pending, verdicts, status: { attempt } });
    expect(step(back, { NoteStaged: same })).toMatchObject({
      kind: "CloseAttempt",
      orphans: [],
      refund: false,
      unwanted: { keyId: "sak_2", saId: "sa-2" },
    });
    expect(step({ ...back, account: waiting }, { NoteStaged: same })).toEqual(waiting);
    const conflict = { ...back, target: foreign() };
    expect(step(conflict, { NoteStaged: same }).kind).toBe("CloseAttempt");
  });
});

describe("a key and its account", () => {
  test("the superseded key keeps its account", () => {
    const status = { ...noKeys, current: current(1) };
    const after = withDeliveredKey(status, { ...pair(2), ...ofOther }, true, NOW);
    expect(after.current).toMatchObject(ofOther);
    expect(after.superseded).toMatchObject([{ keyId: "sak_1", ...ofBot }]);
  });

  test("a late key keeps its account", () => {
    const late = { keyId: "sak_9", attemptId: "a9", ...ofOther };
    expect(withLateKeys(noKeys, [late], 90, NOW).orphaned).toMatchObject([ofOther]);
  });

  test("a superseded key is ended on its own account", () => {
    const old = superseded(2, { supersededTime: NOW - 2 * DAY });
    const world = delivered({
      spec: moved,
      verdicts: checked("sak_1"),
      account: other,
      otherAccounts: new Map([["sa-1", { ...account, ...ending }]]),
      target: holding({ ...pair(1), ...ofOther }, moved),
      status: { current: current(1, ofOther), superseded: [old] },
    });
    expect(step(world)).toEqual({ kind: "DisableKey", keyId: "sak_2" });
    // Without calls of that account, those of the other one are not used.
    const without = { ...world, account: { ...other, ...ending }, otherAccounts: new Map() };
    expect(step(without).kind).not.toBe("DisableKey");
  });

  test("the call that revokes a key names its own account", async () => {
    const asked: string[] = [];
    const getServiceAccount = (saId: string) => {
      asked.push(saId);
      return { saId, keyIds: ["sak_2"] };
    };
    const run = { console: () => ({ getServiceAccount }), clock: { now: () => NOW } } as never;
    const world = moving({ status: { superseded: [superseded(2)] } });
    const plan = await planOf(endKey("disableKey")(world, { keyId: "sak_2" }), run);
    expect(plan.line?.message).toBe("Disables key sak_2 of service account sa-1.");
    expect(asked).toEqual(["sa-1"]);
  });

  test("a list without a superseded key shows that it is deleted if its account lists keys", async () => {
    const run = {
      console: () => ({ getServiceAccount: (saId: string) => ({ saId, keyIds: ["sak_8"] }) }),
      clock: { now: () => NOW },
    } as never;
    const endOf = async (listsKeys: boolean) => {
      const otherAccounts = new Map([["sa-1", { ...account, listsKeys }]]);
      const status = { current: current(1, ofOther), superseded: [superseded(2)] };
      const world = moving({ otherAccounts, status });
      const { answer, line } = await planOf(endKey("deleteKey")(world, { keyId: "sak_2" }), run);
      expect(answer.status.superseded).toMatchObject([{ state: "Deleted" }]);
      return line?.call;
    };
    expect(await endOf(true)).toBeUndefined();
    expect(await endOf(false)).toBe("deleteKey");
  });

  test.each([
    ["Disabled", "Deleted"],
    ["Unknown", "Unknown"],
  ] as const)(
    "a key in state %s that the first list of its account lacks is %s after deleteKey",
    async (state, expected) => {
      const run = {
        console: () => ({
          getServiceAccount: (saId: string) => ({ saId, keyIds: [] }),
          deleteKey: async () => undefined,
        }),
        clock: { now: () => NOW, monotonic: () => 0, sleep: async () => undefined },
        signal: new AbortController().signal,
      } as never;
      const status = {
        current: current(1, ofOther),
        superseded: [superseded(2, { state, answeredCall: "disableKey" })],
      };
      const part = endKey("deleteKey")(moving({ status }), { keyId: "sak_2" });
      const { answer } = await answerOf(part, run);
      const ended = { state: expected, answeredCall: "deleteKey" };
      expect(answer.status.superseded).toMatchObject([ended]);
    },
  );

  test("an intent names the account, and so does the pair", async () => {
    const because = { reason: "AccountChanged", message: "" };
    const intent = { because, knownKeyIds: [], revision: 2 };
    const run = { clock: { now: () => NOW, evidence: () => undefined } };
    const { answer } = await planOf(recordIntent({} as never)(moving(), intent), run);
    const { attempt = openAttempt(2) } = answer.status;
    expect(attempt).toMatchObject(ofOther);
    const plan = await planOf(issueKey({} as never)(answer, { attempt }), run);
    expect(plan.line?.object).toBe("sa-2");
    expect(plan.answer.held?.pair).toMatchObject(ofOther);
  });

  test("a pair belongs to the account that its Secret names", () => {
    const world = moving();
    expect(accountOfPair(world, pair(1)).saId).toBe("sa-1");
    expect(accountOfPair(world, { ...pair(2), ...ofOther }).saId).toBe("sa-2");
    const { saId: _, serviceAccount: __, ...bare } = pair(1);
    expect(accountOfPair(world, bare).saId).toBe("sa-1");
  });

  test("the account in a Secret cannot be changed without the secret", () => {
    const secret = stored(pendingSecret(owner, moved, { ...pair(2), ...ofOther }, "a1"));
    const holder = (account?: string) => {
      const { [annotations.account]: own, ...others } = secret.metadata.annotations ?? {};
      const noted = {
        ...others,
        ...(account === undefined ? {} : { [annotations.account]: account }),
      };
      const metadata = { ...secret.metadata, annotations: noted };
      return { own, pair: pairIn(viewSecret({ ...secret, metadata }, owner, moved, "pending")) };
    };
    const { own } = holder();
    expect(own).toBe("other/sa-2");
    expect(holder(own).pair).toMatchObject(ofOther);
    for (const edited of [undefined, "other/sa-3", "mine/sa-2", "sa-2", ""])
      expect(holder(edited).pair).toBeUndefined();
  });

  test("the list of the new account does not show that the key in use has ended", () => {
    const lastKeyListTime = NOW + HOUR;
    const listed = { liveKeyIds: ["sak_8"], lastKeyListTime };
    const world = moving({ account: { ...other, ...listed }, missingPermissions: "none" });
    expect(step(world, {}, 2 * HOUR)).toMatchObject({ reason: "PermissionsMissing" });
    const ended = moving({
      otherAccounts: new Map([["sa-1", { ...account, ...listed }]]),
      missingPermissions: "none",
    });
    expect(step(ended, {}, 2 * HOUR)).toMatchObject({ kind: "VerifyPair" });
  });
});

describe("an open attempt of an account that the spec no longer names", () => {
  const attempt = { ...openAttempt(2), ...ofOther };
  const open = (changes: Parameters<typeof snapshot>[0] = {}) =>
    delivered({
      status: { current: current(1), attempt },
      recovery: { attemptId: "a1", since: at().monotonic },
      ...changes,
    });

  test("is explained on its own account", () => {
    const otherAccounts = new Map([["sa-2", other]]);
    expect(step(open({ otherAccounts }), {}, timing.recoverySettleMs)).toMatchObject({
      kind: "SettleAttempt",
    });
    const status = { current: current(1), attempt: { ...attempt, settled: true as const } };
    expect(step(open({ otherAccounts, status }), {}, 10 * MINUTE)).toMatchObject({
      kind: "Waiting",
      reason: "Recovering",
    });
  });

  test("waits for it for ten minutes, then assumes that a key is lost", () => {
    expect(step(open(), {}, MINUTE)).toMatchObject({ kind: "Waiting", afterMs: 9 * MINUTE });
    expect(step(open(), {}, 10 * MINUTE)).toMatchObject({
      kind: "CloseAttempt",
      orphans: [{ keyId: undefined, ...ofOther }],
    });
  });

  test("is closed by the record of an account that is not ready", () => {
    const explanation = { id: "a1", keyIds: ["sak_2"] };
    expect(step(open({ explanation }))).toMatchObject({
      kind: "CloseAttempt",
      orphans: [{ keyId: "sak_2", ...ofOther }],
    });
  });

  test("waits without end for an account that the spec names", () => {
    const own = open({
      account: waiting,
      status: { current: current(1), attempt: openAttempt(2) },
    });
    expect(step(own, {}, DAY)).toEqual(waiting);
  });
});
