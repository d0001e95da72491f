/** What is printed, as pure functions of what was read. */
import { describe, expect, test } from "vitest";
import { reasons } from "../../../src/api/reasons/sections.ts";
import type { ResourceQuotaExport } from "../../../src/api/resource-quota-export.ts";
import { describeUnkept } from "../../../src/kinds/api-key/rules/blocks.ts";
import { describeNotKept } from "../../../src/kinds/api-key/rules/not-kept.ts";
import { isAbout } from "../../../src/kubectl-iam/cluster/events.ts";
import { NO_FORECAST } from "../../../src/kubectl-iam/cluster/forecast.ts";
import type { AnyObject } from "../../../src/kubectl-iam/cluster/kinds.ts";
import { keyLines, liveKeysOf } from "../../../src/kubectl-iam/cluster/live-keys.ts";
import type { World } from "../../../src/kubectl-iam/cluster/read.ts";
import { oldListing } from "../../../src/kubectl-iam/commands/quotas.ts";
import { growTree } from "../../../src/kubectl-iam/commands/tree.ts";
import { bar } from "../../../src/kubectl-iam/view/bar.ts";
import { nextStep } from "../../../src/kubectl-iam/view/next-step.ts";
import { renderObject } from "../../../src/kubectl-iam/view/object-screen.ts";
import { byShare, countUnread, toQuotaRows } from "../../../src/kubectl-iam/view/quota-rows.ts";
import { clean, screenOf, wrap } from "../../../src/kubectl-iam/view/screen.ts";
import { renderTable } from "../../../src/kubectl-iam/view/table.ts";
import { relative, span } from "../../../src/kubectl-iam/view/time.ts";
import { drawTree } from "../../../src/kubectl-iam/view/tree.ts";
import { DAY, HOUR, MINUTE, SECOND, toIso8601 } from "../../../src/util/time.ts";
import { runInProcess } from "./support/in-process.ts";

const plain = (width?: number) => screenOf({ width, hasColor: false });
const now = Date.UTC(2026, 0, 1);

describe("a table", () => {
  const rows = [
    { name: "a", text: "short" },
    { name: "longer-name", text: "a message that goes on for quite a while" },
  ];
  const columns = [
    { title: "NAME", cell: ({ name }: (typeof rows)[number]) => name },
    { title: "TEXT", cell: ({ text }: (typeof rows)[number]) => text, flexible: true as const },
  ];

  test("has columns as wide as their content, and lines without trailing space", () => {
    expect(renderTable(rows, columns, plain())).toBe(
      [
        "NAME          TEXT",
        "a             short",
        "longer-name   a message that goes on for quite a while",
      ].join("\n"),
    );
  });

  test("is cut to the terminal's width, but never below a readable width", () => {
    const lines = renderTable(rows, columns, plain(40)).split("\n");
    expect(lines[2]).toBe("longer-name   a message that goes on fo…");
    expect(renderTable(rows, columns, plain(10)).split("\n")[2]).toBe("longer-name   a message t…");
  });

  test("removes control characters in a server's text", () => {
    const evil = [{ name: "x", text: "\u001b]0;owned\u0007 \u202etxt\nnext" }];
    expect(renderTable(evil, columns, plain())).toBe("NAME   TEXT\nx       ]0;owned   txt next");
  });

  test("is in color if the screen has colors", () => {
    const painted = [{ title: "X", cell: () => ({ text: "False", style: "bad" as const }) }];
    expect(renderTable([{}], painted, screenOf({ width: 80, hasColor: true }))).toBe(
      "X\n\u001b[31mFalse\u001b[39m",
    );
  });
});

test("a tree has lines from parents to children", () => {
  const leaf = (value: string) => ({ value, children: [] });
  const drawn = drawTree([
    { value: "a", children: [{ value: "b", children: [leaf("c")] }, leaf("d")] },
    leaf("e"),
  ]);
  expect(drawn.map(({ lines, value }) => lines + value)).toEqual(["a", "├─b", "│ └─c", "└─d", "e"]);
});

test.each([
  [0, "[..........]"],
  [0.5, "[#####.....]"],
  [1, "[##########]"],
  [7, "[##########]"],
  [-1, "[..........]"],
])("a bar of %d is %s", (share, text) => expect(bar(share)).toBe(text));

test.each([
  [0, "0s"],
  [119 * SECOND, "119s"],
  [2 * MINUTE, "2m"],
  [47 * HOUR, "47h"],
  [59 * DAY, "59d"],
])("%d ms are %s", (ms, text) => expect(span(ms)).toBe(text));

test("times are relative to now", () => {
  expect(relative("2026-01-03T00:00:00Z", now)).toBe("in 2d");
  expect(relative("2025-12-31T20:00:00Z", now)).toBe("4h ago");
  expect(relative(undefined, now)).toBe("-");
  expect(relative("nonsense", now)).toBe("-");
});

test("text is wrapped between words", () => {
  expect(wrap("one two three", 7)).toEqual(["one two", "three"]);
  expect(wrap("one two three", undefined)).toEqual(["one two three"]);
  expect(clean("a\u0000\u001bb")).toBe("a b");
});

test("explain prints the meaning, the action and its commands without markup", async () => {
  const { output, code } = await runInProcess(["explain", "expiringsoon"]);
  expect(code).toBe(0);
  const lines = output.split("\n");
  expect(lines[0]).toBe("ExpiringSoon");
  expect(lines).toContainEqual(expect.stringMatching(/^- Check: the rest of the message/));
  expect(lines).toContainEqual(
    expect.stringMatching(/^- Fix: Fix the cause .* kubectl iam rotate/),
  );
  expect(lines).toContainEqual(expect.stringMatching(/^ {4}kubectl annotate iamkey NAME /));
  expect((await runInProcess(["explain", "KeyDelivered"])).output).toContain(
    "no action is required",
  );
});

