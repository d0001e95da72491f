import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import { CHART, findHelm, renderChart, runHelm } from "../../scripts/chart/helm.ts";
import { leaseName } from "../../src/app/lease-name.ts";

let helm: string;

beforeAll(async () => {
  helm = await findHelm();
});

test("helm lint finds nothing to complain about", async () => {
  const { code, stdout } = await runHelm(helm, ["lint", "--strict", CHART]);
  expect(stdout).toContain("0 chart(s) failed");
  expect(code).toBe(0);
});

test("every value is in the schema", () => {
  const values = parse(readFileSync(join(CHART, "values.yaml"), "utf8"));
  const schema = JSON.parse(readFileSync(join(CHART, "values.schema.json"), "utf8"));
  const { global: _, enabled: __, ...properties } = schema.properties;
  expect(Object.keys(properties).toSorted()).toEqual(Object.keys(values).toSorted());
});

const connection = [
  "clusterConnection.create=true",
  "clusterConnection.spec.orgId=org-1",
  "clusterConnection.spec.domainName=acme",
].join(",");
const digest = `sha256:${"a".repeat(64)}`;

describe("accepts", () => {
  test.each([
    ["nothing at all", ""],
    ["no replica", "replicas=0"],
    ["namespaces", "scope.namespaces={team-a,team-b}"],
    ["strict in some of them", "scope.namespaces={a,b},secrets.strict=true,secrets.namespaces={a}"],
    ["strict before any namespace is known", "secrets.strict=true"],
    ["ClusterConnections beside namespaces", "scope.namespaces={a},scope.clusterConnections=true"],
    ["restarts of workloads", "consumers.mode=restart"],
    ["an operator that only plans", "readOnly=true,consumers.mode=restart"],
    ["a digest", `image.digest=${digest}`],
    ["a registry with a port", "image.repository=images.example.com:5000/a/iam-operator"],
    ["a CIDR of IPv6", "networkPolicy.console.cidrs={2001:db8::/32}"],
    ["memory as a number", "resources.limits.memory=268435456"],
    ["the least memory", "resources.limits.memory=0.125Gi"],
    ["no limit of memory", "resources.limits.memory=null"],
    ["the smallest networks", "connections.networks={10.0.0.1/32,2001:db8::1/128,::1}"],
    ["no spread", "topologySpreadConstraints=null"],
    ["user roles as a word", "userRoles.create=false"],
    ["metrics for those who may read them", "metrics.secure.enabled=true"],
    ["a receiver of traces", "tracing.endpoint=http://collector:4318,tracing.ratio=0.5"],
  ])("%s", async (_, set) => {
    await expect(renderChart(helm, { args: [`--set=${set}`] })).resolves.toContain("Deployment");
  });
});

