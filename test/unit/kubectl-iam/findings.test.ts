/** What is found out, as pure functions of what was read. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { ApiKey } from "../../../src/api/api-key.ts";
import { FINALIZER } from "../../../src/api/meta.ts";
import type { ServiceAccount } from "../../../src/api/service-account.ts";
import type { Secret } from "../../../src/kube/resource-types.ts";
import { scrubObject, scrubSecret, scrubText } from "../../../src/kubectl-iam/bundle/scrub.ts";
import type { World } from "../../../src/kubectl-iam/cluster/read.ts";
import { expiringKeys } from "../../../src/kubectl-iam/commands/expiring.ts";
import {
  adviceFor,
  ageOfLists,
  findOrphans,
  openAttempts,
  unauditedAccounts,
} from "../../../src/kubectl-iam/commands/orphans.ts";
import { readPair } from "../../../src/kubectl-iam/console/from-cluster.ts";
import { readPolicyRecords } from "../../../src/kubectl-iam/console/policy-records.ts";
import { hideSecrets } from "../../../src/kubectl-iam/console/print.ts";
import { checkAdmission } from "../../../src/kubectl-iam/doctor/admission.ts";
import { checkAlerts, operatorAbsent } from "../../../src/kubectl-iam/doctor/alerts.ts";
import { renderFindings } from "../../../src/kubectl-iam/doctor/finding.ts";
import {
  leaseRules,
  operatorRules,
  type Rule,
} from "../../../src/kubectl-iam/doctor/permissions.ts";
import { judgePartition, judgePolicies } from "../../../src/kubectl-iam/doctor/policies.ts";
import { remnantsOf } from "../../../src/kubectl-iam/view/remnants.ts";
import { screenOf } from "../../../src/kubectl-iam/view/screen.ts";
import { DAY, toIso8601 } from "../../../src/util/time.ts";

const root = join(import.meta.dirname, "../../..");
const now = Date.UTC(2026, 0, 1);
const inDays = (days: number) => toIso8601(now + days * DAY);

function key(name: string, status: object, spec: object = {}): ApiKey {
  return {
    kind: "ApiKey",
    metadata: { name, namespace: "n", generation: 1 },
    spec: { serviceAccountRef: { name: "sa" }, suspend: false, ...spec },
    status: {
      conditions: [{ type: "Ready", status: "True", reason: "KeyDelivered", message: "" }],
      ...status,
    },
  } as unknown as ApiKey;
}
const current = (keyId: string, days: number) => ({ keyId, expirationTime: inDays(days) });

test("keys that expire are renewed by themselves if the operator says so, unless overdue", () => {
  const saying = (status: string, observedGeneration = 1) => ({
    conditions: [
      { type: "Ready", status: "True", reason: "KeyDelivered", message: "" },
      { type: "IssuanceAllowed", status, reason: "R", message: "M.", observedGeneration },
    ],
  });
  const yes = saying("True");
  const keys = [
    key("later", { current: current("a", 30), renewalTime: inDays(20), ...yes }),
    key("fine", { current: current("b", 10), renewalTime: inDays(1), ...yes }),
    key("overdue", { current: current("c", 5), renewalTime: inDays(-1), ...yes }),
    key("stopped", { current: current("d", 6), renewalTime: inDays(1), ...saying("False") }),
    key("changed", { current: current("e", 7), renewalTime: inDays(1), ...saying("True", 0) }),
    key("new", { current: current("f", 8), renewalTime: inDays(1) }),
    key("young", {}),
  ];
  const found = expiringKeys(keys, 14 * DAY, now, true);
  expect(found.map(({ apiKey, renewsByItself }) => [apiKey, renewsByItself])).toEqual([
    ["overdue", false],
    ["stopped", false],
    ["changed", false],
    ["new", false],
    ["fine", true],
  ]);
  expect(expiringKeys(keys.slice(1, 2), 14 * DAY, now, false)).toMatchObject([
    {
      renewsByItself: false,
      detail: "No replica of the operator leads, so nothing is renewed.",
    },
  ]);
  const deleted = key("deleted", { current: current("a", 1), ...yes });
  const metadata = { ...deleted.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
  expect(expiringKeys([{ ...deleted, metadata }], DAY, now, true)).toMatchObject([
    { renewsByItself: false, detail: "The ApiKey is being deleted: no other key is issued." },
  ]);
});

test.each([
  ["before the renewal", "NamespaceBudgetExceeded", 2, true, true],
  ["after the renewal", "NamespaceBudgetExceeded", 0.5, true, false],
  ["of no rotation that is requested", "NamespaceBudgetExceeded", 2, false, false],
  ["that does not end by itself", "LifetimeNotGranted", 2, true, false],
])("a key is renewed by itself after a limit %s: %s", (_, reason, days, rotationPending, yes) => {
  const stop = { type: "IssuanceAllowed", status: "False", reason, observedGeneration: 1 };
  const status = { current: current("a", 10), rotationPending, conditions: [stop] };
  const [row] = expiringKeys(
    [key("k", { ...status, renewalTime: inDays(days) })],
    14 * DAY,
    now,
    true,
  );
  expect(row?.renewsByItself).toBe(yes);
});

describe("a key that expires, and whose next key is allowed", () => {
  const condition = (type: string, status: string, reason: string) => ({
    type,
    status,
    reason,
    message: "M.",
    observedGeneration: 1,
  });
  const shown = (ready: object, days: number, more: object = {}) => {
    const conditions = [ready, condition("IssuanceAllowed", "True", "Allowed")];
    const status = { current: current("a", 10), renewalTime: inDays(days), conditions, ...more };
    const [row] = expiringKeys([key("k", status)], 14 * DAY, now, true);
    return [row?.renewsByItself, row?.detail];
  };
  const refused = condition("Ready", "True", "PermissionDenied");

  test("is renewed, and the row says what else the ApiKey reports", () => {
    expect(shown(condition("Ready", "True", "KeyDelivered"), 1)).toEqual([true, ""]);
    expect(shown(refused, 1)).toEqual([true, "PermissionDenied: M."]);
  });

  test("is not renewed if the console refuses to issue it when it is due or requested", () => {
    expect(shown(refused, -0.01)).toEqual([false, "PermissionDenied: M."]);
    expect(shown(refused, 1, { rotationPending: true })).toEqual([false, "PermissionDenied: M."]);
  });

  test("is replaced if the console no longer accepts it, or while the next key is being issued", () => {
    for (const reason of ["KeyRefused", "Recovering", "Verifying"])
      expect(shown(condition("Ready", "False", reason), 1)).toEqual([true, `${reason}: M.`]);
    const ready = condition("Ready", "False", "Recovering");
    expect(shown(ready, -1)).toEqual([false, "Recovering: M."]);
  });

  test("says if the next key is of another account", () => {
    const delivered = condition("Ready", "True", "KeyDelivered");
    const moving = { current: { ...current("a", 10), serviceAccount: "old" } };
    const detail = "The next key is of iamsa/sa, and is issued without waiting for the renewal.";
    expect(shown(delivered, 1, moving)).toEqual([true, detail]);
  });

  test("is not renewed while the console does not accept a new pair", () => {
    const delivered = condition("Ready", "True", "KeyDelivered");
    const unverified = condition("Verified", "False", "VerificationFailed");
    const conditions = [delivered, unverified, condition("IssuanceAllowed", "True", "Allowed")];
    expect(shown(delivered, 1, { conditions })).toEqual([false, "VerificationFailed: M."]);
  });
});

describe("orphans", () => {
  const account = (keyIds: readonly string[]) =>
    ({
      metadata: { name: "sa", namespace: "n" },
      status: { unmanagedKeys: keyIds.map((keyId) => ({ keyId })) },
    }) as unknown as ServiceAccount;

  test("are lost keys and keys that no ApiKey of the account knows", () => {
    const keys = [
      key("k", {
        current: current("a", 1),
        superseded: [{ keyId: "b" }],
        orphaned: [{ keyId: "c", attemptId: "t" }, { attemptId: "u" }],
      }),
    ];
    const found = findOrphans(keys, [account(["c", "d"])]);
    expect(found.map(({ keyId, kind }) => [keyId, kind])).toEqual([
      ["c", "Orphaned"],
      ["u", "Orphaned"],
      ["d", "Unmanaged"],
    ]);
  });

  test("are also accounts that were created for the same ServiceAccount, or have its name", () => {
    const orphanedAccounts = [
      { saId: "sa-2", evidence: "Description" },
      { saId: "sa-3", evidence: "Name" },
    ];
    const object = { ...account([]), kind: "ServiceAccount", status: { orphanedAccounts } };
    const found = findOrphans([], [object as unknown as ServiceAccount]);
    expect(found).toMatchObject([
      { object: "iamsa/sa", saId: "sa-2", kind: "Account" },
      { object: "iamsa/sa", saId: "sa-3", kind: "Namesake" },
    ]);
    expect(adviceFor(found)).toEqual([
      expect.stringMatching(/^Account: .* Delete the account in the console\.$/),
      expect.stringMatching(/^Namesake: .* Find out who created the account; /),
    ]);
  });

  test("come with advice that works for the keys that are listed", () => {
    const lost = { keyId: "c", attemptId: "t" };
    const pending = { keyId: "p", expirationTime: "2026-04-01T00:00:00Z" };
    const conditions = [{ type: "Stalled", status: "True", reason: "SecretConflict" }];
    const adviceOn = (status: object, unmanaged: readonly string[] = []) =>
      adviceFor(findOrphans([key("k", status)], [account(unmanaged)])).join("\n");
    expect(adviceOn({ orphaned: [lost] })).toMatch(/^Orphaned: .*forget-orphan iamkey\/k c -n n$/);
    expect(adviceOn({ orphaned: [{ attemptId: "t" }] })).toMatch(/forget-orphan iamkey\/k t -n n$/);
    expect(adviceOn({ orphaned: [lost, { ...lost, keyId: "d" }] })).toMatch(
      /forget-orphan APIKEY KEY-ID$/,
    );
    expect(adviceOn({ pending, conditions })).toMatch(
      /^Pending: do not delete the key.* iam status iamkey\/k -n n$/,
    );
    expect(adviceOn({}, ["d"])).toMatch(/^Unmanaged: (?!.*forget-orphan)/);
    expect(adviceOn({ orphaned: [lost] }, ["d"]).split("\n")).toHaveLength(2);
  });

  test.each<[string, object, boolean]>([
    ["an attempt is open", { attempt: {} }, true],
    ["its key is known", { attempt: {}, pending: {} }, false],
    ["none is open", {}, false],
  ])("if %s, its key is unknown: %3$s", (_, status, isUnknown) => {
    const object = { kind: "ApiKey", metadata: { name: "k" }, status } as unknown as ApiKey;
    expect(openAttempts([object])).toEqual(isUnknown ? ["iamkey/k"] : []);
  });

  test.each<[string, object | undefined, boolean]>([
    ["nothing is reported", undefined, true],
    ["there is no account", { conditions: [{ type: "Ready", status: "False" }] }, false],
    ["no list was read", { saId: "sa-1", conditions: [{ type: "Ready", status: "True" }] }, true],
    ["keys are managed", { conditions: [{ type: "KeysManaged", status: "True" }] }, false],
    ["it is Unknown", { conditions: [{ type: "KeysManaged", status: "Unknown" }] }, true],
  ])("if %s, unmanaged keys are unknown: %3$s", (_, status, isUnknown) => {
    const object = { metadata: { name: "sa" }, status } as unknown as ServiceAccount;
    expect(unauditedAccounts([object])).toHaveLength(isUnknown ? 1 : 0);
  });

  test("are keys of the last list that no ApiKey names, before the operator reports them", () => {
    const listed = (more: object = {}) =>
      ({
        kind: "ServiceAccount",
        metadata: { name: "sa", namespace: "n" },
        status: {
          liveKeyIds: ["a", "b", "c", "d", "e"],
          lastKeyListTime: inDays(0),
          unmanagedKeys: [{ keyId: "d" }],
          unmanagedKeyCount: 1,
          expiredKeyIds: ["e"],
          ...more,
        },
      }) as unknown as ServiceAccount;
    const keys = [key("k", { current: current("a", 1), superseded: [{ keyId: "b" }] })];
    const kindsOf = (...given: Parameters<typeof findOrphans>) =>
      findOrphans(...given).map(({ keyId, kind }) => [keyId, kind]);
    expect(kindsOf(keys, [listed()])).toEqual([
      ["d", "Unmanaged"],
      ["c", "Unconfirmed"],
    ]);
    expect(kindsOf(undefined, [listed()])).toEqual([["d", "Unmanaged"]]);
    expect(kindsOf(keys, [listed({ unmanagedKeyCount: 2 })])).toEqual([["d", "Unmanaged"]]);
    expect(adviceFor(findOrphans(keys, [listed()]))[1]).toMatch(
      /^Unconfirmed: .* kubectl iam reconcile iamsa\/sa -n n$/,
    );
  });

  test("are not those of an account that the console no longer has", () => {
    const status = {
      liveKeyIds: ["c", "d"],
      unmanagedKeys: [{ keyId: "d" }],
      unmanagedKeyCount: 1,
    };
    const account = (more: object) =>
      ({
        kind: "ServiceAccount",
        metadata: { name: "sa", namespace: "n" },
        status: { ...status, ...more },
      }) as unknown as ServiceAccount;
    expect(findOrphans([], [account({ ownership: "Owned" })])).toHaveLength(2);
    expect(findOrphans([], [account({ ownership: "Gone" })])).toEqual([]);
  });

  test("come with the age of the oldest list", () => {
    const listed = (name: string, days?: number) =>
      ({
        kind: "ServiceAccount",
        metadata: { name, namespace: "n" },
        status: days === undefined ? {} : { lastKeyListTime: inDays(days) },
      }) as unknown as ServiceAccount;
    const text = (command: string) =>
      `Lists of keys: as the console showed them 3d ago or later; kubectl iam reconcile ${command} reads one now.`;
    expect(ageOfLists([listed("a", -3), listed("b")], now)).toBe(text("iamsa/a -n n"));
    expect(ageOfLists([listed("a", -2), listed("b", -3)], now)).toBe(text("iamsa/NAME"));
    expect(ageOfLists([listed("a")], now)).toBeUndefined();
  });

  test("unmanaged keys that the ServiceAccount expects are no finding", () => {
    const expecting = { ...account(["d"]), spec: { unmanagedKeys: "Expect" } } as ServiceAccount;
    const found = findOrphans([], [expecting]);
    expect(found.map(({ kind }) => kind)).toEqual(["Expected"]);
    expect(adviceFor(found)).toEqual([expect.stringMatching(/^Expected: /)]);
  });

  test("an unmanaged key has the cluster that its description names", () => {
    const status = { unmanagedKeys: [{ keyId: "a", cluster: "blue" }, { keyId: "b" }] };
    const object = { metadata: { name: "sa" }, status } as unknown as ServiceAccount;
    expect(findOrphans([], [object]).map(({ cluster }) => cluster)).toEqual(["blue", undefined]);
  });

  test("a new key that cannot be delivered is listed; a key that is being verified is not listed", () => {
    const pending = { keyId: "p", expirationTime: "2026-04-01T00:00:00Z" };
    const stalled = [{ type: "Stalled", status: "True", reason: "SecretConflict" }];
    const rejected = [{ type: "IssuanceAllowed", status: "False", reason: "SecretRejected" }];
    const found = findOrphans(
      [
        key("k", { pending, conditions: stalled }),
        key("l", { pending, conditions: rejected }),
        key("m", { pending }),
      ],
      [],
    );
    expect(found).toMatchObject([
      { object: "iamkey/k", keyId: "p", kind: "Pending" },
      { object: "iamkey/l", keyId: "p", kind: "Pending" },
    ]);
  });
});

const remnants = (world: object, known: Partial<Parameters<typeof remnantsOf>[2]> = {}) =>
  remnantsOf(world as World, "home", { unreadable: [], missing: new Set(), now, ...known });

test.each([
  ["Revoke", {}, []],
  ["Revoke", { suspend: true }, []],
  ["Retain", {}, []],
  ["Retain", { suspend: true }, ["policies of iampb/b"]],
  ["Retain", { deletionPolicy: "Retain" }, ["policies of iampb/b"]],
])(
  "of an account with %s, a deleted PolicyBinding with %j can leave %j",
  (deletionPolicy, spec, left) => {
    const metadata = { name: "sa", namespace: "n" };
    const account = {
      kind: "ServiceAccount",
      metadata,
      spec: { deletionPolicy, connectionRef: {} },
    };
    const binding = {
      kind: "PolicyBinding",
      metadata: { name: "b", namespace: "n" },
      spec: { serviceAccountRef: { name: "sa" }, policyIds: ["p"], ...spec },
    };
    const empty = { clusterConnections: [], connections: [], apiKeys: [], quotaExports: [] };
    const world = { ...empty, serviceAccounts: [account], policyBindings: [binding] };
    const found = remnants(world);
    expect(found.filter(({ kind }) => kind === "Policies").map(({ what }) => what)).toEqual(left);
  },
);

test.each([
  [[], []],
  [[{ retainPolicies: false }], []],
  [[{ retainPolicies: false }, { retainPolicies: true }], [undefined]],
])("with the grants %j, the policies of a suspended PolicyBinding stay: %j", (grants, stays) => {
  const connectionRef = { kind: "ClusterConnection", name: "c" };
  const world = {
    ...{ connections: [], apiKeys: [], quotaExports: [] },
    clusterConnections: [{ kind: "ClusterConnection", metadata: { name: "c" }, spec: { grants } }],
    serviceAccounts: [
      {
        kind: "ServiceAccount",
        metadata: { name: "sa", namespace: "n" },
        spec: { deletionPolicy: "Retain", connectionRef },
      },
    ],
    policyBindings: [
      {
        kind: "PolicyBinding",
        metadata: { name: "b", namespace: "n" },
        spec: { serviceAccountRef: { name: "sa" }, policyIds: ["p"], suspend: true },
      },
    ],
  };
  const policies = (of: object, known = {}) =>
    remnants(of, known).filter(({ kind }) => kind === "Policies");
  expect(policies(world).map((row) => row.stays)).toEqual(stays);
  const unread = { ...world, clusterConnections: [] };
  const [row] = policies(unread, { unreadable: ["ClusterConnection"] });
  expect(row).toMatchObject({ stays: undefined, detail: expect.stringContaining("if a grant") });
});

test.each([
  [{}, "the deletion of iamsa/sa waits: the connection names no deleteServiceAccount call"],
  [{ deleteServiceAccount: {} }, "the connection's deleteServiceAccount call deletes it"],
])("an account is deleted if the connection has a call for it: %j", (extraCalls, words) => {
  const connectionRef = { kind: "ClusterConnection", name: "c" };
  const world = {
    ...{ connections: [], apiKeys: [], quotaExports: [], policyBindings: [] },
    clusterConnections: [
      { kind: "ClusterConnection", metadata: { name: "c" }, spec: { extraCalls } },
    ],
    serviceAccounts: [
      {
        kind: "ServiceAccount",
        metadata: { name: "sa", namespace: "n" },
        spec: { deletionPolicy: "Delete", connectionRef },
        status: { saId: "sa-1", orphanedAccounts: [{ saId: "sa-2" }] },
      },
    ],
  };
  const found = remnants(world);
  expect(found.map(({ what }) => what)).toContain("account sa-2, orphaned");
  expect(found.find(({ kind }) => kind === "Account")?.detail).toContain(words);
});

test("an account and its connection wait for a suspended key", () => {
  const finalizers = [FINALIZER];
  const connectionRef = { kind: "ClusterConnection", name: "c" };
  const waiting = (suspend: boolean) => {
    const world = {
      ...{ connections: [], quotaExports: [], policyBindings: [] },
      clusterConnections: [
        { kind: "ClusterConnection", metadata: { name: "c", finalizers }, spec: {} },
      ],
      serviceAccounts: [
        {
          kind: "ServiceAccount",
          metadata: { name: "sa", namespace: "n", finalizers },
          spec: { connectionRef },
        },
      ],
      apiKeys: [
        {
          kind: "ApiKey",
          metadata: { name: "k", namespace: "n", finalizers },
          spec: { serviceAccountRef: { name: "sa" }, suspend },
        },
      ],
    };
    const found = remnants(world).filter(({ kind }) => kind === "Object");
    return found.map(({ what, detail }) => `${what}: ${detail}`);
  };
  expect(waiting(false)).toEqual([]);
  expect(waiting(true).join()).toMatch(
    /iamcconn\/c: its deletion waits for iamsa\/sa.*iamsa\/sa: its deletion waits for iamkey\/k.*iamkey\/k: /,
  );
});

describe("of an account with a key, an uninstallation", () => {
  const extraCalls = { disableKey: {}, deleteServiceAccount: {} };
  const remnantsWait = (connections: readonly object[], spec = {}) =>
    all(connections, {}, spec).some(({ waits }) => waits);
  const rows = (...given: Parameters<typeof all>) =>
    all(...given)
      .filter(({ kind }) => kind !== "Installation")
      .map(({ what, stays, detail }) => [what, stays, detail]);
  const all = (connections: readonly object[], known = {}, spec = {}) => {
    const connectionRef = { kind: "Connection", name: "c" };
    const account = {
      kind: "ServiceAccount",
      metadata: { name: "sa", namespace: "n" },
      spec: { connectionRef, ...spec },
      status: { saId: "sa-1", origin: "Created" },
    };
    const world = {
      ...{ clusterConnections: [], quotaExports: [], policyBindings: [] },
      connections: connections.map((each) => ({
        kind: "Connection",
        metadata: { name: "c", namespace: "n" },
        spec: { extraCalls, ...each },
      })),
      serviceAccounts: [account],
      apiKeys: [key("k", { secretName: "s", current: current("a", 1) })],
    };
    return remnants(world, known);
  };

  test("waits for a call that the connection does not name", () => {
    expect(remnantsWait([{}], { deletionPolicy: "Delete" })).toBe(false);
    const without = { extraCalls: {} };
    expect(remnantsWait([without])).toBe(false);
    expect(remnantsWait([without], { deletionPolicy: "Delete" })).toBe(true);
  });

  test("names its Secret only if it exists", () => {
    expect(rows([{}])[2]).toEqual(["secret/s", false, "is deleted with its ApiKey"]);
    const missing = new Set(["n/s"]);
    expect(rows([{}], { missing }).map(([what]) => what)).toEqual([
      "account sa-1 of iamsa/sa",
      "key a (iamkey/k, whose secret/s does not exist)",
    ]);
  });

  test("leaves what an unreadable connection decides unknown", () => {
    const unread = { unreadable: ["Connection"] } as const;
    const why = "; you do not have permission to read iamconn/c";
    expect(rows([], unread).slice(0, 2)).toEqual([
      ["account sa-1 of iamsa/sa", true, `its policies are unbound${why}`],
      [expect.any(String), undefined, expect.stringContaining(why)],
    ]);
    expect(rows([], unread, { deletionPolicy: "Delete" })[0]?.slice(1)).toEqual([
      undefined,
      `only a deleteServiceAccount call of the connection deletes it${why}`,
    ]);
  });

  test.each([
    [[{ suspend: true }], "iamconn/c is suspended: kubectl iam resume iamconn/c -n n"],
    [[], "iamconn/c does not exist"],
  ])("says that it waits for a connection %j", (connections, why) => {
    const [account, ended] = rows(connections);
    expect(remnantsWait(connections)).toBe(true);
    const wait = `; it waits, and is given up in the end, while ${why}`;
    expect(account?.[2]).toBe(`its policies are unbound${wait}`);
    if (connections.length > 0)
      expect(ended?.[2]).toBe(`is deleted or disabled by the connection's extraCalls${wait}`);
    else expect(ended?.slice(1)).toEqual([true, expect.stringMatching(/^stays valid until/)]);
  });
});

test("a key whose Secret is retained stays valid, although the connection can revoke keys", () => {
  const stays = (deletionPolicy: string) => {
    const connection = { kind: "Connection", metadata: { name: "c", namespace: "n" } };
    const account = { kind: "ServiceAccount", metadata: { name: "sa", namespace: "n" } };
    const status = { secretName: "s", current: current("a", 1) };
    const rows = remnants({
      ...{ clusterConnections: [], quotaExports: [], policyBindings: [] },
      connections: [{ ...connection, spec: { extraCalls: { deleteKey: {} } } }],
      serviceAccounts: [
        { ...account, spec: { connectionRef: { kind: "Connection", name: "c" } }, status: {} },
      ],
      apiKeys: [key("k", status, { secret: { deletionPolicy } })],
    });
    return rows.filter(({ kind }) => kind === "Key").map((row) => row.stays);
  };
  expect([stays("Retain"), stays("Delete")]).toEqual([[true], [false]]);
});

test("an account that is not imported stays, and another object's account has one row", () => {
  const account = (name: string, saId: string | undefined, status = {}) => ({
    kind: "ServiceAccount",
    metadata: { name, namespace: "n" },
    spec: { saId, connectionRef: { kind: "Connection", name: "c" } },
    status,
  });
  const serviceAccounts = [
    account("refused", "sa-1"),
    account("mistyped", "sa-3", { ownership: "NotFound" }),
    account("second", "sa-2"),
    account("refused-name", undefined),
    account("owner", "sa-2", { saId: "sa-2", origin: "Imported" }),
  ];
  const others = { clusterConnections: [], connections: [], apiKeys: [], quotaExports: [] };
  const world = { ...others, policyBindings: [], serviceAccounts };
  const found = remnants(world);
  const rows = found.filter(({ kind }) => kind === "Account");
  expect(rows).toMatchObject([
    {
      what: "account sa-1 of iamsa/refused",
      stays: true,
      detail: expect.stringContaining("not imported"),
    },
    {
      what: "account sa-3 of iamsa/mistyped",
      stays: false,
      detail: "the account does not exist in the console",
    },
    {
      what: "account (not created) of iamsa/refused-name",
      detail: "the operator knows of no account that was created for it",
    },
    { what: "account sa-2 of iamsa/owner", stays: true },
  ]);
});

test("of an account that the console no longer has, neither account, keys nor policies stay", () => {
  const account = {
    kind: "ServiceAccount",
    metadata: { name: "sa", namespace: "n" },
    spec: { deletionPolicy: "Retain", connectionRef: {} },
    status: { saId: "sa-1", liveKeyIds: ["k"], ownership: "Gone" },
  };
  const binding = {
    kind: "PolicyBinding",
    metadata: { name: "b", namespace: "n" },
    spec: { serviceAccountRef: { name: "sa" }, policyIds: ["p"], suspend: true },
  };
  const empty = { clusterConnections: [], connections: [], apiKeys: [], quotaExports: [] };
  const world = { ...empty, serviceAccounts: [account], policyBindings: [binding] };
  const found = remnants(world);
  expect(found.map(({ what, stays }) => [what, stays])).toEqual([
    ["account sa-1 of iamsa/sa", false],
    ["CRDs, namespace, Lease, credentials", true],
  ]);
});

test.each([
  ["ApiKey", { suspend: true }, /kubectl iam resume iamkey\/o -n n$/],
  ["ServiceAccount", { suspend: true }, /kubectl iam resume iamsa\/o -n n$/],
  ["ClusterConnection", { suspend: true }, /kubectl iam resume iamcconn\/o$/],
  ["PolicyBinding", { suspend: true }, undefined],
  ["ApiKey", {}, undefined],
  ["PolicyBinding", { plans: true }, /remove the annotation iam-operator.io\/plan-only$/],
  ["ApiKey", { suspend: true, isFree: true }, undefined],
  ["PolicyBinding", { plans: true, isFree: true }, undefined],
])(
  "a deletion of everything leaves an object only if the object makes it wait: %s %j",
  (kind, { suspend, plans, isFree }: Record<string, boolean | undefined>, detail) => {
    const metadata = {
      name: "o",
      ...(kind === "ClusterConnection" ? {} : { namespace: "n" }),
      finalizers: isFree ? [] : ["iam-operator.io/finalizer"],
      annotations: plans ? { "iam-operator.io/plan-only": "true" } : {},
    };
    const spec = { suspend, serviceAccountRef: { name: "sa" }, connectionRef: {} };
    const of = (each: string) => (each === kind ? [{ kind, metadata, spec }] : []);
    const world = {
      clusterConnections: of("ClusterConnection"),
      connections: [],
      quotaExports: [],
      serviceAccounts: of("ServiceAccount"),
      policyBindings: of("PolicyBinding"),
      apiKeys: of("ApiKey"),
    };
    const found = remnants(world);
    expect(found.filter((each) => each.kind === "Object").map((each) => each.detail)).toEqual(
      detail === undefined ? [] : [expect.stringMatching(detail)],
    );
  },
);

test.each([
  [["p1"], {}, ["iamsa/sa", "iampb/pb"]],
  [[], {}, ["iamsa/sa"]],
  [["p1"], { deletionPolicy: "Retain" }, ["iamsa/sa"]],
])("a PolicyBinding with %j %j waits for its suspended account", (applied, fields, waiting) => {
  const metadata = (name: string) => ({
    ...{ name, namespace: "n", annotations: {} },
    finalizers: ["iam-operator.io/finalizer"],
  });
  const world = {
    ...{ clusterConnections: [], connections: [], quotaExports: [], apiKeys: [] },
    serviceAccounts: [
      {
        kind: "ServiceAccount",
        metadata: metadata("sa"),
        spec: { suspend: true, connectionRef: {} },
      },
    ],
    policyBindings: [
      {
        kind: "PolicyBinding",
        metadata: metadata("pb"),
        spec: { serviceAccountRef: { name: "sa" }, ...fields },
        status: { appliedPolicyIds: applied },
      },
    ],
  };
  const found = remnants(world);
  expect(found.filter((each) => each.kind === "Object").map(({ what }) => what)).toEqual(waiting);
});

test("a key whose ServiceAccount was deleted stays: no call revokes it", () => {
  const world = {
    clusterConnections: [],
    connections: [],
    serviceAccounts: [],
    policyBindings: [],
    quotaExports: [],
    apiKeys: [
      key("k", {
        superseded: [
          { keyId: "old", serviceAccount: "gone", state: "Live" },
          { keyId: "ended", serviceAccount: "gone", state: "Expired" },
        ],
      }),
    ],
  };
  const keys = remnants(world).filter(({ kind }) => kind === "Key");
  expect(keys.map(({ what, stays }) => [what, stays])).toEqual([
    ["key old (iamkey/k, superseded)", true],
  ]);
});

describe("the pair in a Secret", () => {
  const noted = { "iam-operator.io/key-id": "noted" };
  const read = (data: object, entries: object, annotations: object = noted) =>
    readPair(key("k", {}, { secret: { data: entries } }), {
      metadata: { name: "s", namespace: "n", annotations },
      data: Object.fromEntries(
        Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString("base64")]),
      ),
    } as unknown as Secret);

  test("is what the entries say", () => {
    const pair = read({ id: "entry", s: "x" }, { id: "${keyId}", s: "${secret}" });
    expect([pair.keyId, pair.secret.reveal()]).toEqual(["entry", "x"]);
  });

  test("has the noted ID if no entry holds the ID alone", () => {
    expect(read({ s: "x" }, { s: "${secret}", both: "${keyId}:${secret}" }).keyId).toBe("noted");
    expect(() => read({ s: "x" }, { s: "${secret}" }, {})).toThrow(/no entry/);
    expect(() => read({ s: "x" }, { s: "${secret}", id: "${keyId}" })).toThrow(/missing.*id/);
  });
});

interface ClusterRole {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules: readonly Rule[];
}

test("the operator's rules are those of deploy/rbac", () => {
  const documents = parseAllDocuments(
    readFileSync(join(root, "deploy/rbac/operator.yaml"), "utf8"),
  );
  const roles = documents.map((each) => each.toJS() as ClusterRole);
  const rulesOf = (kind: string) =>
    roles.find((role) => role.kind === kind && role.metadata.name === "iam-operator")?.rules;
  expect(operatorRules).toEqual(rulesOf("ClusterRole"));
  expect(leaseRules).toEqual(rulesOf("Role"));
});

describe("policies", () => {
  const statement = (
    Effect: string,
    Action: readonly string[],
    Resource = ["trn:*:*:o:*:p:*/*"],
  ) => ({
    Effect,
    Action,
    Resource,
  });
  const records = readPolicyRecords({
    result: {
      data: [
        { policyId: "read", statements: [statement("Allow", ["svc:A.B.Read"])] },
        {
          id: "all",
          document: { Statement: [statement("Allow", ["svc:A.B.*"], ["trn:p1:*:o:*:p:*/*"])] },
        },
        { policyId: "deny", statements: [statement("Deny", ["svc:A.B.Read"])] },
        { policyId: "dark" },
        { policyId: "old", status: "inactive", statements: [statement("Allow", ["svc:A.B.Read"])] },
      ],
      dataCount: 5,
    },
  });
  const verdicts = (bound: readonly string[], action = "svc:A.B.Read") =>
    judgePolicies("2", bound, records, action).map(({ verdict }) => verdict);

  test("allow, deny over allow, and say when they cannot be read", () => {
    expect(verdicts(["read"])).toEqual(["ok", "ok"]);
    expect(verdicts(["all"], "svc:A.B.Other")).toEqual(["ok", "ok"]);
    expect(verdicts(["read", "deny"]).at(-1)).toBe("failed");
    expect(verdicts(["read"], "svc:A.C.Read").at(-1)).toBe("failed");
    expect(verdicts(["dark"])).toEqual(["skipped", "unknown"]);
    expect(verdicts(["old"])).toEqual(["warning", "unknown"]);
    expect(verdicts(["read", "dark"])).toEqual(["ok", "skipped", "unknown"]);
    expect(verdicts(["deny", "dark"]).at(-1)).toBe("failed");
    expect(verdicts([])).toEqual([]);
  });

  test("apply to partitions, and the header must match one of them", () => {
    const verdict = (bound: string, partition?: string) =>
      judgePartition("4", [bound], records, partition).verdict;
    expect(verdict("read")).toBe("ok");
    expect(verdict("all")).toBe("failed");
    expect(verdict("all", "p1")).toBe("ok");
    expect(verdict("all", "p2")).toBe("failed");
    expect(verdict("dark", "p2")).toBe("unknown");
  });
});

