/** Rules of the chart that matter to its users, each by itself; the golden files compare the rest. Needs no API server. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { findHelm, renderChart } from "../../scripts/chart/helm.ts";
import { kinds } from "../../src/api/kinds.ts";
import { permissionsOf } from "./support/permissions.ts";

const folder = join(import.meta.dirname, "values");
const valueSets = readdirSync(folder).map((name) => name.replace(".yaml", ""));
/** With every admission policy. */
const RESTARTS = "--set=consumers.mode=restart,consumers.argoRollouts=true";

let helm: string;
beforeAll(async () => {
  helm = await findHelm();
});

const render = (...args: readonly string[]) => renderChart(helm, { args });

async function objects(kind: string, ...args: readonly string[]): Promise<readonly Manifest[]> {
  const documents = parseAllDocuments(await render(...args));
  return documents
    .map((document) => document.toJS() as Manifest | null)
    .filter((object) => object !== null && object.kind === kind) as Manifest[];
}

describe("permissions", () => {
  const LOGIN = "@iam-operator-system: get secrets [console-login]";

  test.each<[string, string, readonly string[]]>([
    ["all namespaces", "", ["@cluster: get,create,patch,delete secrets"]],
    [
      "all namespaces with a watch",
      "secrets.watch=true",
      ["@cluster: get,create,patch,delete,list,watch secrets"],
    ],
    ["all namespaces, strict", "secrets.strict=true", [LOGIN]],
    [
      "all namespaces, Secrets in one",
      "secrets.strict=true,secrets.namespaces={a}",
      [LOGIN, "@a: get,create,patch,delete secrets"],
    ],
    [
      "listed namespaces",
      "scope.namespaces={a,b}",
      [
        "@a: get,create,patch,delete,list,watch secrets",
        "@b: get,create,patch,delete,list,watch secrets",
      ],
    ],
    [
      "listed namespaces, strict",
      "scope.namespaces={a,b},secrets.strict=true,secrets.namespaces={a}",
      ["@a: get,create,patch,delete secrets"],
    ],
    ["all namespaces, only plans", "readOnly=true", ["@cluster: get secrets"]],
  ])("on Secrets with the scope %s are these", async (_, set, expected) => {
    const lines = permissionsOf(await render(`--set=${set}`));
    const onSecrets = lines.filter((line) => / @\S+: \S+ secrets( \[|$)/.test(line));
    expect(onSecrets.map((line) => line.slice(line.indexOf("@")))).toEqual(expected);
  });

  test.each(valueSets)("have no wildcard with the values %s", async (name) => {
    const rendering = await render(`--values=${join(folder, `${name}.yaml`)}`);
    const lines = permissionsOf(rendering).filter((line) => / @\S+: /.test(line));
    expect(lines.filter((line) => line.includes("*"))).toEqual([]);
  });
});

describe("admission policies", () => {
  test("deny the request if a rule is violated or cannot be evaluated", async () => {
    const policies = await objects("ValidatingAdmissionPolicy", RESTARTS);
    const bindings = await objects("ValidatingAdmissionPolicyBinding", RESTARTS);
    expect(policies.map(({ spec }) => spec.failurePolicy)).toEqual(Array(6).fill("Fail"));
    expect(bindings.map(({ spec }) => spec)).toEqual(
      policies.map(({ metadata }) => ({ policyName: metadata.name, validationActions: ["Deny"] })),
    );
  });

  test.each<[string, readonly string[], readonly string[]]>([
    ["secrets", ["secrets"], ["CREATE", "UPDATE", "DELETE"]],
    ["workloads", ["deployments", "statefulsets", "daemonsets"], ["CREATE", "UPDATE", "DELETE"]],
    ["rollouts", ["rollouts"], ["CREATE", "UPDATE", "DELETE"]],
    ["specs", kinds.map(({ plural }) => plural), ["UPDATE"]],
    ["statuses", kinds.map(({ plural }) => `${plural}/status`), ["UPDATE"]],
    ["intents", ["apikeys", "serviceaccounts"], ["UPDATE"]],
  ])("the one for %s covers all of these resources", async (name, resources, operations) => {
    const policies = await objects("ValidatingAdmissionPolicy", RESTARTS);
    const policy = policies.find(({ metadata }) => metadata.name === `iam-operator-${name}`);
    const [rule] = policy?.spec.matchConstraints.resourceRules ?? [];
    const isCovered = (resource: string) =>
      rule.resources.some((each: string) => each === resource || each === everyPart(resource));
    expect(resources.filter((resource) => !isCovered(resource))).toEqual([]);
    expect(rule.operations).toEqual(operations);
  });

  /** `*` for a resource, or the same part of every resource. */
  function everyPart(resource: string): string {
    return resource.replace(/^[^/]+/, "*");
  }
});

describe("every Pod", () => {
  const pods = async () => {
    const [deployment] = await objects("Deployment");
    const [pod] = await objects("Pod");
    return [deployment?.spec.template.spec, pod?.spec];
  };

  test("runs without privileges, a writable root or a token of its own", async () => {
    for (const pod of await pods()) {
      expect(pod.automountServiceAccountToken).toBe(false);
      expect(pod.containers).not.toEqual([]);
      for (const { securityContext } of pod.containers)
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
    }
  });

  test("of the operator has /readyz as its readiness probe and /healthz as the others", async () => {
    const [{ containers }] = await pods();
    const [{ startupProbe, livenessProbe, readinessProbe, ports }] = containers;
    const paths = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet);
    expect(paths).toEqual(
      ["/healthz", "/healthz", "/readyz"].map((path) => ({ path, port: "probes" })),
    );
    expect(ports).toContainEqual({ name: "probes", containerPort: 8081 });
  });
});

test.each([2, 3])(
  "one of %i replicas can be evicted at a time, so a node can be drained",
  async (replicas) => {
    const [budget] = await objects("PodDisruptionBudget", `--set=replicas=${replicas}`);
    const { maxUnavailable, minAvailable = replicas - maxUnavailable } = budget?.spec ?? {};
    expect(minAvailable).toBe(replicas - 1);
  },
);

test.each(["console", "apiServer"])(
  "the NetworkPolicy lets the operator reach only the given networks of the %s",
  async (side) => {
    const cidr = "192.0.2.0/24";
    const set = `networkPolicy.${side}.cidrs={${cidr}},networkPolicy.${side}.ports={12345}`;
    const [policy] = await objects("NetworkPolicy", `--set=${set}`);
    expect(policy?.spec.policyTypes).toEqual(["Ingress", "Egress"]);
    const rules = policy?.spec.egress.filter(({ ports }: Egress) =>
      ports.some((each) => each.port === 12_345),
    );
    expect(rules).toEqual([
      { ports: [{ port: 12_345, protocol: "TCP" }], to: [{ ipBlock: { cidr } }] },
    ]);
  },
);

interface Egress {
  readonly ports: readonly { readonly port: number }[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  // biome-ignore lint/suspicious/noExplicitAny: of any kind
  readonly spec: any;
}
