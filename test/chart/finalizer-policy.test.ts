/** What the chart's MutatingAdmissionPolicy does with new ApiKeys, on a real API server. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NAMESPACE, renderChart } from "../../scripts/chart/helm.ts";
import { FINALIZER } from "../../src/api/meta.ts";
import { until } from "../process/support/until.ts";
import { type Cluster, install, startCluster } from "./support/cluster.ts";

const WANTED = "--set=admissionPolicy.finalizers=true";
const OFFERED = "--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy";

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster();
  await cluster.createNamespaces("team-a", "team-b");
  const scope = "--set=scope.namespaces={team-a}";
  await cluster.helmDo(...install("iam-operator", NAMESPACE, "--create-namespace", WANTED, scope));
  // A policy is in force some moments after it was created; until it knows the kind, it lets nothing pass.
  const isInForce = () =>
    finalizersOf("team-a", {}, {}, "--dry-run=server").then(
      (finalizers) => finalizers.length > 0,
      () => false,
    );
  await until("the policy to be in force", isInForce);
});
afterAll(async () => cluster?.stop());

let created = 0;

async function finalizersOf(
  namespace: string,
  metadata: object,
  spec: object,
  ...flags: readonly string[]
): Promise<readonly string[]> {
  created += 1;
  const manifest = {
    apiVersion: "iam-operator.io/v1alpha1",
    kind: "ApiKey",
    metadata: { name: `key-${created}`, namespace, ...metadata },
    spec: { serviceAccountRef: { name: "bot" }, ...spec },
  };
  const args = ["create", "-f", "-", "-o=json", ...flags];
  const answer = await cluster.asAdmin(args, JSON.stringify(manifest));
  return JSON.parse(answer).metadata.finalizers ?? [];
}

test.each<readonly [string, string, object, object, readonly string[]]>([
  ["an ApiKey", "team-a", {}, {}, [FINALIZER]],
  [
    "one with annotations, and a finalizer of somebody else",
    "team-a",
    { annotations: { "example.com/note": "x" }, finalizers: ["example.com/theirs"] },
    { suspend: false },
    ["example.com/theirs", FINALIZER],
  ],
  ["one that has it", "team-a", { finalizers: [FINALIZER] }, {}, [FINALIZER]],
  ["a suspended one", "team-a", {}, { suspend: true }, []],
  [
    "one that is only planned for",
    "team-a",
    { annotations: { "iam-operator.io/plan-only": "true" } },
    {},
    [],
  ],
  ["one out of scope", "team-b", {}, {}, []],
])("%s is created with the finalizers that are due", async (_, namespace, metadata, spec, due) => {
  expect(await finalizersOf(namespace, metadata, spec)).toEqual(due);
});

test("a later apply of the manifest leaves the finalizer alone", async () => {
  const manifest = (expiresInDays: number) =>
    JSON.stringify({
      apiVersion: "iam-operator.io/v1alpha1",
      kind: "ApiKey",
      metadata: { name: "applied", namespace: "team-a" },
      spec: { serviceAccountRef: { name: "bot" }, expiresInDays },
    });
  for (const flags of [[], ["--server-side", "--force-conflicts"]])
    for (const days of [30, 60]) {
      const args = ["apply", "-f", "-", "-o=json", ...flags];
      const { metadata, spec } = JSON.parse(await cluster.asAdmin(args, manifest(days)));
      expect([metadata.finalizers, spec.expiresInDays]).toEqual([[FINALIZER], days]);
    }
});

describe("the policy is part of a release", () => {
  test.each([
    ["for all namespaces", "", true],
    [
      "for the namespaces that Secrets may be delivered to",
      "secrets.strict=true,secrets.namespaces={a}",
      true,
    ],
    ["but where no namespace for Secrets is known", "secrets.strict=true", false],
    ["but that which only plans", "readOnly=true", false],
    ["but that which shares the work by labels", "scope.selector=team=a", false],
    ["but without admission policies", "admissionPolicy.create=false", false],
  ])("%s", async (_, set, isThere) => {
    const text = await renderChart(cluster.helm, { args: [OFFERED, WANTED, `--set=${set}`] });
    expect(text.includes("kind: MutatingAdmissionPolicy\n")).toBe(isThere);
  });

  test.each([
    ["where nobody wants it", OFFERED],
    ["where the API server does not offer it", WANTED],
  ])("and not %s", async (_, arg) => {
    const text = await renderChart(cluster.helm, { args: [arg] });
    expect(text).not.toContain("MutatingAdmissionPolicy");
  });
});