test("explain without a reason prints a line for each reason", async () => {
  const { output } = await runInProcess(["explain"]);
  const lines = output.trimEnd().split("\n");
  expect(lines).toHaveLength(Object.keys(reasons).length + 1);
  expect(lines).toContainEqual(
    expect.stringMatching(
      /^InUse +The object is being deleted, and other objects still need it\.$/,
    ),
  );
});

test("events of a deleted object are not about an object of the same name", () => {
  const wanted = { kind: "ApiKey", name: "k" } as const;
  const event = { kind: "ApiKey", name: "k", uid: "old" };
  const living = { metadata: { name: "k", uid: "new" } } as AnyObject;
  expect(isAbout(event, wanted, living)).toBe(false);
  expect(isAbout({ ...event, uid: "new" }, wanted, living)).toBe(true);
  expect(isAbout({ ...event, uid: undefined }, wanted, living)).toBe(true);
  expect(isAbout(event, wanted, undefined)).toBe(true);
  expect(isAbout(event, { ...wanted, name: "other" }, undefined)).toBe(false);
});

test("a long list of keys is cut", () => {
  const keys = Array.from({ length: 12 }, (_, index) => ({
    keyId: `k${index}`,
    where: "unmanaged",
    isRevocable: false,
  }));
  expect(keyLines(keys.slice(0, 10))).toHaveLength(10);
  expect(keyLines(keys).slice(9)).toEqual(["k9 (unmanaged)", "and 2 more"]);
});

test("keys that do not work as last read are not among an account's valid keys", () => {
  const refused = { conditions: [{ type: "Verified", status: "False", reason: "KeyRefused" }] };
  const key = (status: object) => ({
    metadata: { name: "k" },
    spec: { serviceAccountRef: { name: "ci" } },
    status: { current: { keyId: "k1" }, ...status },
  });
  const ids = (account: object, status: object = {}) => {
    const found = { metadata: { name: "ci" }, status: account };
    return liveKeysOf(found as never, [key(status)] as never).map(({ keyId }) => keyId);
  };
  expect(ids({ liveKeyIds: ["k1", "k2"], ownership: "Gone" })).toEqual([]);
  expect(ids({ liveKeyIds: [], inactiveKeyIds: ["k1"] })).toEqual([]);
  expect(ids({ liveKeyIds: ["k2"] }, refused)).toEqual(["k2"]);
  // The list may be from before the issue, and the refused pair that of an edited Secret.
  expect(ids({ liveKeyIds: [] })).toEqual(["k1"]);
  expect(ids({ liveKeyIds: ["k1"] }, refused)).toEqual(["k1"]);
  expect(ids({}, refused)).toEqual(["k1"]);
});

test("the keys of an account are those that ApiKeys have of it, and unmanaged keys", () => {
  const status = { liveKeyIds: ["k1", "k2", "k8", "k7", "k9"], expiredKeyIds: ["k7"] };
  const account = { metadata: { name: "ci" }, status };
  const moved = {
    metadata: { name: "moved" },
    spec: { serviceAccountRef: { name: "ci-2" } },
    status: {
      current: { keyId: "k3", serviceAccount: "ci-2" },
      superseded: [
        { keyId: "k1", serviceAccount: "ci", state: "Live" },
        { keyId: "k8", serviceAccount: "ci", state: "Expired" },
      ],
    },
  };
  const old = {
    metadata: { name: "old" },
    spec: { serviceAccountRef: { name: "ci" } },
    status: { current: { keyId: "k2" } },
  };
  expect(keyLines(liveKeysOf(account as never, [moved, old] as never))).toEqual([
    "k1 (iamkey/moved, superseded)",
    "k2 (iamkey/old, in secret/old)",
    "k9 (unmanaged: in no ApiKey's status)",
  ]);
});

test("an account that was created for the same object is named, with what to do about it", () => {
  const orphaned = { saId: "sa-2", observedTime: toIso8601(now), evidence: "Description" };
  const named = { ...orphaned, saId: "sa-3", evidence: "Name" };
  const account = {
    kind: "ServiceAccount",
    metadata: { name: "ci", namespace: "n", generation: 1 },
    spec: { connectionRef: { kind: "Connection", name: "console" } },
    status: {
      observedGeneration: 1,
      saId: "sa-1",
      state: "active",
      conditions: [{ type: "Ready", status: "True", reason: "Created", message: "" }],
      orphanedAccounts: [orphaned, named],
    },
  };
  const subject = { object: account, world: empty, unreadable: [], events: [], now };
  const screen = renderObject({ ...subject, secretIsMissing: false } as never, plain());
  expect(screen).toMatch(/^Orphaned accounts +sa-2, created for this object too, first seen /m);
  expect(screen).toMatch(/^ +sa-3, has the name of this account, first seen /m);
  const world = { ...empty, serviceAccounts: [account] } as unknown as World;
  const leaves = drawTree(growTree(world, { pods: undefined, missing: new Set(), now })).map(
    ({ value }) => [value.object, value.detail],
  );
  expect(leaves.slice(2)).toEqual([
    ["account sa-2", "orphaned: created for this object too, first seen 0s ago"],
    ["account sa-3", "orphaned: has the name of this account, first seen 0s ago"],
  ]);
  expect(nextStep(account as unknown as AnyObject, empty, now)).toEqual({
    isNeeded: true,
    text: "Delete in the console what was created for this object too: sa-2. Find out who created sa-3, with the name of this account; delete in the console what the operator created.",
  });
  const alone = { ...account, status: { ...account.status, orphanedAccounts: [] } };
  expect(nextStep(alone as unknown as AnyObject, empty, now).text).toBe("Nothing.");
});

