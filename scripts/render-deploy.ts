/** Writes deploy/ (a kustomize base) from the chart; with --check, only says what is not up to date. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { findHelm, NAMESPACE, renderChart } from "./chart/helm.ts";

const root = join(import.meta.dirname, "..");
const check = process.argv.includes("--check");
const stale: string[] = [];

const documents = splitDocuments(await renderChart(await findHelm(), { args: ["--skip-tests"] }));
const isRight = (text: string) => /^kind: (Cluster)?Role$/m.test(text) && !isForUsers(text);
const isDefinition = (text: string) => text.includes("kind: CustomResourceDefinition");

keep("deploy/kustomization.yaml", kustomization());
keep("deploy/namespace.yaml", namespace());
keep("deploy/crds.yaml", definitions());
keep(
  "deploy/rbac/operator.yaml",
  file(
    "What the operator may do. Bind both roles to the identity that it runs as.",
    documents.filter(isRight),
  ),
);
keep(
  "deploy/operator.yaml",
  file(
    "The operator with what belongs to it; its rights are in rbac/.",
    documents.filter((text) => !isRight(text) && !isDefinition(text)),
  ),
);

if (check && stale.length > 0) {
  console.error(`not up to date, run npm run generate:\n${stale.join("\n")}`);
  process.exitCode = 1;
}

/** Without what only helm needs. */
function splitDocuments(text: string): readonly string[] {
  return text
    .split(/^---$/m)
    .map((document) =>
      document
        .replace(/^# Source: .*\n/m, "")
        .replace(/^ +(helm\.sh\/chart: .*|app\.kubernetes\.io\/managed-by: Helm)\n/gm, "")
        .trim(),
    )
    .filter((document) => document !== "");
}

function isForUsers(text: string): boolean {
  return text.includes("rbac.authorization.k8s.io/aggregate-to-");
}

function file(opening: string, parts: readonly string[]): string {
  return `# Generated from charts/iam-operator; do not edit.\n# ${opening}\n${parts.join("\n---\n")}\n`;
}

function definitions(): string {
  const source = join(root, "crds");
  const parts = readdirSync(source)
    .toSorted()
    .map((name) =>
      readFileSync(join(source, name), "utf8")
        .replace(/^#.*\n/, "")
        .trim(),
    );
  return file("The custom resource definitions.", parts);
}

function namespace(): string {
  return file("Where the operator runs. Its Pods need no exception from the restricted standard.", [
    `apiVersion: v1
kind: Namespace
metadata:
  name: ${NAMESPACE}
  labels:
    pod-security.kubernetes.io/enforce: restricted`,
  ]);
}

function kustomization(): string {
  return file("kubectl apply --server-side -k deploy, or a base of your own kustomization.", [
    `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - namespace.yaml
  - crds.yaml
  - rbac/operator.yaml
  - operator.yaml`,
  ]);
}

function keep(path: string, text: string): void {
  if (read(path) === text) return;
  stale.push(path);
  if (check) return;
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
  console.log(`wrote ${path}`);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(join(root, path), "utf8");
  } catch {
    return undefined;
  }
}