describe("refuses", () => {
  test.each([
    ["an unknown value", "replica=2", "additional properties 'replica' not allowed"],
    ["an unknown nested one", "image.name=x", "at '/image': additional properties 'name' not"],
    ["text for a number", "replicas=two", "at '/replicas': got string, want integer"],
    ["a negative number", "replicas=-1", "at '/replicas': minimum: got -1, want 0"],
    [
      "to switch off leader election",
      "leaderElection.enabled=false",
      "'leaderElection' not allowed",
    ],
    ["a bad namespace", "scope.namespaces={Team_A}", "at '/scope/namespaces/0': 'Team_A' does"],
    ["a namespace twice", "scope.namespaces={a,a}", "items at 0 and 1 are equal"],
    [
      "text for a list",
      "scope.namespaces=a",
      "at '/scope/namespaces': got string, want null or array",
    ],
    ["another word than auto", "scope.clusterConnections=maybe", "/scope/clusterConnections"],
    [
      "Secrets outside the scope",
      "scope.namespaces={a},secrets.strict=true,secrets.namespaces={b}",
      "b is not one of scope.namespaces",
    ],
    [
      "a watch of Secrets in some namespaces of the scope",
      "secrets.watch=true,secrets.strict=true,secrets.namespaces={a}",
      "Secrets can be watched only in all of scope.namespaces",
    ],
    ["Secrets' namespaces without strict", "secrets.namespaces={a}", "secrets.strict=true"],
    ["a log level", "log.level=trace", "at '/log/level': value must be one of"],
    ["a cluster's name with a space", "clusterName=prod eu", "at '/clusterName'"],
    ["a duration without unit", "secretCheckInterval=30", "at '/secretCheckInterval'"],
    ["a stop longer than the Pod's grace", "shutdownGrace=40s", "must be more than shutdownGrace"],
    ["a receiver without http", "tracing.endpoint=collector:4318", "at '/tracing/endpoint'"],
    ["more than all traces", "tracing.ratio=2", "at '/tracing/ratio'"],
    [
      "a reader without a namespace",
      "metrics.secure.readers[0].name=prometheus",
      "/metrics/secure/readers/0",
    ],
    ["a spec that nobody reads", "clusterConnection.spec.orgId=a", "clusterConnection.create=true"],
    ["annotations of no CRD", "crds.install=false,crds.annotations.a=b", "crds.install=true"],
    [
      "annotations of no account",
      "serviceAccount.create=false,serviceAccount.annotations.a=b",
      "serviceAccount.create=true",
    ],
    [
      "a monitor of no metrics",
      "metrics.enabled=false,metrics.serviceMonitor.create=true",
      "metrics.serviceMonitor.create: has a meaning only with metrics.enabled=true",
    ],
    [
      "two monitors of the same metrics",
      "metrics.secure.enabled=false,metrics.serviceMonitor.create=true,metrics.podMonitor.create=auto",
      "create either a ServiceMonitor or a PodMonitor",
    ],
    [
      "alerts about no metrics",
      "metrics.enabled=false,metrics.prometheusRule.create=true",
      "metrics.prometheusRule.create",
    ],
    [
      "readers of open metrics",
      "metrics.secure.enabled=false,metrics.secure.readers[0].name=a,metrics.secure.readers[0].namespace=b",
      "metrics.secure.enabled=true",
    ],
    ["a proxy without http", "proxy.https=proxy:3128", "/proxy/https"],
    ["a network by name", "connections.networks={any}", "/connections/networks/0"],
    ["a network beyond /32", "connections.networks={10.0.0.0/33}", "/connections/networks/0"],
    ["a network beyond /128", "connections.networks={::/129}", "/connections/networks/0"],
    ["an address beyond 255", "connections.networks={10.0.0.256}", "/connections/networks/0"],
    ["a CIDR beyond /32", "networkPolicy.console.cidrs={10.0.0.0/33}", "/console/cidrs/0"],
    [
      "too little memory",
      "resources.limits.memory=64Mi",
      "resources.limits.memory: must be at least 128Mi, or the operator runs out of memory; it is 64Mi",
    ],
    ["less memory as a number", "resources.limits.memory=134217727", "must be at least 128Mi"],
    ["memory in thousandths", "resources.limits.memory=256m", "must be at least 128Mi"],
    ["a host without a name", "hostAliases[0].ip=192.0.2.1", "missing property 'hostnames'"],
    ["a probe's path", "livenessProbe.path=/", "additional properties 'path' not allowed"],
    ["a word for consumers", "consumers.mode=watch", "'none', 'count', 'restart'"],
    ["a pull policy", "image.pullPolicy=Sometimes", "at '/image/pullPolicy'"],
    ["a short digest", "image.digest=sha256:abc", "at '/image/digest'"],
    ["a tag in the repository", "image.repository=a@sha256:b", "at '/image/repository'"],
    [
      "an address for a CIDR",
      "networkPolicy.console.cidrs={192.0.2.1}",
      "/networkPolicy/console/cidrs/0",
    ],
    ["port 0", "networkPolicy.console.ports={0}", "minimum: got 0, want 1"],
    ["an argument that is no flag", "extraArgs={debug}", "at '/extraArgs/0'"],
    [
      "a connection without a console",
      "clusterConnection.create=true",
      "missing properties 'baseURL'",
    ],
    [
      "a connection without credentials",
      `${connection},clusterConnection.spec.baseURL=https://c.example`,
      "missing property 'credentials'",
    ],
    [
      "a connection with a password",
      `${connection},clusterConnection.spec.baseURL=https://c.example,clusterConnection.spec.credentials.password=x`,
      "additional properties 'password' not allowed",
    ],
    [
      "a connection with a misspelt field",
      `${connection},clusterConnection.spec.baseURL=https://c.example,clusterConnection.spec.baseUrl=x,clusterConnection.spec.credentials.login.secretRef.name=x`,
      "additional properties 'baseUrl' not allowed",
    ],
    [
      "a connection with a grant that has no name",
      `${connection},clusterConnection.spec.baseURL=https://c.example,clusterConnection.spec.credentials.login.secretRef.name=x,clusterConnection.spec.grants[0].namespaces.names={a}`,
      "at '/clusterConnection/spec/grants/0': missing property 'name'",
    ],
    [
      "a connection out of scope",
      `scope.namespaces={a},${connection},clusterConnection.spec.baseURL=https://c.example,clusterConnection.spec.credentials.login.secretRef.name=x`,
      "needs scope.clusterConnections=true",
    ],
  ])("%s", async (_, set, message) => {
    await expect(renderChart(helm, { args: [`--set=${set}`] })).rejects.toThrow(message);
  });
});