test("alerts that would fire are those of the page, with its times", () => {
  const page = readFileSync(join(root, "docs/alerts.md"), "utf8");
  const notReady = (kind: string, status: object = {}) => ({
    kind,
    metadata: { name: "x", namespace: "n" },
    status,
  });
  const world = {
    clusterConnections: [{ ...notReady("ClusterConnection"), metadata: { name: "x" } }],
    connections: [],
    serviceAccounts: [notReady("ServiceAccount", { unmanagedKeyCount: 1, orphanedAccounts: [{}] })],
    policyBindings: [notReady("PolicyBinding")],
    quotaExports: [notReady("ResourceQuotaExport")],
    apiKeys: [
      key("k", {
        current: current("a", 1),
        renewalTime: inDays(-1),
        orphanCount: 1,
        consumers: { pods: 1, stale: 1 },
        conditions: [{ type: "IssuanceAllowed", status: "False", reason: "BudgetExceeded" }],
      }),
    ],
  } as unknown as World;
  const found = checkAlerts({ world, unreadable: [] }, "n", now);
  expect(found).toHaveLength(12);
  const named = (alert: string) => found.find(({ found: text }) => text.includes(alert))?.found;
  expect(named("IAMObjectNotReady")).toMatch(/: iamsa\/x in n, iampb\/x in n$/);
  expect(named("IAMConnectionDown")).toMatch(/: iamcconn\/x$/);
  for (const { found: text } of [...found, operatorAbsent()]) {
    const [, alert, after] =
      /^with the chart's default rules, (IAM\w+) fires when its cause has lasted for (\w+)(: |$)/.exec(
        text,
      ) ?? [];
    expect(page).toMatch(
      new RegExp(`^### ${alert}\\n\\n.(critical|warning)., after ${after}\\. `, "m"),
    );
  }
  const empty = {
    ...world,
    clusterConnections: [],
    serviceAccounts: [],
    policyBindings: [],
    quotaExports: [],
    apiKeys: [],
  };
  expect(checkAlerts({ world: empty, unreadable: [] }, "n", now)).toMatchObject([
    { verdict: "ok", found: expect.stringMatching(/in namespace n$/) },
  ]);
  expect(checkAlerts({ world: empty, unreadable: ["ApiKey"] }, "n", now)).toMatchObject([
    { verdict: "unknown", found: expect.stringContaining("you have permission to list") },
  ]);
});

