/** What is left of a replacement, by the objects alone. */
import { describe, expect, test } from "vitest";
import type { ApiKey } from "../../../src/api/api-key.ts";
import type { PolicyBinding } from "../../../src/api/policy-binding.ts";
import type { ServiceAccount } from "../../../src/api/service-account.ts";
import type { ResourceType } from "../../../src/kube/resource.ts";
import type { Cluster } from "../../../src/kubectl-iam/cluster/cluster.ts";
import { nextName, successorOf } from "../../../src/kubectl-iam/replace/copies.ts";
import { phasesOf, titlesOf } from "../../../src/kubectl-iam/replace/phases.ts";
import { movesOf, planReplacement } from "../../../src/kubectl-iam/replace/plan.ts";
import {
  deliveryMissing,
  overlapMissing,
  waitTexts,
} from "../../../src/kubectl-iam/replace/waits.ts";
import { HOUR, MINUTE, toIso8601 } from "../../../src/util/time.ts";
import { fakeIo } from "./support/fake-io.ts";

const metadataOf = (name: string, more: object = {}) => ({ name, namespace: "team-a", ...more });
const replaces = (name: string) => ({ annotations: { "iam-operator.io/replaces": name } });

function account(name: string, spec: object = {}, status: object = {}, more: object = {}) {
  const metadata = metadataOf(name, { generation: 1, ...more });
  return { kind: "ServiceAccount", metadata, spec, status } as unknown as ServiceAccount;
}
function binding(name: string, of: string, policyIds: readonly string[], more: object = {}) {
  const spec = { serviceAccountRef: { name: of }, policyIds };
  const object = { kind: "PolicyBinding", metadata: metadataOf(name, more), spec };
  return object as unknown as PolicyBinding;
}
function apiKey(name: string, of: string, status: object = {}, more: object = {}) {
  const spec = { serviceAccountRef: { name: of } };
  const object = { kind: "ApiKey", metadata: metadataOf(name, more), spec, status };
  return object as unknown as ApiKey;
}

interface Given {
  readonly accounts?: readonly ServiceAccount[];
  readonly bindings?: readonly PolicyBinding[];
  readonly keys?: readonly ApiKey[];
  readonly options?: object;
}

const read = binding("ci", "ci", ["pol-read"]);
const deploy = binding("deploy", "ci", ["pol-deploy", "pol-read"]);
const current = (serviceAccount: string) => ({ current: { keyId: "k1", serviceAccount } });
const plan = (
  old: ServiceAccount,
  { accounts = [], bindings = [], keys = [], options = {} }: Given = {},
) =>
  planReplacement(
    old,
    { serviceAccounts: [old, ...accounts], policyBindings: bindings, apiKeys: keys },
    options,
  );
const missing = (old: ServiceAccount, given: Given = {}) =>
  plan(old, given).missing.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

test("the preview names the windows that the moved ApiKeys wait for", () => {
  const rotation = { windows: [{ schedule: "0 2 1 7 *", duration: "3h" }] };
  const key = apiKey("key", "ci", current("ci"));
  const windowed = { ...key, spec: { ...key.spec, rotation } } as unknown as ApiKey;
  const pods = "until no Pod uses an old key, or the overlap ends";
  expect(waitTexts([key, windowed], {})).toEqual([
    "until a window of iamkey/key opens (--now does not wait): 0 2 1 7 * UTC, for 3h",
    pods,
  ]);
  const annotations = { "iam-operator.io/rotate-requested-at": "2026-01-01T00:00:00Z" };
  const requested = { ...windowed, metadata: { ...windowed.metadata, annotations } };
  expect(waitTexts([requested, { ...windowed, status: {} }], {})).toEqual([pods]);
  const dead = "not for Pods: the old keys do not work any more";
  expect(waitTexts([key], { isOver: true })).toEqual([dead]);
  expect(waitTexts([windowed], { isUrgent: true })).toEqual([
    "neither for rotation windows nor for Pods",
  ]);
});