test("of a PolicyBinding's policies, those are shown as bound that the account's status shows", () => {
  const metadata = { name: "ci", namespace: "n", generation: 1 };
  const binding = {
    kind: "PolicyBinding",
    metadata,
    spec: { serviceAccountRef: { name: "ci" }, policyIds: ["pol-a", "pol-b"] },
    status: { appliedPolicyIds: ["pol-a", "pol-b"] },
  };
  const shown = (status: object | undefined) => {
    const spec = { connectionRef: { kind: "Connection", name: "console" } };
    const account = { kind: "ServiceAccount", metadata, spec, status };
    const serviceAccounts = status === undefined ? [] : [account];
    const world = { ...empty, serviceAccounts, policyBindings: [binding] } as unknown as World;
    const subject = { object: binding, world, unreadable: [], events: [], now };
    const screen = renderObject({ ...subject, secretIsMissing: false } as never, plain());
    const leaf = drawTree(growTree(world, { pods: undefined, missing: new Set(), now })).find(
      ({ value }) => value.object === "iampb/ci",
    );
    expect(/^Policies +(.*)$/m.exec(screen)?.[1]).toBe(leaf?.value.detail);
    return leaf?.value.detail;
  };
  const bound = (policyIds: readonly string[], more: object = {}) => ({
    saId: "sa-1",
    bindings: {
      policies: policyIds.map((policyId) => ({ policyId, state: "Declared" })),
      policyCount: policyIds.length,
      ...more,
    },
  });
  expect(shown(bound(["pol-a", "pol-b"]))).toBe("pol-a, pol-b");
  expect(shown(bound(["pol-b"]))).toBe("pol-b; not bound: pol-a");
  expect(shown(bound([]))).toBe("not bound: pol-a, pol-b");
  expect(shown(bound(["pol-a"], { unreadable: true }))).toBe(
    "pol-a; the console's answer about the bound policies cannot be read",
  );
  expect(shown({})).toBe("not bound: pol-a, pol-b");
  expect(shown(undefined)).toBe("declares pol-a, pol-b");
  expect(shown({ ...bound(["pol-a"]), ownership: "Gone" })).toBe("not bound: pol-a, pol-b");
});

test("a lost key is shown with the last moment at which it can work", () => {
  const orphaned = [
    { attemptId: "a", keyId: "k1", expirationTime: toIso8601(now + 30 * DAY) },
    { attemptId: "b", expirationTime: toIso8601(now + 30 * DAY) },
  ];
  const object = {
    kind: "ApiKey",
    metadata: { name: "k", namespace: "n" },
    spec: { serviceAccountRef: { name: "ci" } },
    status: { orphaned },
  };
  const subject = { object, world: empty, unreadable: [], events: [], now };
  const screen = renderObject({ ...subject, secretIsMissing: false } as never, plain());
  expect(screen).toMatch(/^Lost keys +k1: works until 2026-01-31\S+ \(in 30d\) at the latest$/m);
  expect(screen).toMatch(/^ +a key of unknown ID, if it was issued: works until 2026/m);
});

test("a key is shown with the account that it belongs to, also while its ApiKey moves", () => {
  const account = (name: string) => ({
    kind: "ServiceAccount",
    metadata: { name, namespace: "n" },
    spec: { connectionRef: { kind: "Connection", name: "console" } },
    status: { saId: `sa-${name}`, state: "active" },
  });
  const key = {
    kind: "ApiKey",
    metadata: { name: "k", namespace: "n" },
    spec: { serviceAccountRef: { name: "new" } },
    status: {
      current: { keyId: "k1", expirationTime: toIso8601(now + 30 * DAY), serviceAccount: "old" },
    },
  };
  const serviceAccounts = ["old", "new"].map(account);
  const world = { ...empty, serviceAccounts, apiKeys: [key] } as unknown as World;
  const shown = (object: object) => {
    const subject = { object, world, unreadable: [], events: [], secretIsMissing: false, now };
    return renderObject(subject as never, plain());
  };
  expect(shown(key)).toMatch(/^Account +iamsa\/old: sa-old, active$/m);
  expect(shown(key)).toMatch(/^Moves to +iamsa\/new \(spec\.serviceAccountRef\)$/m);
  expect(shown(account("old"))).toMatch(/^ApiKeys +iamkey\/k: k1, .*, moves to iamsa\/new$/m);
  expect(shown(account("new"))).toMatch(/^ApiKeys +iamkey\/k: k1, .*, of iamsa\/old$/m);
});

test("a renewal outside the windows is told in the operator's words", () => {
  const message = "The key is renewed later, outside the windows: no window opens any more.";
  const key = {
    kind: "ApiKey",
    metadata: { name: "k", namespace: "n", generation: 1 },
    spec: { serviceAccountRef: { name: "ci" } },
    status: {
      observedGeneration: 1,
      current: { keyId: "k", expirationTime: toIso8601(now + 30 * DAY) },
      renewalTime: toIso8601(now + 27 * DAY),
      conditions: [
        { type: "Ready", status: "True", reason: "KeyDelivered", message: "" },
        { type: "IssuanceAllowed", status: "True", reason: "OutsideWindows", message },
      ].map((condition) => ({ observedGeneration: 1, ...condition })),
    },
  } as unknown as AnyObject;
  expect(nextStep(key, empty, now).text).toBe(`Nothing: the key is renewed in 27d. ${message}`);
});