describe("the NetworkPolicy lets the operator out", () => {
  const egress = async (set = "") => {
    const text = await renderChart(helm, { args: set === "" ? [] : [`--set=${set}`] });
    const policy = text
      .split(/^---$/m)
      .map((each) => parse(each))
      .find((each) => each?.kind === "NetworkPolicy");
    return policy.spec.egress as readonly EgressRule[];
  };
  const allows = (rules: readonly EgressRule[], protocol: string, port: number) =>
    rules.some((rule) =>
      rule.ports?.some((each) => each.protocol === protocol && each.port === port),
    );

  // Rules are judged after the Service's address was translated: what counts is the port of the server itself.
  test.each([
    ["kubeadm, kind, EKS", 53, 6443],
    ["GKE, AKS", 53, 443],
    ["OpenShift", 5353, 6443],
    ["minikube", 53, 8443],
    ["MicroK8s", 53, 16443],
    ["k3s", 53, 6443],
  ])("of %s", async (_, dns, apiServer) => {
    const rules = await egress();
    expect(allows(rules, "UDP", dns)).toBe(true);
    expect(allows(rules, "TCP", dns)).toBe(true);
    expect(allows(rules, "TCP", apiServer)).toBe(true);
  });

  test("by any rule that the administrator adds", async () => {
    const added = { to: [{ ipBlock: { cidr: "192.0.2.7/32" } }] };
    const rules = await egress("networkPolicy.egress[0].to[0].ipBlock.cidr=192.0.2.7/32");
    expect(rules).toContainEqual(added);
  });
});

describe("a monitor with the value auto", () => {
  const kinds = async (...args: readonly string[]) =>
    [...(await renderChart(helm, { args })).matchAll(/^kind: (\w+Monitor)$/gm)].map(
      ([, kind]) => kind,
    );
  const served = "--api-versions=monitoring.coreos.com/v1";

  test.each([
    ["serviceMonitor", "ServiceMonitor"],
    ["podMonitor", "PodMonitor"],
  ])("of %s is created only if the cluster serves its kind", async (value, kind) => {
    const set = `--set=metrics.${value}.create=auto,metrics.secure.enabled=false`;
    expect(await kinds(set)).toEqual([]);
    expect(await kinds(set, served)).toEqual([kind]);
  });
});

test("namespaceOverride moves every object of the operator, and what names its namespace", async () => {
  const args = ["--namespace=parent", "--set=namespaceOverride=keys"];
  const text = await renderChart(helm, { args });
  expect(text.replaceAll("meta.helm.sh/release-namespace: parent", "")).not.toContain("parent");
  expect(text).toContain("--operator-namespace=keys");
});

describe("the heap", () => {
  test("gets three fifths of the limit, whatever an autoscaler makes of it", async () => {
    const text = await renderChart(helm);
    expect(text).toContain('value: "--max-old-space-size-percentage=60"');
  });

  test("is left alone without a limit", async () => {
    const text = await renderChart(helm, { args: ["--set=resources.limits=null"] });
    expect(text).not.toContain("NODE_OPTIONS");
  });
});

test.each(["", "env=prod", "env!=prod", "team in (a,b),!old", `a=${"x".repeat(300)}`])(
  "the operator may get and update the Lease that it uses with the selector %j, and no other",
  async (selector) => {
    const args = [`--set-string=scope.selector=${selector.replaceAll(",", "\\,")}`];
    const text = await renderChart(helm, { args });
    expect(text).toContain(`resourceNames: [${leaseName(selector)}]`);
  },
);

test("networks of Connections are a flag, and there is no flag without them", async () => {
  const args = ["--set=connections.networks={10.20.0.0/16,127.0.0.1}"];
  const text = await renderChart(helm, { args });
  expect(text).toContain("- --connection-networks=10.20.0.0/16,127.0.0.1\n");
  expect(await renderChart(helm)).not.toContain("--connection-networks");
});

test("a proxy is one of the operator's variables, and none without it", async () => {
  const settings = "proxy.https=http://proxy:3128,proxy.none=10.0.0.0/8";
  const text = await renderChart(helm, { args: [`--set=${settings}`] });
  expect(text).toMatch(/- name: HTTPS_PROXY\n +value: "http:\/\/proxy:3128"/);
  expect(text).toMatch(/- name: NO_PROXY\n +value: "10.0.0.0\/8"/);
  expect(text).not.toContain("name: HTTP_PROXY");
  expect(await renderChart(helm, {})).not.toContain("_PROXY");
});