test("what is left names the ApiKeys that are to be moved now", async () => {
  const found = plan(account("ci"), { keys: [apiKey("key", "ci", current("ci"))] });
  const left = async (phases: number, ...keys: readonly ApiKey[]) => {
    const list = async ({ kind }: ResourceType) => (kind === "ApiKey" ? keys : []);
    const cluster = { kube: { list }, namespace: "team-a" } as unknown as Cluster;
    return titlesOf(cluster, found, phasesOf(found).slice(-phases));
  };
  const revoke = "revoke the access of iamsa/ci";
  const moved = apiKey("key", "ci-2", current("ci-2"));
  expect(await left(1, moved, apiKey("other", "cd"))).toEqual([revoke]);
  expect(await left(1, apiKey("key", "ci", current("ci-2")))).toEqual(["move iamkey/key", revoke]);
  const bind = "bind the policies of iamsa/ci-2";
  const wait = "wait until no Pod uses an old key (--now does not wait)";
  expect(await left(4, moved)).toEqual([bind, wait, revoke]);
  const both = [moved, apiKey("late", "ci-2", current("ci"))];
  expect(await left(3, ...both)).toEqual(["move iamkey/late", wait, revoke]);
});

test.each([
  ["ci-bot", [], "ci-bot-2"],
  ["ci-bot", ["ci-bot-2", "ci-bot-3"], "ci-bot-4"],
  ["ci-bot-2", [], "ci-bot-3"],
  ["build-0", [], "build-0-2"],
])("after %s, with %j taken, comes %s", (name, taken, next) => {
  expect(nextName(name, new Set(taken))).toBe(next);
});

describe("the successor", () => {
  test("has the same spec, except what is particular to the old account", () => {
    const old = account(
      "ci",
      {
        connectionRef: { kind: "Connection", name: "own" },
        description: "CI",
        saId: "sa-1",
        name: "ci at the console",
        access: "Revoked",
        suspend: true,
        foreignPolicies: "Remove",
      },
      { projectId: "prj-2" },
      {
        labels: {
          team: "a",
          "app.kubernetes.io/instance": "x",
          "kustomize.toolkit.fluxcd.io/name": "y",
        },
        annotations: { "argocd.argoproj.io/tracking-id": "z" },
      },
    );
    expect(successorOf(old, "ci-2")).toEqual({
      apiVersion: "iam-operator.io/v1alpha1",
      kind: "ServiceAccount",
      metadata: metadataOf("ci-2", { labels: { team: "a" }, ...replaces("ci") }),
      spec: {
        connectionRef: { kind: "Connection", name: "own" },
        description: "CI",
        foreignPolicies: "Remove",
        projectId: "prj-2",
      },
    });
    expect(successorOf(account("ci", {}, { projectId: "prj-1" }), "ci-2").spec).toEqual({});
  });

  test("is found by its annotation", () => {
    const found = account("other", {}, {}, replaces("ci"));
    const unrelated = account("ci-2");
    expect(plan(account("ci"), { accounts: [unrelated] }).successor).toBe("ci-3");
    expect(plan(account("ci"), { accounts: [unrelated, found] })).toMatchObject({
      successor: "other",
      missing: [],
    });
    const options = { name: "other" };
    expect(plan(account("ci"), { accounts: [found], options }).successor).toBe("other");
  });

  test("is never an account that replaces no account or another one", () => {
    const options = { name: "other" };
    for (const other of [account("other"), account("other", {}, {}, replaces("cd"))])
      expect(() => plan(account("ci"), { accounts: [other], options })).toThrow(
        "iamsa/other exists and does not replace ci",
      );
  });

  test("is chosen by the user if there are several", () => {
    const accounts = ["a", "b"].map((name) => account(name, {}, {}, replaces("ci")));
    expect(() => plan(account("ci"), { accounts })).toThrow("a and b replace ci: choose one");
    expect(plan(account("ci"), { accounts, options: { name: "b" } }).successor).toBe("b");
  });
});

describe("PolicyBindings", () => {
  const successor = account("ci-2", {}, {}, replaces("ci"));
  const bindings = [read, deploy, binding("elsewhere", "cd", ["pol-x"])];

  test("are copied, each once", () => {
    expect(missing(account("ci"), { bindings })).toEqual([
      "ServiceAccount ci-2",
      "PolicyBinding ci-2",
      "PolicyBinding deploy-2",
    ]);
    const [, copy] = plan(account("ci"), { bindings }).missing;
    expect(copy).toMatchObject({
      metadata: replaces("ci"),
      spec: { serviceAccountRef: { name: "ci-2" }, policyIds: ["pol-read"] },
    });
  });

  test.each([
    ["a copy that was edited", binding("any", "ci-2", ["pol-other"], replaces("deploy"))],
    ["a PolicyBinding with all policies", binding("any", "ci-2", ["pol-read", "pol-deploy"])],
  ])("are not copied if there is %s", (_, own) => {
    const found = missing(account("ci"), { accounts: [successor], bindings: [...bindings, own] });
    expect(found).not.toContain("PolicyBinding deploy-2");
  });

  test("that are being deleted are not copied, and do not count as copies", () => {
    const dying = { deletionTimestamp: "2026-01-01T00:00:00Z" };
    const gone = binding("gone", "ci", ["pol-x"], dying);
    const copy = binding("copy", "ci-2", ["pol-read"], dying);
    const given = { accounts: [successor], bindings: [read, gone, copy] };
    expect(missing(account("ci"), given)).toEqual(["PolicyBinding ci-2"]);
  });
});

