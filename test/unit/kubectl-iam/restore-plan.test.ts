/** What a restore creates, leaves out and refuses, by what the cluster holds. */
import { expect, test } from "vitest";
import type { KubeObject, ObjectKey, ResourceType } from "../../../src/kube/resource.ts";
import { findImportGaps } from "../../../src/kubectl-iam/backup/import-gaps.ts";
import { outcomeOf } from "../../../src/kubectl-iam/backup/outcome.ts";
import { planRestore } from "../../../src/kubectl-iam/backup/plan.ts";
import type { Cluster } from "../../../src/kubectl-iam/cluster/cluster.ts";
import type { FileObject } from "../../../src/kubectl-iam/cluster/given-objects.ts";

const iam = (kind: string, name: string, more: object = {}) =>
  ({
    apiVersion: "iam-operator.io/v1alpha1",
    kind,
    metadata: { name, namespace: "team-a" },
    ...more,
  }) as FileObject & { status?: object };
const secret = (name: string, keyId: string) =>
  ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name,
      namespace: "team-a",
      labels: { "iam-operator.io/api-key": "key" },
      annotations: { "iam-operator.io/key-id": keyId },
    },
  }) as FileObject;
const ref = { serviceAccountRef: { name: "ci" } };
const key = iam("ApiKey", "key", { spec: ref });
const keyWith = (keyId: string) =>
  iam("ApiKey", "key", { spec: ref, status: { current: { keyId } } });
const account = (saId: string | undefined, name = "ci") =>
  iam("ServiceAccount", name, { spec: saId === undefined ? {} : { saId } });

function clusterOf(stored: readonly FileObject[]): Cluster {
  const get = async ({ kind }: ResourceType, { name }: ObjectKey) =>
    stored.find((object) => object.kind === kind && object.metadata.name === name);
  const list = async ({ kind }: ResourceType) => stored.filter((object) => object.kind === kind);
  return { kube: { get, list } } as unknown as Cluster;
}

async function verdicts(file: readonly FileObject[], stored: readonly FileObject[]) {
  const steps = await planRestore(clusterOf(stored), file);
  return steps.map((step) => `${step.kind} ${"why" in step ? step.why : ""}`.trim());
}

const dying = { ...key, metadata: { ...key.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };

test.each<[string, readonly FileObject[], readonly FileObject[], readonly (string | RegExp)[]]>([
  ["a key with its Secret is created", [secret("key", "k1"), key], [], ["Create", "Create"]],
  ["a key with its pending Secret, too", [secret("key-next", "k2"), key], [], ["Create", "Create"]],
  ["a key finds its Secret in the cluster", [key], [secret("key", "k1")], ["Create"]],
  ["a key without a Secret is left out", [key], [], [/^LeaveOut neither the file nor the cluster/]],
  [
    "a restored key exists",
    [secret("key", "k1"), key],
    [secret("key", "k1"), keyWith("k1")],
    ["Exists", "Exists"],
  ],
  [
    "a delivered key is not pending again",
    [secret("key", "k1"), secret("key-next", "k2"), key],
    [secret("key", "k2"), keyWith("k2")],
    ["Exists", "Exists", "Exists"],
  ],
  [
    "a later key is refused",
    [secret("key", "k1"), key],
    [secret("key", "k3"), keyWith("k3")],
    ["Refuse holds key k3, not key k1", /^Refuse has key k3, not k1: /],
  ],
  [
    "a Secret of another owner is refused",
    [secret("key", "k1")],
    [{ ...secret("key", "k1"), metadata: { name: "key", namespace: "team-a" } }],
    ["Refuse holds something else, not key k1"],
  ],
  ["an object that is being deleted is refused", [key], [dying], [/^Refuse is being deleted/]],
  ["an account is created by its ID", [account("sa-1")], [], ["Create"]],
  [
    "nothing creates an account, or waits for one",
    [account(undefined), key, secret("key", "k1")],
    [secret("key", "k1")],
    [/^LeaveOut the operator would create/, /^LeaveOut iamsa\/ci in namespace team-a is/, "Exists"],
  ],
  [
    "another account is refused",
    [account("sa-1")],
    [account("sa-2")],
    ["Refuse has account sa-2, not sa-1"],
  ],
  [
    "a manifest that is not from a backup is refused for an object with an account",
    [account(undefined)],
    [account("sa-2")],
    [
      /^Refuse has account sa-2, and the file names no account: restore is for the files of kubectl/,
    ],
  ],
  [
    "an object without its account is refused",
    [account("sa-1")],
    [account(undefined)],
    [/^Refuse exists without account sa-1/],
  ],
  [
    "an account of another object is refused",
    [account("sa-1")],
    [iam("ServiceAccount", "other", { spec: {}, status: { saId: "sa-1" } })],
    ["Refuse would share account sa-1 with iamsa/other in namespace team-a"],
  ],
])("%s", async (_, file, stored, expected) => {
  const found = await verdicts(file, stored);
  expect(found).toEqual(
    expected.map((each) => (typeof each === "string" ? each : expect.stringMatching(each))),
  );
});

const ready = { conditions: [{ type: "Ready", status: "True", reason: "KeyDelivered" }] };
const outcome = (object: FileObject, now: FileObject | undefined) =>
  outcomeOf(
    { kind: "Create", object, keyIds: ["k1", "k2"] },
    now as (KubeObject & { kind: string }) | undefined,
  );

test.each([
  ["with the key of the backup", { ...ready, current: { keyId: "k1" } }, true, 0],
  ["with the pending key of the backup", { ...ready, current: { keyId: "k2" } }, true, 0],
  ["that is not ready", { current: { keyId: "k1" } }, false, 0],
  ["with a new key", { ...ready, current: { keyId: "k3" } }, false, 1],
  [
    "with a new pending key",
    { ...ready, current: { keyId: "k1" }, pending: { keyId: "k3" } },
    true,
    1,
  ],
])("an ApiKey %s is counted", (_, status, isReadyKey, newKeys) => {
  const found = outcome(key, iam("ApiKey", "key", { status }));
  expect([found.isReadyKey, found.newKeys.length]).toEqual([isReadyKey, newKeys]);
});

test.each([
  ["sa-1", 0],
  ["sa-2", 1],
])("account %s of a restored object is counted", (saId, count) => {
  const now = iam("ServiceAccount", "ci", { status: { saId } });
  expect(outcome(account("sa-1"), now).newAccounts).toHaveLength(count);
});

test.each<[string, readonly FileObject[], object, readonly string[]]>([
  ["is not permitted", [], { names: ["team-a"] }, ["team-a"]],
  [
    "is permitted by the name of a namespace that is restored, too",
    [],
    { selector: { matchLabels: { "kubernetes.io/metadata.name": "team-a" } } },
    [],
  ],
  ["exists and was created here", [account(undefined)], { names: ["team-a"] }, []],
  ["exists and was imported", [account("sa-1")], { names: ["team-a"] }, ["team-a"]],
])(
  "an account that %s needs a grant only for an import",
  async (_, stored, namespaces, lacking) => {
    const isSelected = "selector" in namespaces;
    const grants = [
      { namespaces: { all: true } },
      { namespaces, importServiceAccounts: isSelected },
    ];
    const connection = iam("ClusterConnection", "default", { spec: { grants } });
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team-a" } };
    const gaps = await findImportGaps(clusterOf(stored), [namespace, connection, account("sa-1")]);
    expect(gaps.flatMap((gap) => gap.namespaces)).toEqual(lacking);
  },
);