describe("an admission policy that sees the operator's writes", () => {
  const secrets = [{ apiGroups: [""], resources: ["secrets"] }];
  const found = async (lists: Readonly<Record<string, readonly object[]>>) => {
    const list = async ({ plural }: { readonly plural: string }) => lists[plural] ?? [];
    const [finding] = await checkAdmission({ kube: { list } } as never);
    return finding?.verdict === "ok" ? undefined : finding?.found.split(": ")[1];
  };
  const policy = (name: string, resourceRules: readonly object[] = secrets) => ({
    metadata: { name },
    spec: { matchConstraints: { resourceRules } },
  });
  const binding = (policyName: string) => ({ metadata: { name: "b" }, spec: { policyName } });

  test.each(["validating", "mutating"])("is found if it is bound: %s", async (kind) => {
    const policies = { [`${kind}admissionpolicies`]: [policy("unbound"), policy("bound")] };
    expect(await found(policies)).toBeUndefined();
    const bindings = { [`${kind}admissionpolicybindings`]: [binding("bound")] };
    expect(await found({ ...policies, ...bindings })).toBe("policy bound");
  });

  test.each([
    ["*", ["pods"], false],
    ["*", ["*"], true],
    ["*", ["secrets"], true],
    ["iam-operator.io", ["apikeys/status"], true],
    ["iam-operator.io", ["*/status"], true],
    ["", ["*/status"], false],
  ])("matches by group and resource: %j %j", async (group, resources, isFound) => {
    const rules = [{ apiGroups: [group], resources }];
    const webhooks = [{ metadata: { name: "w" }, webhooks: [{ name: "hook", rules }] }];
    const text = await found({ validatingwebhookconfigurations: webhooks });
    expect(text?.includes("hook") ?? false).toBe(isFound);
  });

  const managedBy = "app.kubernetes.io/managed-by";
  const own = [{ apiGroups: ["iam-operator.io"], resources: ["*"] }];
  const elsewhere = { namespaceSelector: { matchLabels: { team: "other" } } };
  const except = (key: string, value: string) => ({
    objectSelector: { matchExpressions: [{ key, operator: "NotIn", values: [value] }] },
  });
  test.each([
    [
      "the operator's Secrets are exempt",
      { resourceRules: secrets, ...except(managedBy, "iam-operator") },
      {},
      false,
    ],
    ["others are exempt", { resourceRules: secrets, ...except(managedBy, "helm") }, {}, true],
    [
      "a label is exempt that a spec can declare",
      { resourceRules: secrets, ...except("tier", "x") },
      {},
      true,
    ],
    ["it is for other namespaces", { resourceRules: secrets, ...elsewhere }, {}, false],
    ["its binding is for other namespaces", { resourceRules: secrets }, elsewhere, false],
    [
      "its binding is for other resources",
      { resourceRules: secrets },
      { resourceRules: own },
      false,
    ],
    [
      "its binding is for its namespaces",
      { resourceRules: secrets },
      { namespaceSelector: { matchLabels: { team: "a" } } },
      true,
    ],
    ["it is for objects without a namespace too", { resourceRules: own, ...elsewhere }, {}, true],
  ])("is found by its selectors: %s", async (_, matchConstraints, matchResources, isFound) => {
    const lists = {
      namespaces: [
        { metadata: { name: "team-a", labels: { team: "a" } } },
        { metadata: { name: "other", labels: { team: "other" } } },
      ],
      apikeys: [{ metadata: { name: "k", namespace: "team-a" } }],
      validatingadmissionpolicies: [{ metadata: { name: "p" }, spec: { matchConstraints } }],
      validatingadmissionpolicybindings: [
        { metadata: { name: "b" }, spec: { policyName: "p", matchResources } },
      ],
    };
    expect(await found(lists)).toBe(isFound ? "policy p" : undefined);
    const { resourceRules: rules, ...selectors } = matchConstraints;
    const webhooks = [
      { metadata: { name: "w" }, webhooks: [{ name: "hook", rules, ...selectors }] },
    ];
    const isLimited = Object.keys(matchResources).length > 0;
    const { validatingadmissionpolicies: _policies, ...others } = lists;
    const text = await found({ ...others, mutatingwebhookconfigurations: webhooks });
    expect(text?.includes("hook") ?? false).toBe(isFound || isLimited);
  });

  test("is found for any namespace while there are no objects", async () => {
    const policies = {
      namespaces: [{ metadata: { name: "team-a" } }],
      validatingadmissionpolicies: [
        {
          metadata: { name: "p" },
          spec: { matchConstraints: { resourceRules: secrets, ...elsewhere } },
        },
      ],
      validatingadmissionpolicybindings: [binding("p")],
    };
    expect(await found(policies)).toBe("policy p");
  });
});