describe("policies that no PolicyBinding declares", () => {
  const policies = ["pol-read", "pol-x"].map((policyId) => ({ policyId, state: "Foreign" }));
  const old = account("ci", {}, { saId: "sa-1", bindings: { policyCount: 2, policies } });
  const bindings = [read];

  test.each([
    ["what is bound was never read", undefined, /has not been read/],
    ["it cannot be read", { policyCount: 1, unreadable: true }, /cannot be read/],
  ])("may exist if %s: the user decides", (_, record, said) => {
    const unknown = account("ci", {}, { saId: "sa-1", bindings: record });
    expect(() => plan(unknown, { bindings })).toThrow(said);
    expect(() => plan(unknown, { bindings, options: { withForeign: true } })).toThrow(said);
    expect(missing(unknown, { bindings, options: { withoutForeign: true } })).toHaveLength(2);
  });

  test("stop it", () => {
    expect(() => plan(old, { bindings })).toThrow(/that no PolicyBinding declares: pol-x\. /);
  });

  test("are left out or declared, as the user says", () => {
    const without = missing(old, { bindings, options: { withoutForeign: true } });
    expect(without).toEqual(["ServiceAccount ci-2", "PolicyBinding ci-2"]);
    const { missing: created } = plan(old, { bindings, options: { withForeign: true } });
    expect(created.at(-1)).toMatchObject({
      metadata: { name: "ci-foreign-2" },
      spec: { serviceAccountRef: { name: "ci-2" }, policyIds: ["pol-x"] },
    });
  });

  test("are not left out while the successor binds them: an earlier run has declared them", () => {
    const given = [...bindings, binding("ci-foreign-2", "ci-2", ["pol-x"])];
    const options = { withoutForeign: true };
    expect(() => plan(old, { bindings: given, options })).toThrow(
      "first run kubectl delete iampb/ci-foreign-2",
    );
  });

  test("cannot be read any more in an account that the console no longer has", () => {
    const gone = account("ci", {}, { saId: "sa-1", ownership: "Gone", bindings: {} });
    expect(missing(gone)).toEqual(["ServiceAccount ci-2"]);
    const unread = account("ci", {}, { saId: "sa-1", bindings: {} });
    expect(() => missing(unread)).toThrow("--without-foreign");
  });

  test("no longer count when the successor declares them", () => {
    const given = [...bindings, binding("own", "ci-2", ["pol-x"])];
    expect(missing(old, { bindings: given })).toEqual([
      "ServiceAccount ci-2",
      "PolicyBinding ci-2",
    ]);
  });
});

