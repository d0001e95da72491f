import { describe, expect, test } from "vitest";
import type { ListedKeyState } from "../../../../src/console/model.ts";
import {
  accountReadiness,
  accountSummary,
  fromConsole,
  fromStatus,
} from "../../../../src/kinds/service-account/rules/account.ts";
import type {
  KnownAccount,
  WithAccount,
} from "../../../../src/kinds/service-account/rules/snapshot.ts";
import { account, serviceAccount, snapshotOf } from "./objects.ts";

test.each<[string, Partial<KnownAccount>, string]>([
  ["an active account is ready", {}, "Ready Created"],
  ["an imported one too", { origin: "Imported" }, "Ready Imported"],
  ["a state that the console does not show is accepted", { state: undefined }, "Ready Created"],
  ["any other state is", { state: "locked" }, "Stalled ServiceAccountNotActive"],
  ["without its tpn nothing can be bound", { tpn: undefined }, "Reconciling TpnUnknown"],
])("%s", (_, changes, found) => {
  const { state, reason } = accountReadiness({ ...account, ...changes });
  expect(`${state} ${reason}`).toBe(found);
});

test("an import whose status names another account is taken in again", () => {
  const status = { saId: "sa-2", orgId: "org-1" };
  expect(fromStatus(status, "sa-1")).toBeUndefined();
  expect(fromStatus(status, "sa-2")).toMatchObject(status);
  expect(fromStatus(status, undefined)).toMatchObject(status);
  expect(fromStatus({ orgId: "org-1" }, undefined)).toBeUndefined();
});

test("a tpn that names another account is not believed", () => {
  const status = { saId: "sa-1", tpn: "tpn:r1:org-1:prj-1:sa/sa-2" };
  expect(fromStatus(status, undefined)?.tpn).toBeUndefined();
  const seen = { saId: "sa-1", tpn: "tpn:r1:org-1:prj-1:sa/sa-2", keyIds: undefined };
  expect(fromConsole(seen, { ...account, tpn: undefined }).tpn).toBeUndefined();
});

describe("the list of keys", () => {
  const listed = (states: readonly (ListedKeyState | undefined)[]) => {
    const keyIds = states.map((_, index) => `sak_${index}`);
    const records = states.map((state, index) => [`sak_${index}`, { state }] as const);
    const seen = { saId: "sa-1", keyIds, keyRecords: new Map(records) };
    const { liveKeyIds, inactiveKeyIds, listsKeyStates } = fromConsole(seen, account);
    return { live: liveKeyIds, inactive: inactiveKeyIds, listsKeyStates };
  };

  test.each<[readonly (ListedKeyState | undefined)[], ReturnType<typeof listed>]>([
    [[], { live: [], inactive: undefined, listsKeyStates: undefined }],
    [["Active"], { live: ["sak_0"], inactive: undefined, listsKeyStates: true }],
    [["Active", "Inactive"], { live: ["sak_0"], inactive: ["sak_1"], listsKeyStates: true }],
    [["Inactive"], { live: [], inactive: ["sak_0"], listsKeyStates: undefined }],
    [
      [undefined, "Active"],
      { live: ["sak_0", "sak_1"], inactive: undefined, listsKeyStates: undefined },
    ],
    [[undefined], { live: ["sak_0"], inactive: undefined, listsKeyStates: undefined }],
  ])("of keys that are %j", (states, expected) => {
    expect(listed(states)).toEqual(expected);
  });

  test("is as before in an answer that does not list keys", () => {
    expect(fromConsole({ saId: "sa-1" }, account).liveKeyIds).toEqual(["sak_1"]);
  });

  test("is absent if the console lists no keys", () => {
    const seen = fromConsole({ saId: "sa-1", keyIds: undefined }, account);
    expect([seen.liveKeyIds, seen.listsKeyStates]).toEqual([undefined, undefined]);
  });
});

test.each([
  { keys: ["sak_1", "sak_2"], keyCount: undefined, text: "keys when last listed: sak_1, sak_2" },
  { keys: [], keyCount: 1, text: "no keys when last listed" },
  { keys: [], keyCount: undefined, text: "it is not known whether it has keys" },
  { keys: [], ended: ["sak_1"], text: "only inactive or expired keys when last listed" },
  { keys: undefined, keyCount: undefined, text: "its keys could not be listed" },
])("the last words about an account say: $text", ({ keys, keyCount, ended, text }) => {
  const world = snapshotOf({
    object: serviceAccount({ status: { saId: "sa-1", keyCount } }),
    account: { ...account, liveKeyIds: keys, inactiveKeyIds: ended },
  });
  expect(accountSummary(world as WithAccount)).toBe(`sa-1 (tpn:r1:org-1:prj-1:sa/sa-1; ${text})`);
});