describe("the policies of a ServiceAccount", () => {
  const policiesOf = (status: object, access = "Revoked", world = empty) => {
    const account = {
      kind: "ServiceAccount",
      metadata: { name: "ci", namespace: "n", generation: 2 },
      spec: { connectionRef: { kind: "Connection", name: "console" }, access },
      status: { saId: "sa-1", observedGeneration: 2, ...status },
    };
    const subject = { object: account, world, unreadable: [], events: [], now };
    const screen = renderObject({ ...subject, secretIsMissing: false } as never, plain());
    return /^Policies +(.*)$/m.exec(screen)?.[1];
  };
  const revoked = (status: string, reason: string) => ({
    conditions: [{ type: "AccessRevoked", status, reason, message: "" }],
  });
  const bound = {
    bindings: { policies: [{ policyId: "pol-a", state: "Declared" }], policyCount: 1 },
  };
  const unreadable = { bindings: { policies: [], policyCount: 0, unreadable: true } };
  const revocation = { evidence: "Read", time: "2026-01-01T00:00:00Z" };

  test.each<[string, object, string]>([
    [
      "that the operator has not noticed",
      { ...bound, observedGeneration: 1, ...revoked("True", "AccessRevoked") },
      "pol-a; the revocation is not confirmed yet (waiting for the operator to notice the change)",
    ],
    [
      "under way",
      { ...bound, ...revoked("False", "RevokingAccess") },
      "pol-a; the revocation is not confirmed yet (AccessRevoked=False RevokingAccess)",
    ],
    [
      "that cannot be read",
      { ...unreadable, ...revoked("Unknown", "SyncUnconfirmed") },
      "none by a PolicyBinding; the console's answer about the bound policies cannot be read; the revocation is not confirmed yet (AccessRevoked=Unknown SyncUnconfirmed)",
    ],
    [
      "that is proven",
      { bindings: { policyCount: 0, revocation }, ...revoked("True", "AccessRevoked") },
      "none: access is revoked, confirmed by a read at 2026-01-01T00:00:00Z",
    ],
    [
      "without an account",
      { saId: undefined },
      "none: access is revoked before there is an account",
    ],
    [
      "of an account that is gone",
      { ...bound, ownership: "Gone" },
      "none: the console no longer has the account, as last read",
    ],
  ])("with a revocation %s", (_, status, text) => expect(policiesOf(status)).toBe(text));

  test.each([
    ["is ready", "True", "Created", "pol-a"],
    ["is not ready", "False", "Unavailable", "pol-a, as last read"],
  ])("of an account that %s", (_, status, reason, text) => {
    const conditions = [{ type: "Ready", status, reason, message: "" }];
    expect(policiesOf({ ...bound, conditions }, "Granted")).toBe(text);
  });

  test.each([
    ["does not answer", "Timeout"],
    ["refuses the call", "PermissionDenied"],
  ])("are shown as last read while the console %s for a PolicyBinding", (_, reason) => {
    const binding = {
      kind: "PolicyBinding",
      metadata: { name: "reader", namespace: "n" },
      spec: { serviceAccountRef: { name: "ci" }, policyIds: ["pol-a"] },
      status: {
        appliedPolicyIds: ["pol-a"],
        conditions: [{ type: "Ready", status: "False", reason, message: "" }],
      },
    };
    const world = { ...empty, policyBindings: [binding] } as never;
    expect(policiesOf(bound, "Granted", world)).toBe("pol-a by iampb/reader, as last read");
  });

  test("are not stated as bound if the console's answer is unreadable", () => {
    const bindings = { ...bound.bindings, unreadable: true };
    expect(policiesOf({ bindings }, "Granted")).toBe(
      "pol-a; the console's answer about the bound policies cannot be read",
    );
  });
});

const empty: World = {
  clusterConnections: [],
  connections: [],
  serviceAccounts: [],
  policyBindings: [],
  apiKeys: [],
  quotaExports: [],
};

