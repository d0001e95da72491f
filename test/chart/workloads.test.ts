/** What the admission policy lets the operator do with workloads, on a real API server. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NAMESPACE } from "../../scripts/chart/helm.ts";
import { rolloutCrd } from "../support/rollout-crd.ts";
import { type Cluster, install, startCluster } from "./support/cluster.ts";
import { workloadKinds, workloadManifest } from "./support/workloads.ts";

const RESTART = {
  "iam-operator.io/restarted-at": "2026-01-01T00:00:00Z",
  "content.iam-operator.io/key": "0123456789abcdef",
};
const REFUSAL = "changes nothing of a workload but its own annotations of the Pod template";

let cluster: Cluster;
const kubectl = (args: readonly string[], input?: string) => cluster.asAdmin(args, input);
const asOperator = (...args: readonly string[]) =>
  kubectl([...args, `--as=system:serviceaccount:${NAMESPACE}:iam-operator`]);
const change = (kind: string, what: object, ...flags: readonly string[]) =>
  asOperator(
    "patch",
    kind,
    "api",
    "-n=team-a",
    "--type=merge",
    `-p=${JSON.stringify(what)}`,
    ...flags,
  );
const annotated = (annotations: object) => ({ spec: { template: { metadata: { annotations } } } });

beforeAll(async () => {
  cluster = await startCluster();
  await cluster.createNamespaces("team-a", "team-b");
  await kubectl(["create", "-f", "-"], JSON.stringify(rolloutCrd));
  const settings = [
    "consumers.mode=restart",
    "consumers.argoRollouts=true",
    "secrets.strict=true",
    "secrets.namespaces={team-a}",
  ];
  const sets = settings.map((each) => `--set=${each}`);
  await cluster.helmDo(...install("iam-operator", NAMESPACE, "--create-namespace", ...sets));
  // More than the chart gives it, so that the policy alone decides.
  const subject = `--serviceaccount=${NAMESPACE}:iam-operator`;
  await kubectl(["create", "clusterrolebinding", "all", "--clusterrole=cluster-admin", subject]);
  for (const kind of workloadKinds)
    for (const namespace of ["team-a", "team-b"]) {
      const { spec, ...rest } = workloadManifest(kind, "api", namespace) as { spec: Template };
      spec.template.metadata.annotations = { "example.com/note": "theirs" };
      await kubectl(["create", "-f", "-"], JSON.stringify({ ...rest, spec }));
    }
  for (const namespace of ["team-a", "team-b"])
    await kubectl(["create", "-f", "-"], JSON.stringify(rolloutManifest("api", namespace)));
  const isHeld = () =>
    change("deployment", { metadata: { labels: { probe: "x" } } }, "--dry-run=server").then(
      () => false,
      () => true,
    );
  for (let tries = 0; !(await isHeld()) && tries < 100; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 100));
});
afterAll(async () => cluster?.stop());

function rolloutManifest(name: string, namespace: string): object {
  const { spec } = workloadManifest("Deployment", name, namespace) as { spec: object };
  const metadata = { name, namespace, labels: { app: name } };
  return { apiVersion: "argoproj.io/v1alpha1", kind: "Rollout", metadata, spec };
}

interface Template {
  readonly template: { readonly metadata: { annotations?: object } };
}

describe.each(workloadKinds.map((kind) => kind.toLowerCase()))("a %s", (kind) => {
  test("may be restarted, and again", async () => {
    await change(kind, annotated(RESTART));
    await change(kind, annotated({ "iam-operator.io/restarted-at": "2026-01-02T00:00:00Z" }));
    const path = "-o=jsonpath={.spec.template.metadata.annotations}";
    const found = JSON.parse(await kubectl(["get", kind, "api", "-n=team-a", path]));
    expect(found).toMatchObject({
      "example.com/note": "theirs",
      ...RESTART,
      "iam-operator.io/restarted-at": "2026-01-02T00:00:00Z",
    });
  });

  test.each<[string, object]>([
    ["another annotation of the Pods", annotated({ "example.com/other": "x" })],
    ["an annotation of somebody else", annotated({ "example.com/note": "ours" })],
    ["the loss of somebody else's", annotated({ "example.com/note": null })],
    ["a label of the Pods", { spec: { template: { metadata: { labels: { x: "y" } } } } }],
    [
      "another image",
      { spec: { template: { spec: { containers: [{ name: "app", image: "evil" }] } } } },
    ],
    ["another account", { spec: { template: { spec: { serviceAccountName: "admin" } } } }],
    ["the workload's own annotations", { metadata: { annotations: RESTART } }],
    ["an owner", { metadata: { finalizers: ["example.com/hold"] } }],
    ["how much is kept of its history", { spec: { revisionHistoryLimit: 3 } }],
  ])("may not get %s", async (_, what) => {
    await expect(change(kind, what)).rejects.toThrow(REFUSAL);
  });

  test("may not be deleted, nor another one made", async () => {
    await expect(asOperator("delete", kind, "api", "-n=team-a")).rejects.toThrow("denied");
    const name = workloadKinds.find((each) => each.toLowerCase() === kind) ?? "Deployment";
    const other = JSON.stringify(workloadManifest(name, "other", "team-a"));
    const create = ["create", "-f", "-", `--as=system:serviceaccount:${NAMESPACE}:iam-operator`];
    await expect(kubectl(create, other)).rejects.toThrow("denied");
  });

  test("may not be restarted where the operator writes no Secrets", async () => {
    const patch = `-p=${JSON.stringify(annotated(RESTART))}`;
    await expect(
      asOperator("patch", kind, "api", "-n=team-b", "--type=merge", patch),
    ).rejects.toThrow("was not given this namespace");
  });

  test("is everybody else's to change", async () => {
    const scale = kind === "daemonset" ? { minReadySeconds: 3 } : { replicas: 3 };
    const patch = `-p=${JSON.stringify({ spec: scale })}`;
    await kubectl(["patch", kind, "api", "-n=team-a", "--type=merge", patch]);
  });
});

describe("a Rollout", () => {
  const restart = { spec: { restartAt: "2026-01-01T00:00:00Z" } };

  test("may be restarted, and again", async () => {
    await change("rollout", restart);
    await change("rollout", { spec: { restartAt: "2026-01-02T00:00:00Z" } });
    const path = "-o=jsonpath={.spec.restartAt}";
    expect(await kubectl(["get", "rollout", "api", "-n=team-a", path])).toBe(
      "2026-01-02T00:00:00Z",
    );
  });

  test.each<[string, object]>([
    ["annotations of the Pods", annotated(RESTART)],
    ["annotations", { metadata: { annotations: RESTART } }],
    ["a label", { metadata: { labels: { x: "y" } } }],
    ["a finalizer", { metadata: { finalizers: ["example.com/hold"] } }],
    ["another number of Pods", { spec: { replicas: 3 } }],
    ["its strategy skipped", { spec: { paused: false } }],
    ["no selector", { spec: { selector: null } }],
  ])("may not get %s", async (_, what) => {
    await expect(change("rollout", what)).rejects.toThrow(
      "changes nothing of a Rollout but restartAt",
    );
  });

  test("may not be deleted, nor another one made", async () => {
    await expect(asOperator("delete", "rollout", "api", "-n=team-a")).rejects.toThrow("denied");
    const create = ["create", "-f", "-", `--as=system:serviceaccount:${NAMESPACE}:iam-operator`];
    const other = JSON.stringify(rolloutManifest("other", "team-a"));
    await expect(kubectl(create, other)).rejects.toThrow("denied");
  });

  test("may not be restarted where the operator writes no Secrets", async () => {
    const patch = `-p=${JSON.stringify(restart)}`;
    await expect(
      asOperator("patch", "rollout", "api", "-n=team-b", "--type=merge", patch),
    ).rejects.toThrow("was not given this namespace");
  });
});

test.each(["workloads", "rollouts"])(
  "the API server finds nothing wrong with the types of the policy for %s",
  async (name) => {
    const path = "-o=jsonpath={.status.observedGeneration} {.status.typeChecking}";
    const policy = ["get", "validatingadmissionpolicy", `iam-operator-${name}`, path];
    const judged = async () => (await kubectl(policy)).startsWith("1 ");
    for (let tries = 0; !(await judged()) && tries < 100; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await kubectl(policy)).toBe("1 {}");
  },
);