test("findings are paragraphs with their remedies below", () => {
  const findings = [
    { check: "A", verdict: "failed", found: "one two three four", remedy: "Do:\n- this" } as const,
    { check: "Long", verdict: "ok", found: "fine" } as const,
  ];
  expect(renderFindings(findings, screenOf({ width: 26, hasColor: false }))).toBe(
    [
      "failed   A     one two",
      "               three four",
      "               → Do:",
      "                 - this",
      "ok       Long  fine",
    ].join("\n"),
  );
});

describe("a bundle", () => {
  test("has no tokens, and no texts of the form of a secret", () => {
    const secret = `${"Ab3-".repeat(10)}xyz`;
    expect(secret).toHaveLength(43);
    for (const text of [
      `authorization: Bearer abc.def`,
      `key ${secret} was used`,
      `{"password":"hunter2hunter2"}`,
      `token=abcdefghijk`,
      `eyJhbGciOiJ.eyJzdWIi.c2ln`,
    ])
      expect(scrubText(text)).toMatch(/<removed>/);
    for (const text of [
      "secretRef:\n  name: console-login",
      "sak_a7dceb6a8c7dfda3376b1d17",
      "5c16fd72-cd28-4022-8b1e-c3a894986190",
    ])
      expect(scrubText(text)).toBe(text);
  });

  test("has no private key that was put beside certificates", () => {
    const certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
    for (const kind of ["PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY"])
      expect(
        scrubText(
          `caBundle: |\n${certificate}\n-----BEGIN ${kind}-----\nhunter2\nAb+/=\n-----END ${kind}-----\nnext: 1`,
        ),
      ).toBe(`caBundle: |\n${certificate}\n<removed>\nnext: 1`);
    expect(scrubText("cut off: -----BEGIN PRIVATE KEY-----\\nhunter2")).toBe("cut off: <removed>");
  });

  test("has of templates the variables only, and of Secrets no entry", () => {
    const object = {
      metadata: {
        name: "k",
        annotations: { "kubectl.kubernetes.io/last-applied-configuration": "x", note: "y" },
        managedFields: [],
      },
      spec: { secret: { data: { ".env": "KEY=${keyId}\nOTHER=hunter2" } } },
    };
    expect(scrubObject(object)).toEqual({
      metadata: { name: "k", annotations: { note: "y" } },
      spec: { secret: { data: { ".env": "${keyId}" } } },
    });
    const metadata = { name: "s", annotations: { "iam-operator.io/key-id": "sak_1", other: "x" } };
    const scrubbed = scrubSecret(
      { metadata, data: { secret: "c2VjcmV0" } } as never,
      "iam-operator.io/",
    );
    expect(JSON.stringify(scrubbed)).not.toMatch(/c2VjcmV0|other/);
  });
});

test("answers are printed without secrets at any depth", () => {
  expect(hideSecrets({ a: [{ accessToken: "x", n: 1 }], secret: null, keyId: "k" })).toEqual({
    a: [{ accessToken: "<hidden; --reveal shows it>", n: 1 }],
    secret: null,
    keyId: "k",
  });
});
