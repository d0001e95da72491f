/** What a backup keeps, without a cluster. */
import { describe, expect, test } from "vitest";
import { clusterConnectionKind, type Grant } from "../../../src/api/connection.ts";
import { effectiveGrant } from "../../../src/kinds/connection/rules/effective-grant.ts";
import { forgottenKeys, gapsOf } from "../../../src/kubectl-iam/backup/gaps.ts";
import { lackImports, withImports } from "../../../src/kubectl-iam/backup/imports.ts";
import { inOrder, toManifest } from "../../../src/kubectl-iam/backup/manifest.ts";
import type { World } from "../../../src/kubectl-iam/cluster/read.ts";

const API = "iam-operator.io/v1alpha1";

test("superseded keys are counted, and named if their ServiceAccount does not exist", () => {
  const key = (serviceAccount: string) => ({
    metadata: { name: `of-${serviceAccount}`, namespace: "n" },
    spec: { serviceAccountRef: { name: "ci" } },
    status: {
      current: { keyId: "k1", serviceAccount: "ci" },
      superseded: [{ keyId: "k0", serviceAccount, state: "Live" }],
    },
  });
  const world = { serviceAccounts: [{ metadata: { name: "ci", namespace: "n" } }] };
  const remarks = (serviceAccount: string) =>
    forgottenKeys({ ...world, apiKeys: [key(serviceAccount)] } as unknown as World);
  expect(remarks("ci")).toEqual([expect.stringMatching(/^Superseded and orphaned keys: 1\. /)]);
  expect(remarks("gone")).toEqual([
    expect.stringMatching(/^Superseded and orphaned keys: 1\. /),
    expect.stringContaining(": k0 (iamkey/of-gone, superseded)."),
  ]);
});

test.each([
  ["reports no key", { observedGeneration: 1 }, " does not have a key yet, so restore"],
  ["reports a key", { observedGeneration: 1, current: { keyId: "k" } }, ": Secret a does not hold"],
  ["reports nothing", undefined, ": Secret a does not hold"],
])("of an ApiKey without a Secret that %s, the gap says so", (_, status, text) => {
  const metadata = { name: "a", namespace: "n" };
  const apiKey = { kind: "ApiKey", metadata, spec: { serviceAccountRef: { name: "ci" } }, status };
  const world = { serviceAccounts: [], apiKeys: [apiKey] } as unknown as World;
  expect(gapsOf(world, [])).toEqual([expect.stringContaining(text)]);
});

describe("a manifest", () => {
  test("keeps what a user writes", () => {
    const object = {
      apiVersion: API,
      kind: "ApiKey",
      metadata: {
        name: "one",
        namespace: "team-a",
        uid: "u",
        resourceVersion: "7",
        generation: 3,
        creationTimestamp: "2026-01-01T00:00:00Z",
        finalizers: ["iam-operator.io/finalizer"],
        ownerReferences: [],
        managedFields: [],
        labels: { team: "a" },
        annotations: {
          "iam-operator.io/intent": "{}",
          "iam-operator.io/rotate-requested-at": "now",
          "iam-operator.io/reconcile-requested-at": "now",
          "kubectl.kubernetes.io/last-applied-configuration": "{}",
          "iam-operator.io/plan-only": "true",
        },
      },
      spec: { serviceAccountRef: { name: "ci" } },
      status: { current: {} },
    };
    expect(toManifest(object)).toEqual({
      apiVersion: API,
      kind: "ApiKey",
      metadata: {
        name: "one",
        namespace: "team-a",
        labels: { team: "a" },
        annotations: { "iam-operator.io/plan-only": "true" },
      },
      spec: { serviceAccountRef: { name: "ci" } },
    });
  });

  const account = (spec: object, status?: object) =>
    toManifest({
      apiVersion: API,
      kind: "ServiceAccount",
      metadata: { name: "ci" },
      spec,
      status,
    } as never).spec;

  test.each([
    ["a created account", {}, { saId: "sa-1" }, { saId: "sa-1", deletionPolicy: "Revoke" }],
    [
      "a created account that is to stay",
      { deletionPolicy: "Retain" },
      { saId: "sa-1" },
      { saId: "sa-1", deletionPolicy: "Retain" },
    ],
    ["an imported account", { saId: "sa-1" }, { saId: "sa-1" }, { saId: "sa-1" }],
    ["no account", { name: "ci" }, undefined, { name: "ci" }],
  ])("of %s deletes as the object did", (_, spec, status, kept) => {
    expect(account(spec, status)).toEqual(kept);
  });

  test("of a namespace has its labels only", () => {
    const labels = { "kubernetes.io/metadata.name": "team-a", team: "a" };
    const metadata = { name: "team-a", labels, annotations: { note: "x" } };
    const spec = { finalizers: ["kubernetes"] };
    expect(toManifest({ apiVersion: "v1", kind: "Namespace", metadata, spec })).toEqual({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "team-a", labels: { team: "a" } },
    });
  });
});

test("an ApiKey comes after its Secret", () => {
  const object = (kind: string) => ({ apiVersion: "v1", kind, metadata: { name: "one" } });
  const kinds = inOrder(["ApiKey", "ServiceAccount", "Secret"].map(object)).map(({ kind }) => kind);
  expect(kinds).toEqual(["Secret", "ServiceAccount", "ApiKey"]);
});

describe("the grant for imports", () => {
  const parse = (grants: readonly object[]) =>
    clusterConnectionKind.spec.shape.grants.parse(grants) as readonly Grant[];
  const rights = (grants: readonly Grant[], name: string) =>
    effectiveGrant({ grants: [...grants], withdrawalGracePeriod: "10m" }, name, { team: "a" });
  const team = {
    name: "team",
    namespaces: { selector: { matchLabels: { team: "a" } } },
    policyIds: ["pol-read"],
    maxServiceAccounts: 2,
    maxIssuesPerDay: 5,
    maxExpiresInDays: 30,
  };
  const unlimited = { name: "all", namespaces: { names: ["team-a"] } };

  test.each([
    ["with limits", [team]],
    ["without limits", [team, unlimited]],
  ])("changes nothing else of a grant %s", (_, given) => {
    const grants = parse(given) as Grant[];
    const more = parse(withImports(grants, ["team-a"]));
    expect(rights(more, "team-a")).toEqual({
      ...rights(grants, "team-a"),
      importServiceAccounts: true,
    });
    expect(rights(more, "team-b")).toEqual(rights(grants, "team-b"));
  });

  test("names a namespace that joins later, too", () => {
    const twice = withImports(withImports([], ["b"]), ["a"]);
    expect(twice.map(({ namespaces }) => namespaces.names)).toEqual([["a", "b"]]);
  });

  test("is for namespaces that can use the connection and cannot import", () => {
    const grants = parse([team, { ...unlimited, importServiceAccounts: true }]) as Grant[];
    const namespaces = [
      { name: "team-a", labels: { team: "a" } },
      { name: "team-b", labels: { team: "a" } },
      { name: "team-c", labels: {} },
      { name: "team-d", labels: undefined },
    ];
    expect(lackImports(grants, namespaces)).toEqual(["team-b"]);
  });
});