test("an operator that only plans may write statuses, events and its lease, and nothing else", async () => {
  const text = await renderChart(helm, {
    args: ["--set=readOnly=true,consumers.mode=restart,userRoles.create=false,crds.install=false"],
  });
  const rules: readonly Rule[] = text
    .split(/^---$/m)
    .map((each) => parse(each))
    .flatMap((each) => each?.rules ?? []);
  const written = rules
    .filter(({ verbs }) => verbs.some((verb) => !["get", "list", "watch"].includes(verb)))
    .flatMap(({ resources }) => resources)
    .filter((resource) => !resource.endsWith("/status"));
  const reviews = ["subjectaccessreviews", "tokenreviews"];
  expect([...new Set(written)].toSorted()).toEqual(["events", "leases", ...reviews]);
});

interface Rule {
  readonly verbs: readonly string[];
  readonly resources: readonly string[];
}

interface EgressRule {
  readonly ports?: readonly { readonly protocol: string; readonly port: number }[];
  readonly to?: readonly unknown[];
}

/** A copy of the chart, alone or in a chart that depends on it. */
function copyChart(change: (metadata: Record<string, unknown>) => object = (same) => same): string {
  const folder = mkdtempSync(join(tmpdir(), "iam-operator-chart-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(CHART, join(folder, "iam-operator"), { recursive: true });
  const file = join(folder, "iam-operator/Chart.yaml");
  writeFileSync(file, stringify(change(parse(readFileSync(file, "utf8")))));
  return folder;
}

describe("as a dependency with the condition iam-operator.enabled, the chart", () => {
  const renderParent = async (...sets: readonly string[]) => {
    const folder = copyChart();
    const parent = join(folder, "parent");
    mkdirSync(join(parent, "charts"), { recursive: true });
    renameSync(join(folder, "iam-operator"), join(parent, "charts/iam-operator"));
    const condition = "iam-operator.enabled";
    const dependencies = [{ name: "iam-operator", version: "*", repository: "", condition }];
    const metadata = { apiVersion: "v2", name: "parent", version: "1.0.0", dependencies };
    writeFileSync(join(parent, "Chart.yaml"), stringify(metadata));
    const args = sets.map((set) => `--set=${set}`);
    return runHelm(helm, ["template", "parent", parent, "--namespace=team-a", ...args]);
  };

  test.each([
    ["true", "iam-operator.enabled=true", true],
    ["true, with a value for all charts", "iam-operator.enabled=true,global.registry=x", true],
    ["false", "iam-operator.enabled=false", false],
  ])("is rendered as the value says: %s", async (_, set, isRendered) => {
    const { code, stdout, stderr } = await renderParent(set);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.includes("kind: Deployment")).toBe(isRendered);
  });

  test("refuses another value in words", async () => {
    const { code, stderr } = await renderParent("iam-operator.enabled=yes");
    expect(code).not.toBe(0);
    expect(stderr).toContain("at '/enabled': got string, want boolean");
  });
});

describe("a version", () => {
  const long = `1.2.3-rc.${"a".repeat(70)}`;
  // The 63rd character is a dot, with which no label ends.
  const dotted = `1.2.3-${"a".repeat(56)}`;
  test.each([
    ["0.1.0", "0.1.0", "0.1.0", "0.1.0", "v0.1.0"],
    ["0.1.0+build.7", "0.1.0_build.7", "0.1.0_build.7", "0.1.0_build.7", "v0.1.0"],
    [long, long.slice(0, 63), long.slice(0, 50), long, `v${long}`],
    [`${dotted}.b`, dotted, dotted.slice(0, 50), `${dotted}.b`, `v${dotted}.b`],
  ])(
    "%s is valid as a label, in the image and in links",
    async (version, label, chart, image, tag) => {
      const folder = copyChart((metadata) => ({
        ...metadata,
        version,
        appVersion: version,
      }));
      const sets = ["--set=metrics.prometheusRule.create=true,crds.install=false"];
      const args = ["template", "iam-operator", join(folder, "iam-operator"), ...sets];
      const { code, stdout, stderr } = await runHelm(helm, args);
      expect([code, stderr]).toEqual([0, ""]);
      const objects = stdout.split(/^---$/m).flatMap((each) => parse(each) ?? []);
      const { metadata, spec } = objects.find(({ kind }) => kind === "Deployment");
      expect(metadata.labels).toMatchObject({
        "app.kubernetes.io/version": label,
        "helm.sh/chart": `iam-operator-${chart}`,
      });
      for (const value of Object.values(metadata.labels))
        expect(value).toMatch(/^[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$/);
      expect(spec.template.spec.containers[0].image).toBe(`iam-operator:${image}`);
      expect(stdout).toContain(`/blob/${tag}/docs/alerts.md#`);
    },
  );
});
