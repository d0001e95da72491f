/** Renderings of the chart and of deploy/, as files to read and before a real API server. */
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { CHART, renderChart } from "../../scripts/chart/helm.ts";
import { changesBetween } from "./support/changes.ts";
import { type Cluster, startCluster } from "./support/cluster.ts";

const root = join(import.meta.dirname, "../..");
const folder = join(import.meta.dirname, "values");
const valueSets = readdirSync(folder).map((name) => name.replace(".yaml", ""));

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster();
  const stubs = join(import.meta.dirname, "support/stubs.yaml");
  await cluster.asAdmin(["apply", "--server-side", "-f", join(root, "crds"), "-f", stubs]);
  await cluster.asAdmin(["wait", "--for=condition=Established", "crd", "--all", "--timeout=20s"]);
  await cluster.createNamespaces("iam-operator-system", "team-a", "team-b");
});
afterAll(async () => cluster?.stop());

describe.each(valueSets)("with the values %s", (name) => {
  const render = (...args: readonly string[]) =>
    renderChart(cluster.helm, { args: [`--values=${join(folder, `${name}.yaml`)}`, ...args] });

  test("a real API server accepts everything", async () => {
    const text = await render();
    const answer = await cluster.asAdmin(
      [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--dry-run=server",
        "--validate=strict",
        "-f",
        "-",
      ],
      text,
    );
    const wanted = parseAllDocuments(text).filter((document) => document.contents !== null);
    expect(answer.trimEnd().split("\n")).toHaveLength(wanted.length);
    expect(answer).not.toContain("Warning");
  });

  test("no container asks for an exception from the restricted standard", async () => {
    const namespace = `restricted-${name}`;
    await cluster.asAdmin(["create", "namespace", namespace]);
    await cluster.asAdmin([
      "label",
      "namespace",
      namespace,
      "pod-security.kubernetes.io/enforce=restricted",
    ]);
    for (const pod of pods(await render())) {
      // A priority class, a runtime class and a service account of its own are checked elsewhere.
      const {
        priorityClassName: _,
        serviceAccountName: __,
        runtimeClassName: ___,
        ...spec
      } = pod.spec;
      const manifest = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "pod", namespace },
        spec,
      };
      await cluster
        .asAdmin(["create", "serviceaccount", "default", `-n=${namespace}`])
        .catch(() => undefined);
      await cluster.asAdmin(["create", "--dry-run=server", "-f", "-"], JSON.stringify(manifest));
    }
  });
});

/** Names begin with the release's namespace where the operator has a scope, and as the user wants with every value set. */
const BEGINNINGS = /\b(iam-operator-system-iam-operator|vault)\b/g;

// The default rendering is deploy/.
test("a value set changes exactly these fields, permissions and names", async () => {
  const render = (name: string) =>
    renderChart(cluster.helm, {
      args: [`--values=${join(folder, `${name}.yaml`)}`, "--set=crds.install=false"],
    });
  const byDefault = await render("default");
  const sections = valueSets
    .filter((name) => name !== "default")
    .map(async (name) => {
      const text = await render(name);
      const renamed = new Set(
        text.match(/(?<=^ {2}name: "?)(iam-operator-system-|vault)[^\s"]+/gm),
      );
      const changes = changesBetween(byDefault, text.replaceAll(BEGINNINGS, "iam-operator"));
      return [`# ${name}`, ...[...renamed].toSorted(), ...changes].join("\n");
    });
  const found = `${(await Promise.all(sections)).join("\n\n")}\n`;
  await expect(found).toMatchFileSnapshot("goldens/changes.txt");
});

interface PodLike {
  readonly spec: Readonly<Record<string, unknown>>;
}

function pods(text: string): readonly PodLike[] {
  const objects = parseAllDocuments(text).map((document) => document.toJS());
  return objects.flatMap((object) => {
    if (object?.kind === "Deployment") return [object.spec.template];
    return object?.kind === "Pod" ? [object] : [];
  });
}

describe("OpenShift, which gives each namespace users of its own,", () => {
  const contexts = async (...args: readonly string[]) =>
    pods(await renderChart(cluster.helm, { args })).map(({ spec }) => spec.securityContext);
  const openshift = "--api-versions=security.openshift.io/v1";
  const left = { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } };

  test("gets no fixed user, in no Pod", async () => {
    expect(await contexts(openshift)).toEqual([left, left]);
    expect(await contexts("--set=openshift=true")).toEqual([left, left]);
  });

  test("gets one where somebody insists", async () => {
    const users = (await contexts(openshift, "--set=openshift=false")).map(
      (context) => (context as { runAsUser?: number }).runAsUser,
    );
    expect(users).toEqual([65532, 65532]);
  });
});

describe("CRDs", () => {
  const annotations = async (...args: readonly string[]) => {
    const text = await renderChart(cluster.helm, { args });
    return parseAllDocuments(text)
      .map((document) => document.toJS())
      .filter((object) => object?.kind === "CustomResourceDefinition")
      .map(({ metadata }) => metadata.annotations);
  };

  test("stay after an uninstall", async () => {
    expect(await annotations()).toEqual(Array(6).fill({ "helm.sh/resource-policy": "keep" }));
  });

  test("have annotations of the user's", async () => {
    const set = "--set=crds.keep=false,crds.annotations.team=platform";
    expect(await annotations(set)).toEqual(Array(6).fill({ team: "platform" }));
  });
});

test("listed namespaces need no cluster role where metrics are served without asking", async () => {
  const args = ["--set=scope.namespaces={team-a},metrics.secure.enabled=false"];
  const text = await renderChart(cluster.helm, { args });
  expect(text).toMatch(/^kind: Role$/m);
  expect(text).not.toMatch(/^kind: ClusterRole/m);
});

describe("deploy/", () => {
  test("is what the chart renders", async () => {
    const run = promisify(execFile);
    await run(process.execPath, ["scripts/render-deploy.ts", "--check"], { cwd: root });
  });

  test("is a kustomization that a real API server accepts", async () => {
    const answer = await cluster.asAdmin([
      "apply",
      "--server-side",
      "--force-conflicts",
      "--dry-run=server",
      "--validate=strict",
      "-k",
      join(root, "deploy"),
    ]);
    expect(answer).toContain("deployment.apps/iam-operator serverside-applied");
    expect(answer).toContain(
      "customresourcedefinition.apiextensions.k8s.io/apikeys.iam-operator.io",
    );
  });

  test("the chart's definitions are those of crds/", () => {
    expect(readdirSync(join(CHART, "files/crds"))).toEqual(readdirSync(join(root, "crds")));
  });
});