describe("the next step", () => {
  const object = (conditions: readonly object[], more: object = {}) =>
    ({
      kind: "ApiKey",
      metadata: { name: "k", namespace: "n" },
      spec: {},
      status: { conditions },
      ...more,
    }) as unknown as AnyObject;
  const ready = (status: string, reason: string) => ({
    type: "Ready",
    status,
    reason,
    message: "",
  });

  const stale = {
    type: "ConsumersCurrent",
    status: "False",
    reason: "ConsumersStale",
    message: "One of them.",
  };
  const stalled = (reason: string) => ({ type: "Stalled", status: "True", reason, message: "" });

  test.each([
    ["nothing said yet", object([]), /kubectl iam doctor/],
    [
      "not ready",
      object([ready("False", "LifetimeNotGranted")]),
      /Set spec\.expiresInDays to the number/,
    ],
    ["an unknown reason", object([ready("False", "Odd")]), /kubectl iam explain Odd/],
    [
      "suspended",
      object([ready("True", "Suspended")], { spec: { suspend: true } }),
      /kubectl iam resume iamkey\/k -n n/,
    ],
    [
      "a message that says what to do",
      object([
        {
          ...ready("False", "LifetimeNotGranted"),
          message: "expiresInDays is 365. Set spec.expiresInDays to 90 or less.",
        },
      ]),
      /^Set spec\.expiresInDays to 90 or less\.$/,
    ],
    [
      "a rotation that was requested",
      object([ready("True", "KeyDelivered")], {
        metadata: {
          name: "k",
          namespace: "n",
          annotations: { "iam-operator.io/rotate-requested-at": "2026-01-01T00:00:00Z" },
        },
      }),
      /^The rotation requested at 2026-01-01T00:00:00Z is not done: no new key is reported yet$/,
    ],
    [
      "a rotation whose key waits for its Secret",
      object([ready("True", "KeyDelivered")], {
        status: {
          conditions: [ready("True", "KeyDelivered")],
          rotationPending: true,
          pending: { keyId: "sak_2" },
        },
      }),
      /^The rotation requested is not done: the new key sak_2 is not in its Secret yet$/,
    ],
    [
      "ready, without access",
      object([ready("True", "AccessRevoked")], { kind: "ServiceAccount" }),
      /kubectl iam restore-access iamsa\/k -n n restores it\. A leaked key then works again/,
    ],
    [
      "ready, and the revocation of access is not confirmed",
      object(
        [
          ready("True", "ChangeNotApplied"),
          { ...ready("False", "ChangeNotApplied"), type: "AccessRevoked", message: "Set it back." },
        ],
        { kind: "ServiceAccount" },
      ),
      /^Let the gateway pass the call to the console/,
    ],
    [
      "ready, and something else is wrong",
      object([
        ready("True", "KeyDelivered"),
        { type: "IssuanceAllowed", status: "False", reason: "BudgetExceeded", message: "" },
      ]),
      /If keys get lost, find out why. .* request a rotation with kubectl iam rotate iamkey\/k -n n, or raise /,
    ],
    [
      "ready, and its renewal fails",
      object([{ ...ready("True", "PermissionDenied"), message: "Ask the administrator." }]),
      /^Ask the administrator\.$/,
    ],
    [
      "ready, and a limit reached",
      object([ready("True", "TooManySeries")], { kind: "ResourceQuotaExport" }),
      /^Filter by/,
    ],
    [
      "lost keys",
      object([], { status: { conditions: [ready("True", "KeyDelivered")], orphaned: [{}] } }),
      /kubectl iam orphans -n n/,
    ],
    [
      "Pods behind",
      object([ready("True", "KeyDelivered"), stale]),
      /^One of them\. Restart the Pods that the message names/,
    ],
    [
      "Pods behind whose restart is under way",
      object([
        ready("True", "KeyDelivered"),
        stale,
        { ...stale, type: "RolledOut", reason: "RestartUnderWay" },
      ]),
      /^Wait until its Pods are replaced/,
    ],
  ])("of an object with %s", (_, subject, says) => {
    expect(nextStep(subject, empty, now)).toMatchObject({ isNeeded: true });
    expect(nextStep(subject, empty, now).text).toMatch(says);
  });

  const ofAccount = { spec: { serviceAccountRef: { name: "ci-bot" } } };
  const quotas = { kind: "ResourceQuotaExport", spec: { apiKeyRef: { name: "q" } } };
  const over = (kind: string) => ({
    kind: "ServiceAccount",
    spec: { connectionRef: { kind, name: "default" } },
  });
  test.each<[string, object, string, string]>([
    ["ServiceAccountNotReady", ofAccount, "", "kubectl iam status iamsa/ci-bot -n n"],
    [
      "AccessRevoked",
      { kind: "PolicyBinding", ...ofAccount },
      "",
      "kubectl iam restore-access iamsa/ci-bot -n n restores it.",
    ],
    [
      "ServiceAccountSuspended",
      { kind: "PolicyBinding", spec: { serviceAccountRef: { name: "bot" } } },
      "",
      "The ServiceAccount is suspended: kubectl iam resume iamsa/bot -n n resumes it.",
    ],
    ["WaitingForApiKey", quotas, "", "kubectl iam status iamkey/q -n n"],
    ["ConnectionNotReady", over("ClusterConnection"), "", "kubectl iam status iamcconn/default,"],
    ["ConnectionNotReady", over("Connection"), "", "kubectl iam status iamconn/default -n n"],
    ["LoginFailed", { kind: "Connection" }, "", "kubectl iam reconcile iamconn/k -n n."],
    ["UnreadableResponse", over("Connection"), "", "for an ApiKey also kubectl iam rotate."],
    [
      "ServiceAccountGone",
      ofAccount,
      "Use kubectl iam replace-account to move.",
      "Use kubectl iam replace-account iamsa/ci-bot -n n to move.",
    ],
    [
      "SecretImmutable",
      {},
      "Delete the Secret and run kubectl iam reconcile iamkey/k: done.",
      "kubectl iam reconcile iamkey/k -n n: done.",
    ],
    [
      "SecretConflict",
      {},
      "Secret k-next exists. If nothing uses it, delete it.",
      "within six minutes, or now with kubectl iam reconcile iamkey/k -n n.",
    ],
    [
      "SecretNotKept",
      {},
      describeUnkept({ name: "k-next", what: "label a" }),
      "Exempt the operator's Secrets from the policy, and run kubectl iam reconcile iamkey/k -n n; without a request, the operator tries again within an hour.",
    ],
    [
      "SecretNotKept",
      {},
      describeNotKept("k", "label a"),
      "Exempt the Secret from the policy and run kubectl iam reconcile iamkey/k -n n; if the policy",
    ],
    [
      "ServiceAccountNotFound",
      ofAccount,
      "ServiceAccount ci-bot does not exist in this namespace; create it.",
      "ServiceAccount ci-bot does not exist in this namespace; create it.",
    ],
  ])(
    "with the reason %s and %j names the objects of its commands",
    (reason, more, message, says) => {
      const subject = object([{ ...ready("False", reason), message }], more);
      expect(nextStep(subject, empty, now).text).toContain(says);
    },
  );

  test("of an object that waits for another one is what to do about that one", () => {
    const connectionRef = { kind: "ClusterConnection", name: "default" };
    const account = (reason: string, message: string) =>
      object([{ ...ready(reason === "Created" ? "True" : "False", reason), message }], {
        kind: "ServiceAccount",
        metadata: { name: "ci-bot", namespace: "n" },
        spec: { connectionRef },
      });
    const connection = object([ready("False", "SecretNotFound")], {
      kind: "ClusterConnection",
      metadata: { name: "default" },
    });
    const binding = object([ready("False", "WaitingForServiceAccount")], {
      kind: "PolicyBinding",
      ...ofAccount,
    });
    const next = (other: AnyObject, clusterConnections: readonly AnyObject[] = []) => {
      const world = { ...empty, serviceAccounts: [other], clusterConnections };
      return nextStep(binding, world as unknown as World, now).text;
    };
    expect(next(account("NotGranted", "None matches. Ask for a grant."))).toBe(
      "iamsa/ci-bot reports NotGranted. Ask for a grant.",
    );
    const notReady = account("ConnectionNotReady", "");
    expect(next(notReady, [connection])).toMatch(
      /^iamcconn\/default reports SecretNotFound\. Create the Secret/,
    );
    expect(next(notReady)).toMatch(
      /^iamsa\/ci-bot reports ConnectionNotReady\. .* iam status iamcconn\/default/,
    );
    const gone = "It is lost. Delete this ServiceAccount and create it again.";
    expect(next(account("ServiceAccountGone", gone))).toBe(
      "iamsa/ci-bot reports ServiceAccountGone. Delete iamsa/ci-bot and create it again.",
    );
    expect(next(account("Created", ""))).toBe(
      "Wait: iamsa/ci-bot is ready, and the operator continues by itself.",
    );
  });

  test("of an account that is gone and was replaced, and of its PolicyBinding, is to delete it", () => {
    const gone = "The console no longer has it. Use kubectl iam replace-account to move.";
    const conditions = [{ ...ready("False", "ServiceAccountGone"), message: gone }];
    const account = (name: string, more: object = {}) =>
      object([], {
        kind: "ServiceAccount",
        metadata: { name, namespace: "n", ...more },
        status: { ownership: "Gone", conditions },
      });
    const binding = (name: string, account: string) =>
      object([ready("False", "WaitingForServiceAccount")], {
        kind: "PolicyBinding",
        metadata: { name, namespace: "n" },
        spec: { serviceAccountRef: { name: account }, policyIds: ["pol-a"] },
      });
    const old = account("ci");
    const successor = account("ci-2", { annotations: { "iam-operator.io/replaces": "ci" } });
    const bindings = [binding("ci", "ci"), binding("ci-2", "ci-2")] as const;
    const next = (subject: AnyObject, more: object = {}) => {
      const world = { ...empty, serviceAccounts: [old, successor], policyBindings: bindings };
      return nextStep(subject, { ...world, ...more } as unknown as World, now).text;
    };
    const deleted = "Delete what iamsa/ci-2 replaces: kubectl delete iampb/ci";
    expect(next(old)).toBe(`${deleted} iamsa/ci -n n`);
    expect(next(bindings[0])).toBe(`${deleted} -n n`);
    expect(next(bindings[0], { serviceAccounts: [successor] })).toBe(`${deleted} -n n`);
    expect(next(successor)).toMatch(/^Use kubectl iam replace-account iamsa\/ci-2 -n n/);
    const replace = /Use kubectl iam replace-account iamsa\/ci -n n/;
    const apiKeys = [object([], { spec: { serviceAccountRef: { name: "ci" } } })];
    for (const more of [{ apiKeys }, { serviceAccounts: [old] }, { policyBindings: [bindings[0]] }])
      for (const subject of [old, bindings[0]]) expect(next(subject, more)).toMatch(replace);
  });

  test("of an account that was replaced, and whose access is revoked, is not to restore access", () => {
    const condition = { ...ready("True", "AccessRevoked"), type: "AccessRevoked" };
    const conditions = [ready("True", "AccessRevoked"), condition];
    const account = (name: string, more: object = {}) =>
      object([], {
        kind: "ServiceAccount",
        metadata: { name, namespace: "n", ...more },
        spec: { access: "Revoked" },
        status: { saId: name, observedGeneration: 1, conditions },
      });
    const old = account("ci");
    const successor = account("ci-2", { annotations: { "iam-operator.io/replaces": "ci" } });
    const next = (...serviceAccounts: readonly AnyObject[]) =>
      nextStep(old, { ...empty, serviceAccounts } as unknown as World, now).text;
    const superseded = [{ keyId: "sak_1", serviceAccount: "ci", state: "Live" }];
    const apiKey = object([], {
      spec: { serviceAccountRef: { name: "ci-2" } },
      status: { superseded },
    });
    const moved = { ...empty, serviceAccounts: [old, successor], apiKeys: [apiKey] };
    expect(nextStep(old, moved as unknown as World, now).text).toBe(
      "Wait with its deletion until iamkey/k no longer lists its key sak_1 as Live, or revoke the key in the console.",
    );
    expect(next(old, successor)).toBe(
      "Delete what iamsa/ci-2 replaces: kubectl delete iamsa/ci -n n",
    );
    expect(next(old)).toMatch(/kubectl iam restore-access iamsa\/ci -n n/);
  });

  test.each(["Keys issued in the last 24 hours: 5.", "Keys issued in the last 24 hours: 5"])(
    "does not repeat a message on the screen that shows it: %s",
    (message) => {
      const reason = "NamespaceBudgetExceeded";
      const key = object(
        [
          { ...ready("True", reason), message: `Key sak is in Secret k. ${message}` },
          { type: "IssuanceAllowed", status: "False", reason, message },
        ],
        { spec: { serviceAccountRef: { name: "ci" }, rotation: { windows: [] } } },
      );
      const read = { world: empty, unreadable: [], events: [], secretIsMissing: false, now };
      const screen = renderObject({ object: key as never, ...read }, plain());
      expect(screen.split(message)).toHaveLength(2);
      expect(screen).toContain("(also IssuanceAllowed=False)");
      expect(screen).toMatch(/^Next +Wait until the time in the message/m);
      expect(nextStep(key, empty, now).text).toMatch(/^Keys issued .* Wait until the time/);
    },
  );

  test("of an object under a suspended connection names the connection", () => {
    const stopped = { type: "IssuanceAllowed", status: "False", reason: "ConnectionSuspended" };
    const key = object([ready("True", "KeyDelivered"), { ...stopped, message: "" }], {
      spec: { serviceAccountRef: { name: "ci-bot" } },
    });
    const account = {
      kind: "ServiceAccount",
      metadata: { name: "ci-bot", namespace: "n" },
      spec: { connectionRef: { kind: "ClusterConnection", name: "default" } },
    };
    const world = { ...empty, serviceAccounts: [account] } as unknown as World;
    expect(nextStep(key, world, now).text).toMatch(
      /renewed .* resume it: kubectl iam resume iamcconn\/default$/,
    );
    expect(nextStep(key, empty, now).text).toMatch(/kubectl iam resume iamcconn\/NAME/);
  });

  test("of an export that is Ready is about a connection that is not in order", () => {
    const quotas = object([ready("True", "Listed")], {
      kind: "ResourceQuotaExport",
      spec: { connectionRef: { kind: "Connection", name: "c" } },
    });
    const next = (condition: object, spec: object = {}) => {
      const metadata = { name: "c", namespace: "n" };
      const connections = [object([condition], { kind: "Connection", metadata, spec })];
      return nextStep(quotas, { ...empty, connections } as unknown as World, now);
    };
    expect(next(ready("True", "Authenticated"))).toEqual({ isNeeded: false, text: "Nothing." });
    expect(next(ready("False", "LoginFailed")).text).toMatch(/^iamconn\/c reports LoginFailed\. /);
    expect(next(ready("False", "Suspended"), { suspend: true }).text).toBe(
      "iamconn/c is not ready. Suspended: kubectl iam resume iamconn/c -n n resumes it.",
    );
  });

  test("of a key that moves to another account is not the renewal", () => {
    const moving = object(
      [
        ready("True", "KeyDelivered"),
        { type: "IssuanceAllowed", status: "True", reason: "Allowed", message: "" },
      ],
      { spec: { serviceAccountRef: { name: "new" } } },
    );
    const current = { keyId: "k", serviceAccount: "old" };
    const status = { ...moving.status, current, renewalTime: "2026-01-11T00:00:00Z" };
    expect(nextStep({ ...moving, status }, empty, now).text).toBe(
      "Wait: the next key is of iamsa/new, and is issued without waiting for the renewal.",
    );
  });

  test("of an object with a report on an earlier spec is to wait", () => {
    const unmanaged = { type: "KeysManaged", status: "False", reason: "UnmanagedKeys" };
    const account = (observedGeneration: number) =>
      object([], {
        kind: "ServiceAccount",
        metadata: { name: "ci", namespace: "n", generation: 2 },
        spec: { access: "Revoked" },
        status: {
          observedGeneration,
          conditions: [ready("True", "Created"), { ...unmanaged, message: "" }],
        },
      });
    expect(nextStep(account(1), empty, now)).toEqual({
      isNeeded: false,
      text: "Wait: the operator has not reported on the last change of the spec yet.",
    });
    expect(nextStep(account(2), empty, now)).toMatchObject({ isNeeded: true });
  });

  test("of a suspended object that is being deleted is to resume it", () => {
    const suspended = object([ready("False", "Suspended")], { spec: { suspend: true } });
    const deletionTimestamp = "2026-01-01T00:00:00Z";
    const annotations = { "iam-operator.io/rotate-requested-at": "2026-01-01T00:00:00Z" };
    const metadata = { ...suspended.metadata, deletionTimestamp, annotations };
    const deleted = { ...suspended, metadata };
    expect(nextStep(deleted, empty, now)).toMatchObject({
      isNeeded: true,
      text: "Being deleted, and suspended: kubectl iam resume iamkey/k -n n continues the deletion.",
    });
  });

  test("of an object that is only planned for names that beside any other step", () => {
    const planOnly = { "iam-operator.io/plan-only": "true" };
    const metadata = { name: "k", namespace: "n", annotations: planOnly };
    const waits = [ready("False", "BudgetExceeded")];
    const held = "before you remove the annotation iam-operator.io/plan-only.";
    expect(nextStep(object(waits, { metadata }), empty, now).text).toContain(held);
    expect(nextStep(object(waits), empty, now).text).not.toContain(held);
    const planned = nextStep(object([ready("False", "PlanOnly")], { metadata }), empty, now);
    expect(planned.text.split("iam-operator.io/plan-only")).toHaveLength(2);
    const reader = { kind: "Connection", metadata };
    expect(nextStep(object([ready("False", "Timeout")], reader), empty, now).text).not.toContain(
      held,
    );
  });

  test("of a key in use that is being deleted, but only planned, is to lift that", () => {
    const rotation = { "iam-operator.io/rotate-requested-at": "2026-01-01T00:00:00Z" };
    const planned = {
      ...ready("True", "PlanOnly"),
      message: "status.plan has the call. Remove the annotation iam-operator.io/plan-only.",
    };
    const deleted = object([planned], {
      metadata: {
        name: "k",
        namespace: "n",
        deletionTimestamp: "2026-01-01T00:00:00Z",
        annotations: rotation,
      },
    });
    expect(nextStep(deleted, empty, now)).toEqual({
      isNeeded: true,
      text: "Remove the annotation iam-operator.io/plan-only.",
    });
  });

  test.each([
    ["waits", [ready("False", "ServerError")], /^Wait: it is being deleted\.$/, false],
    [
      "a suspended account holds up",
      [ready("False", "ServiceAccountSuspended"), stalled("ServiceAccountSuspended")],
      /kubectl iam resume iamsa\/ci-bot -n n resumes it\.$/,
      true,
    ],
    [
      "ends only by a change",
      [ready("False", "DeleteNotPossible"), stalled("DeleteNotPossible")],
      /^Set extraCalls\.deleteServiceAccount of the connection/,
      true,
    ],
  ])("of an object whose deletion %s", (_, conditions, text, isNeeded) => {
    const binding = object(conditions, {
      kind: "PolicyBinding",
      metadata: { name: "k", namespace: "n", deletionTimestamp: "2026-01-01T00:00:00Z" },
      spec: { serviceAccountRef: { name: "ci-bot" } },
    });
    const next = nextStep(binding, empty, now);
    expect(next).toEqual({ isNeeded, text: expect.stringMatching(text) });
  });

  test("of an object whose deletion waits is what its message says", () => {
    const message = "Deletion waits for objects that still use this object. Delete ApiKey a first.";
    const account = object([{ ...ready("False", "InUse"), message }], {
      kind: "ServiceAccount",
      metadata: { name: "ci-bot", namespace: "n", deletionTimestamp: "2026-01-01T00:00:00Z" },
    });
    expect(nextStep(account, empty, now).text).toBe("Delete ApiKey a first.");
  });

  test("of a suspended object in deletion is to resume it, and names every user of it", () => {
    const connection = object([ready("False", "Suspended")], {
      kind: "ClusterConnection",
      metadata: { name: "c", deletionTimestamp: "2026-01-01T00:00:00Z" },
      spec: { suspend: true },
    });
    const account = object([], {
      kind: "ServiceAccount",
      metadata: { name: "ci-bot", namespace: "n" },
      spec: { connectionRef: { kind: "ClusterConnection", name: "c" } },
    });
    const serviceAccounts = [account] as unknown as World["serviceAccounts"];
    expect(nextStep(connection, { ...empty, serviceAccounts }, now).text).toBe(
      "Being deleted, and suspended: kubectl iam resume iamcconn/c continues the deletion. Then it waits for what still uses the object: iamsa/ci-bot in n.",
    );
  });

  test("of an object whose deletion waits for superseded keys advises to delete nothing", () => {
    const message = "Keys of this account may still work: ApiKey a (superseded keys).";
    const account = object([{ ...ready("False", "InUse"), message }], {
      kind: "ServiceAccount",
      metadata: { name: "old", namespace: "n", deletionTimestamp: "2026-01-01T00:00:00Z" },
    });
    expect(nextStep(account, empty, now).text).toBe(message);
  });

  test("has the message to which its advice refers", () => {
    const message = "Entry ca.crt is not PEM.";
    const conditions = [{ ...ready("False", "CertificateInvalid"), message }];
    expect(nextStep(object(conditions, { kind: "Connection" }), empty, now).text).toMatch(
      /^Entry ca\.crt is not PEM\. Correct the entry that the message names/,
    );
  });

  test("of a key whose Secret a policy changes is to exempt it", () => {
    const message =
      "The API server stores it with a different label team. Exempt the Secret from the policy.";
    const status = { conditions: [{ ...ready("True", "SecretNotKept"), message }] };
    expect(nextStep(object([], { status }), empty, now)).toEqual({
      isNeeded: true,
      text: "Exempt the Secret from the policy.",
    });
  });

  test("of a key whose next Secret is in the way, as a dry run has shown, is noticed later", () => {
    const reason = "SecretConflict";
    const forecast = { type: "IssuanceAllowed", status: "False", reason, message: "" };
    const status = { conditions: [ready("True", "KeyDelivered"), forecast] };
    expect(nextStep(object([], { status }), empty, now).text).toContain(" within an hour, or now ");
  });

  test("of a key in order is when it is renewed", () => {
    const status = {
      conditions: [
        ready("True", "KeyDelivered"),
        { type: "IssuanceAllowed", status: "True", reason: "Allowed", message: "" },
      ],
      current: { keyId: "k" },
      renewalTime: "2026-01-11T00:00:00Z",
    };
    expect(nextStep(object([], { status }), empty, now)).toEqual({
      isNeeded: false,
      text: "Nothing: the key is renewed in 10d.",
    });
    expect(nextStep(object([], { status }), empty, now, true)).toMatchObject({
      isNeeded: true,
      text: expect.stringMatching(
        / within five minutes, or now with kubectl iam reconcile iamkey\/k -n n\.$/,
      ),
    });
    const unseen = { ...status, conditions: status.conditions.slice(0, 1) };
    expect(nextStep(object([], { status: unseen }), empty, now).text).toBe(NO_FORECAST);
  });
});