describe("ApiKeys", () => {
  const toMove = apiKey("a", "ci", current("ci"));
  const onTheWay = apiKey("b", "ci-2", current("ci"));
  const wayBack = apiKey("c", "ci", current("ci-2"));
  const moved = apiKey("d", "ci-2", current("ci-2"));
  const leaving = apiKey("e", "ci", current("ci"), { deletionTimestamp: "2026-01-01T00:00:00Z" });
  const keyless = apiKey("f", "ci-2");
  const third = apiKey("g", "cd", current("ci"));
  const keys = [toMove, onTheWay, wayBack, moved, leaving, keyless, third];
  const accounts = [account("ci-2", {}, {}, replaces("ci"))];
  const found = plan(account("ci"), { accounts, keys });
  const patches = (isUrgent: boolean) =>
    movesOf(found, isUrgent, 0).map(({ name, patch }) => [name, patch]);
  const spec = { serviceAccountRef: { name: "ci-2" } };

  test("that use the account are moved", () => {
    expect(found.moving.map(({ metadata }) => metadata.name)).toEqual(["a", "b", "c", "f"]);
    expect(found.leaving.map(({ metadata }) => metadata.name)).toEqual(["g"]);
    expect(patches(false)).toEqual([
      ["a", { spec }],
      ["c", { spec }],
    ]);
  });

  test("are rotated at once if a key leaked, by one request each", () => {
    const annotations = { "iam-operator.io/rotate-requested-at": "1970-01-01T00:00:00.000000Z" };
    expect(patches(true).slice(0, 3)).toEqual([
      ["a", { spec, metadata: { annotations } }],
      ["b", { metadata: { annotations } }],
      ["c", { spec }],
    ]);
    for (const requested of [
      apiKey("b", "ci-2", current("ci"), { annotations }),
      apiKey("b", "ci-2", { ...current("ci"), attempt: { id: "1" } }),
    ])
      expect(movesOf({ ...found, moving: [requested] }, true, 1)).toEqual([]);
    const stalled = { type: "Stalled", status: "True", reason: "UnreadableResponse" };
    const conditions = [{ ...stalled, type: "Ready", status: "False" }, stalled];
    const reporting = apiKey("b", "ci-2", { ...current("ci"), conditions });
    const [change] = movesOf({ ...found, moving: [reporting] }, true, 0);
    const requestedAt = annotations["iam-operator.io/rotate-requested-at"];
    expect(change?.patch).toEqual({
      metadata: {
        annotations: { ...annotations, "iam-operator.io/reconcile-requested-at": requestedAt },
      },
    });
  });
});

describe("it is done", () => {
  const revoked = (status: string, observedGeneration = 1) =>
    account(
      "ci",
      { access: "Revoked" },
      { saId: "sa-1", observedGeneration, conditions: [{ type: "AccessRevoked", status }] },
    );
  test.each([
    ["with the proof, and without users", revoked("True"), [], true],
    ["not without the proof", revoked("Unknown"), [], false],
    ["not with the proof of an earlier generation", revoked("True", 0), [], false],
    ["not while an ApiKey uses the account", revoked("True"), [apiKey("a", "ci")], false],
  ])("%s", (_, old, keys, isDone) => {
    expect(plan(old, { keys, bindings: [read] }).isDone).toBe(isDone);
    expect(missing(old, { keys, bindings: [read] })).toHaveLength(isDone ? 0 : 2);
  });

  test("an account that is being deleted is not replaced", () => {
    const dying = account("ci", {}, {}, { deletionTimestamp: "2026-01-01T00:00:00Z" });
    expect(() => plan(dying)).toThrow("iamsa/ci is being deleted.");
  });
});

