/** Whatever values the schema accepts: they render, as text where Kubernetes wants text, and the API server accepts the result. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { CHART, findHelm, runHelm } from "../../scripts/chart/helm.ts";
import { documentedValues } from "../../scripts/chart/readme.ts";
import { effort } from "../setup/effort.ts";
import { anyRelease, anyValues, NAMESPACES } from "./support/any-values.ts";
import { type Cluster, startCluster } from "./support/cluster.ts";

let helm: string;
let folder: string;
beforeAll(async () => {
  helm = await findHelm();
  folder = mkdtempSync(join(tmpdir(), "iam-operator-values-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const noCRDs = { crds: { install: false } };

async function render(values: object, release = "iam-operator", namespace = "team-a") {
  const file = join(folder, "values.json");
  writeFileSync(file, JSON.stringify(values));
  const args = ["template", release, CHART, `--namespace=${namespace}`, `--values=${file}`];
  const { code, stdout, stderr } = await runHelm(helm, [...args, ...MONITORS]);
  return code === 0 ? stdout : new Error(stderr);
}

const MONITORS = [
  "--api-versions=monitoring.coreos.com/v1",
  "--api-versions=iam-operator.io/v1alpha1/ClusterConnection",
];

/** Values that contradict each other, in the chart's own words: they begin with the name of a value. */
const REFUSAL = /execution error at \(.*\): [a-z][A-Za-z.]+(: | needs )/;

const anyInstallation = fc.record({
  values: anyValues,
  release: anyRelease,
  namespace: fc.constantFrom(...NAMESPACES),
});

type Json = Readonly<Record<string, unknown>>;

/** As Kubernetes reads it: YAML 1.1, in which `on` is true and 12e4 a number. */
function objectsIn(text: string): readonly Json[] {
  return parseAllDocuments(text, { version: "1.1", merge: false, uniqueKeys: true }).flatMap(
    (document) => {
      if (document.errors.length > 0) throw document.errors[0];
      const object = document.toJS() as Json | null;
      return object === null ? [] : [object];
    },
  );
}

const TEXTS = new Set([
  "name",
  "namespace",
  "labels",
  "annotations",
  "matchLabels",
  "matchNames",
  "nodeSelector",
  "args",
  "resourceNames",
  "value",
  "serverName",
  "serviceAccountName",
  "image",
  "policyName",
  "secretName",
]);

/** Without the schema of a CRD, which has properties with such names. */
function described({ spec, ...rest }: Json): Json {
  return rest.kind === "CustomResourceDefinition" ? rest : { ...rest, spec };
}

/** The paths of what has to be text, and is not. */
function otherThanText(value: unknown, path: string, isText = false): readonly string[] {
  if (value === null || value === undefined) return isText ? [path] : [];
  if (typeof value !== "object") return isText && typeof value !== "string" ? [path] : [];
  return Object.entries(value).flatMap(([key, child]) =>
    otherThanText(
      child,
      `${path}.${key}`,
      (isText && !Array.isArray(child)) || isTextAt(key, value),
    ),
  );
}

function isTextAt(key: string, parent: object): boolean {
  return TEXTS.has(key) && !Array.isArray(parent);
}

test("every combination of values renders, with text for every name, namespace and label, or is refused in words", async () => {
  let refused = 0;
  let all = 0;
  await fc.assert(
    fc.asyncProperty(anyInstallation, async ({ values, release, namespace }) => {
      all += 1;
      const text = await render(values, release, namespace);
      if (text instanceof Error) {
        expect(text.message).toMatch(REFUSAL);
        refused += 1;
        return;
      }
      const objects = objectsIn(text);
      expect(
        objects.flatMap((object) => otherThanText(described(object), String(object.kind))),
      ).toEqual([]);
      expect(objects.filter(({ kind, apiVersion }) => !kind || !apiVersion)).toEqual([]);
      // Before Kubernetes 1.36, the name of a Service is refused if it begins with a digit or has a dot.
      for (const { kind, metadata } of objects)
        if (kind === "Service") expect((metadata as Json).name).toMatch(/^[a-z][-a-z0-9]{0,62}$/);
    }),
    { numRuns: 60 * effort, endOnFailure: true },
  );
  expect(refused).toBeLessThan(all / 2);
});

const values = documentedValues(readFileSync(join(CHART, "values.yaml"), "utf8"));
const groups = new Set(
  values.flatMap(({ path }) =>
    path
      .split(".")
      .slice(0, -1)
      .map((_, at, names) => names.slice(0, at + 1).join(".")),
  ),
);

test.each([...groups, ...values.map(({ path }) => path)])(
  "%s: null means empty, or is refused in words",
  async (path) => {
    const nulled = path.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), null);
    const text = await render({ ...noCRDs, ...(nulled as object) });
    if (text instanceof Error) expect(text.message).toMatch(/missing property '\w+'/);
    else expect(objectsIn(text)).not.toEqual([]);
  },
);

describe("an API server", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
    const stubs = join(import.meta.dirname, "support/stubs.yaml");
    const crds = join(import.meta.dirname, "../../crds");
    await cluster.asAdmin(["apply", "--server-side", "-f", crds, "-f", stubs]);
    await cluster.asAdmin(["wait", "--for=condition=Established", "crd", "--all", "--timeout=20s"]);
    await cluster.createNamespaces(...NAMESPACES);
    for (const namespace of NAMESPACES)
      await cluster.asAdmin([
        "wait",
        "--for=create",
        "serviceaccount/default",
        `-n=${namespace}`,
        "--timeout=20s",
      ]);
  });
  afterAll(async () => cluster?.stop());

  const dryRun = (text: string) =>
    cluster.asAdmin(
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

  test("accepts what they render", async () => {
    await fc.assert(
      fc.asyncProperty(anyInstallation, async ({ values: drawn, release, namespace }) => {
        const text = await render(drawn, release, namespace);
        if (text instanceof Error) return;
        await dryRun(text);
      }),
      { numRuns: 12 * effort, endOnFailure: true },
    );
  });

  test.each(NAMESPACES)(
    "accepts a release, its namespace and its whole scope with the name %s",
    async (name) => {
      const text = await render(
        { scope: { namespaces: [name] }, serviceAccount: { name }, ...noCRDs },
        name,
        name,
      );
      if (text instanceof Error) throw text;
      await dryRun(text);
    },
  );

  test("admits the Pod of helm test under a quota that admits the operator", async () => {
    const hard = {
      "limits.cpu": "4",
      "limits.memory": "4Gi",
      "requests.cpu": "4",
      "requests.memory": "4Gi",
    };
    const quota = {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "all", namespace: "team-a" },
      spec: { hard },
    };
    await cluster.asAdmin(["create", "-f", "-"], JSON.stringify(quota));
    await cluster.asAdmin([
      "wait",
      "--for=jsonpath={.status.hard}",
      "resourcequota/all",
      "-n=team-a",
      "--timeout=20s",
    ]);
    const resources = {
      requests: { cpu: "20m", memory: "64Mi" },
      limits: { cpu: "500m", memory: "256Mi" },
    };
    const text = await render({ resources, ...noCRDs });
    if (text instanceof Error) throw text;
    const pods = objectsIn(text).filter(({ kind }) => kind === "Pod");
    expect(pods).toHaveLength(1);
    await cluster.asAdmin(["create", "--dry-run=server", "-f", "-"], JSON.stringify(pods[0]));
  });
});