test("quotas become rows, and those whose texts hold no amounts are counted", () => {
  const quotas = [
    { namespace: "a", name: "q", request: "cpu: 500m/2, memory: 1Gi/4Gi", limit: "cpu: 1/2" },
    { namespace: "b", name: "odd", request: "see the dashboard", limit: "" },
    { namespace: "c", name: "none", request: "pods: 0/0", limit: "" },
  ];
  const rows = toQuotaRows(7, quotas, "cluster-7");
  expect(
    rows.map(({ resource, of, used, hard, share }) => [resource, of, used, hard, share]),
  ).toEqual([
    ["cpu", "requests", "500m", "2", 0.25],
    ["memory", "requests", "1Gi", "4Gi", 0.25],
    ["cpu", "limits", "1", "2", 0.5],
    ["pods", "requests", "0", "0", 0],
  ]);
  expect(countUnread(quotas)).toBe(1);
  expect(rows.toSorted(byShare)[0]).toMatchObject({ of: "limits", export: "cluster-7" });
});

test.each([
  ["a present listing", 9, "True", {}, undefined],
  [
    "a listing of a failing export",
    9,
    "False",
    {},
    "warning: iamrq/q listed its quotas 9m ago. Listed: It says.",
  ],
  [
    "a listing that is late",
    11,
    "True",
    {},
    "warning: iamrq/q listed its quotas 11m ago, although its interval is 5m.",
  ],
  [
    "a listing of a suspended export",
    11,
    "True",
    { suspend: true },
    "warning: iamrq/q listed its quotas 11m ago and is suspended: kubectl iam resume iamrq/q -n n",
  ],
])("quotas tells the age of %s", (_, minutes, status, more, says) => {
  const ready = { type: "Ready", status, reason: "Listed", message: "It says." };
  const lastSuccessTime = toIso8601(now - minutes * MINUTE);
  const quotaExport = {
    kind: "ResourceQuotaExport",
    metadata: { name: "q", namespace: "n" },
    spec: { clusterId: 7, interval: "5m", ...more },
    status: { lastSuccessTime, conditions: [ready] },
  } as unknown as ResourceQuotaExport;
  expect(oldListing(quotaExport, now)).toBe(says);
  expect(oldListing({ ...quotaExport, status: {} }, now)).toBeUndefined();
});