describe("the overlap", () => {
  const at = 1_000 * HOUR;
  const superseded = [
    { serviceAccount: "ci", supersededTime: toIso8601(at), state: "Live" },
    { serviceAccount: "ci", supersededTime: toIso8601(at + HOUR), state: "Inactive" },
  ];
  const condition = (status: string, reason: string) => ({
    conditions: [{ type: "ConsumersCurrent", status, reason, message: "Two Pods." }],
  });
  const key = (status: object = {}, rotation: object = {}) => {
    const { spec, ...object } = apiKey("a", "ci-2", { superseded, ...status });
    return { ...object, spec: { ...spec, rotation } } as unknown as ApiKey;
  };
  const missingAt = (object: ApiKey, afterMs: number, overlap?: number) =>
    overlapMissing(object, { account: "ci", successor: "ci-2", overlap }, at + afterMs)?.text;

  test.each<[string, ApiKey, number, number | undefined, string | undefined]>([
    ["of a day by default", key(), 24 * HOUR - 1, undefined, "does not count the Pods"],
    ["ends", key(), 24 * HOUR, undefined, undefined],
    ["of the ApiKey", key({}, { overlap: "1h" }), HOUR - 1, undefined, "1970-02-11T17:00:00Z"],
    ["of the ApiKey ends", key({}, { overlap: "1h" }), HOUR, undefined, undefined],
    ["of the command line", key({}, { overlap: "1h" }), MINUTE, MINUTE, undefined],
    ["with stale Pods", key(condition("False", "ConsumersStale")), 1, undefined, "Two Pods."],
    ["with stale Pods ends", key(condition("False", "ConsumersStale")), HOUR, HOUR, undefined],
    ["before the count", key(condition("Unknown", "Counting")), 1, undefined, "Two Pods."],
    ["without stale Pods", key(condition("True", "AllCurrent")), 1, undefined, undefined],
    [
      "without a count",
      key(condition("Unknown", "CountingDisabled")),
      1,
      undefined,
      "does not count the Pods",
    ],
  ])("%s", (_, object, afterMs, overlap, text) => {
    const found = missingAt(object, afterMs, overlap);
    if (text === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(text);
  });

  test("ends with a failure if somebody has changed the account", async () => {
    const elsewhere = apiKey("a", "cd", { superseded });
    const overlap = { account: "ci", successor: "ci-2", overlap: HOUR };
    const expected = { text: expect.stringContaining("from ci-2 to cd"), isFinal: true };
    expect(overlapMissing(elsewhere, overlap, at)).toEqual(expected);
    const cluster = {} as never;
    expect(await deliveryMissing(cluster, elsewhere, "ci-2")).toEqual(expected);
  });
});

test("a move that waits for a window names the option that does not wait", async () => {
  const conditions = [
    { type: "Ready", status: "True", reason: "WaitingForWindow", message: "Opens later." },
  ];
  const moving = apiKey("a", "ci-2", { ...current("ci"), observedGeneration: 1, conditions });
  const cluster = { kube: { get: async () => undefined } } as unknown as Cluster;
  expect(await deliveryMissing(cluster, moving, "ci-2")).toEqual({
    text: "no key of ci-2 is delivered yet (--now does not wait for a window): WaitingForWindow: Opens later.",
    isFinal: false,
  });
});

describe("access is revoked", () => {
  const ready = (kind: string, name: string) => ({
    ...(kind === "ServiceAccount" ? account(name) : binding(name, "ci-2", ["pol-read"])),
    status: { observedGeneration: 1, conditions: [{ type: "Ready", status: "True" }] },
  });
  const successor = {
    ...ready("ServiceAccount", "ci-2"),
    metadata: { ...metadataOf("ci-2", { generation: 1, ...replaces("ci") }) },
  };
  const revoke = async (keys: readonly ApiKey[], ...bound: readonly object[]) => {
    const stored: Readonly<Record<string, readonly object[]>> = {
      ServiceAccount: [successor],
      PolicyBinding: bound,
      ApiKey: keys,
    };
    const patches: object[] = [];
    const kube = {
      list: async ({ kind }: ResourceType) => stored[kind],
      get: async ({ kind }: ResourceType) => stored[kind]?.[0],
      mergePatch: async (_: unknown, __: unknown, patch: object) => {
        patches.push(patch);
        return account("ci", { access: "Revoked" }, { observedGeneration: 1 });
      },
    };
    const cluster = { kube, namespace: "team-a" } as unknown as Cluster;
    const replacement = plan(account("ci"), {
      accounts: [account("ci-2", {}, {}, replaces("ci"))],
    });
    const { io } = fakeIo({ interrupted: AbortSignal.abort() });
    const invocation = { io, args: [], options: { timeout: 0 } };
    const error = await phasesOf(replacement)
      .at(-1)
      ?.run(invocation, cluster, replacement)
      .catch(({ message }) => message);
    return { error, patches };
  };

  test("not while an ApiKey uses the account", async () => {
    for (const user of [
      apiKey("a", "ci"),
      apiKey("a", "cd", current("ci")),
      apiKey("a", "ci-2", current("ci")),
      // Its Secret may still hold a key of the account.
      apiKey("a", "ci-2"),
    ])
      expect(await revoke([user], ready("PolicyBinding", "ci"))).toEqual({
        error: "iamkey/a: uses iamsa/ci, so its access is not revoked.",
        patches: [],
      });
  });

  test("not while a policy of the successor is not bound", async () => {
    const { error, patches } = await revoke([], binding("ci", "ci-2", ["pol-read"]));
    expect(patches).toEqual([]);
    expect(error).toMatch(/iampb\/ci/);
  });

  test("not if the account has got a PolicyBinding that the successor lacks", async () => {
    const { error, patches } = await revoke([], ready("PolicyBinding", "own"), deploy);
    expect(patches).toEqual([]);
    expect(error).toBe(
      "The policies of iamsa/ci have changed meanwhile, so its access is not revoked. iamsa/ci-2 lacks iampb/deploy-2.",
    );
  });

  test("otherwise", async () => {
    const { patches } = await revoke([], ready("PolicyBinding", "ci"));
    expect(patches).toEqual([{ spec: { access: "Revoked" } }]);
  });
});
