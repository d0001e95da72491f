/** A release on a real API server: installed, upgraded, taken away, installed again. */
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { CHART, NAMESPACE } from "../../scripts/chart/helm.ts";
import { GROUP } from "../../src/api/meta.ts";
import { type Cluster, install, startCluster } from "./support/cluster.ts";
import { manifest } from "./support/tenant.ts";

let cluster: Cluster;
const values = join(import.meta.dirname, "values/cluster-connection.yaml");
const RELEASE = install("iam-operator", NAMESPACE);

beforeAll(async () => {
  cluster = await startCluster();
  await cluster.createNamespaces("team-a", "team-b");
});
afterAll(async () => cluster?.stop());

const kubectl = (args: readonly string[], input?: string) => cluster.asAdmin(args, input);
const get = async (...args: readonly string[]) =>
  JSON.parse(await kubectl(["get", ...args, "-o", "json"]));

/** The chart as it might have been: one field and one column less. */
function olderChart(): string {
  const chart = join(cluster.directory, "older");
  cpSync(CHART, chart, { recursive: true });
  const edit = (name: string, change: (text: string) => string) =>
    writeFileSync(join(chart, name), change(readFileSync(join(chart, name), "utf8")));
  edit("Chart.yaml", (text) => text.replaceAll(": 0.1.0", ": 0.0.9"));
  edit(`files/crds/${GROUP}_serviceaccounts.yaml`, (text) => {
    const crd = parse(text);
    crd.spec.versions[0].additionalPrinterColumns.pop();
    delete crd.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.access;
    return stringify(crd);
  });
  return chart;
}

const accountFields = async () => {
  const { spec } = await get("crd", `serviceaccounts.${GROUP}`);
  const [{ schema, additionalPrinterColumns }] = spec.versions;
  return {
    columns: additionalPrinterColumns.length,
    access: "access" in schema.openAPIV3Schema.properties.spec.properties,
  };
};

test("installs with a ClusterConnection in one go, and says what comes next", async () => {
  const older = RELEASE.map((part) => (part === CHART ? olderChart() : part));
  const output = await cluster.helmDo(...older, "--create-namespace", `--values=${values}`);
  expect(output).toContain(
    `kubectl create secret generic console-token -n ${NAMESPACE} --from-file=token=token.txt`,
  );
  expect(output).toContain("kubectl wait --for=condition=Ready iamcconn/default");
  expect((await get("iamcconn", "default")).spec.domainName).toBe("acme");
  expect((await get("crd")).items).toHaveLength(6);
});

test("brings older definitions and the ClusterConnection up to date without replacing objects", async () => {
  await kubectl(["apply", "-f", "-"], manifest("ServiceAccount", "bot", "team-a", {}));
  const uids = async () => [
    (await get("iamsa", "bot", "-n=team-a")).metadata.uid,
    (await get("iamcconn", "default")).metadata.uid,
  ];
  const before = { uids: await uids(), fields: await accountFields() };
  const set = "--set=clusterConnection.spec.domainName=other";
  await cluster.helmDo(...RELEASE, `--values=${values}`, set);
  expect(before.fields.access).toBe(false);
  expect(await accountFields()).toEqual({
    columns: before.fields.columns + 1,
    access: true,
  });
  expect(await uids()).toEqual(before.uids);
  expect((await get("iamcconn", "default")).spec.domainName).toBe("other");
});

test("goes back to the version before", async () => {
  await cluster.helmDo("rollback", "iam-operator", "1", `--namespace=${NAMESPACE}`);
  expect((await accountFields()).access).toBe(false);
  expect((await get("iamsa", "bot", "-n=team-a")).metadata.name).toBe("bot");
  expect((await get("iamcconn", "default")).metadata.name).toBe("default");
  await cluster.helmDo(...RELEASE, `--values=${values}`);
  expect((await accountFields()).access).toBe(true);
});

test("lets people create ApiKeys as soon as an API server has started", async () => {
  await cluster.killApiServer();
  await cluster.startApiServer();
  const key = manifest("ApiKey", "key", "team-a", { serviceAccountRef: { name: "bot" } });
  expect(await kubectl(["create", "--dry-run=server", "-f", "-"], key)).toContain("created");
});

describe("people", () => {
  const can = (user: string, verb: string, resource: string) =>
    kubectl(["auth", "can-i", verb, ...resource.split(" "), `--as=${user}`, "-n=team-a"]).then(
      (answer) => answer.trim() === "yes",
      () => false,
    );

  beforeAll(async () => {
    for (const role of ["view", "edit", "admin"])
      await kubectl([
        "create",
        "rolebinding",
        role,
        `--clusterrole=${role}`,
        `--user=${role}er`,
        "-n=team-a",
      ]);
    await cluster.restartControllerManager();
    const aggregated = async () => {
      const rules = await Promise.all(
        ["view", "edit", "admin"].map((role) => get("clusterrole", role)),
      );
      return rules.every((role) => JSON.stringify(role.rules).includes("iam-operator.io"));
    };
    for (let tries = 0; !(await aggregated()) && tries < 100; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 100));
  });

  test.each([
    ["viewer", "get", "apikeys.iam-operator.io", true],
    ["viewer", "list", "connections.iam-operator.io", true],
    ["viewer", "create", "apikeys.iam-operator.io", false],
    ["viewer", "get", "secrets", false],
    ["viewer", "create", "connections.iam-operator.io", false],
    ["viewer", "get", "clusterconnections.iam-operator.io", false],
    ["editer", "create", "apikeys.iam-operator.io", true],
    ["editer", "delete", "serviceaccounts.iam-operator.io", true],
    ["editer", "create", "policybindings.iam-operator.io", false],
    ["editer", "create", "connections.iam-operator.io", false],
    ["editer", "patch", "apikeys.iam-operator.io --subresource=status", false],
    ["adminer", "create", "policybindings.iam-operator.io", true],
    // A Connection can name any Secret of its namespace: who can create one can read them anyway.
    ["adminer", "create", "connections.iam-operator.io", true],
    ["adminer", "get", "secrets", true],
    ["adminer", "create", "apikeys.iam-operator.io", true],
    ["adminer", "create", "clusterconnections.iam-operator.io", false],
  ])("%s may %s %s: %s", async (user, verb, resource, expected) => {
    expect(await can(user, verb, resource)).toBe(expected);
  });
});

describe("the admission policy", () => {
  const operator = `--as=system:serviceaccount:${NAMESPACE}:iam-operator`;
  const own = {
    "app.kubernetes.io/managed-by": "iam-operator",
    "iam-operator.io/api-key": "key",
  };
  const ownerOf = (kind: string, apiVersion: string) => ({
    apiVersion,
    kind,
    name: "key",
    uid: uids[kind] ?? "11111111-2222-3333-4444-555555555555",
    controller: true,
  });
  /** Of objects that exist, or else garbage collection would come. */
  const uids: Record<string, string> = {};
  const apiKey = () => ownerOf("ApiKey", "iam-operator.io/v1alpha1");
  const secret = (name: string, metadata: object, type = "Opaque", namespace = "team-a") =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "Secret",
      type,
      metadata: { name, namespace, ...metadata },
    });
  const asOperator = (args: readonly string[], input?: string) =>
    kubectl([...args, operator], input);
  const create = (text: string) => asOperator(["create", "--dry-run=server", "-f", "-"], text);
  const patch = (name: string, change: object) =>
    asOperator([
      "patch",
      "secret",
      name,
      "-n=team-a",
      "--type=merge",
      `-p=${JSON.stringify(change)}`,
    ]);

  beforeAll(async () => {
    const account = { serviceAccountRef: { name: "bot" } };
    await kubectl(["apply", "-f", "-"], manifest("ApiKey", "key", "team-a", account));
    await kubectl(["create", "configmap", "key", "-n=team-a"]);
    uids.ApiKey = (await get("iamkey", "key", "-n=team-a")).metadata.uid;
    uids.ConfigMap = (await get("configmap", "key", "-n=team-a")).metadata.uid;
    // More than the chart gives it, so that the policy alone decides.
    const subject = `--serviceaccount=${NAMESPACE}:iam-operator`;
    await kubectl(["create", "clusterrolebinding", "all", "--clusterrole=cluster-admin", subject]);
    const refused = () =>
      create(secret("probe", {})).then(
        () => false,
        () => true,
      );
    for (let tries = 0; !(await refused()) && tries < 100; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 100));
    for (const [name, metadata, type] of [
      ["ours", { labels: own, ownerReferences: [apiKey()] }, "Opaque"],
      ["theirs", {}, "Opaque"],
      ["handed-over", { labels: { "iam-operator.io/api-key": "key" } }, "Opaque"],
      ["unlabelled", { ownerReferences: [apiKey()] }, "Opaque"],
      ["typed", { labels: own }, "helm.sh/release.v1"],
      [
        "owned",
        { ownerReferences: [{ ...ownerOf("ConfigMap", "v1"), controller: false }], labels: own },
        "Opaque",
      ],
    ] as const)
      await kubectl(["create", "-f", "-"], secret(name, metadata, type));
  });

  test.each([
    ["with labels and owner", () => ({ labels: own, ownerReferences: [apiKey()] })],
    ["with labels alone, for Retain", () => ({ labels: own })],
    ["that is a login", () => ({ labels: own }), "kubernetes.io/basic-auth"],
    ["that is a docker config", () => ({ labels: own }), "kubernetes.io/dockerconfigjson"],
    ["of a type of somebody's own", () => ({ labels: own }), "example.com/type"],
  ])("lets it create a Secret %s", async (_, metadata, type = "Opaque") => {
    const text = JSON.parse(secret("new", metadata(), type));
    const stringData = { username: "u", password: "p", ".dockerconfigjson": "{}" };
    await create(JSON.stringify({ ...text, stringData }));
  });

  test.each([
    ["without labels", {}, "Opaque", "has the labels"],
    [
      "with half of them",
      { labels: { "iam-operator.io/api-key": "key" } },
      "Opaque",
      "has the labels",
    ],
    ["of a release", { labels: own }, "helm.sh/release.v1", "touches no Secret of a type"],
    ["of a type without a domain", { labels: own }, "opaque", "touches no Secret of a type"],
    ["with a certificate", { labels: own }, "kubernetes.io/tls", "touches no Secret of a type"],
    [
      "with a token",
      { labels: own, annotations: { "kubernetes.io/service-account.name": "default" } },
      "kubernetes.io/service-account-token",
      "touches no Secret of a type",
    ],
    [
      "owned by something else",
      { labels: own, ownerReferences: [ownerOf("ConfigMap", "v1")] },
      "Opaque",
      "makes only ApiKeys the owners",
    ],
    [
      "owned by another group's ApiKey",
      { labels: own, ownerReferences: [ownerOf("ApiKey", "example.com/v1")] },
      "Opaque",
      "makes only ApiKeys the owners",
    ],
  ])("refuses a Secret %s", async (_, metadata, type, message) => {
    const text = JSON.parse(secret("new", metadata, type));
    const data = type === "kubernetes.io/tls" ? { "tls.crt": "", "tls.key": "" } : {};
    await expect(create(JSON.stringify({ ...text, data }))).rejects.toThrow(message);
  });

  test("refuses a namespace that it was not given", async () => {
    await expect(create(secret("new", { labels: own }, "Opaque", "team-b"))).rejects.toThrow(
      "was not given this namespace",
    );
  });

  test.each(["ours", "handed-over", "unlabelled", "owned"])(
    "lets it change the Secret %s",
    async (name) => {
      await patch(name, { metadata: { labels: own }, data: { keyId: "YQ==" } });
    },
  );

  test("says how to hand a Secret over", async () => {
    await expect(patch("theirs", { metadata: { labels: own } })).rejects.toThrow(
      "Secret theirs is not the operator's; to let it be taken over, label it iam-operator.io/api-key",
    );
  });

  test("refuses to change or delete what is not its own", async () => {
    await expect(patch("typed", { data: { a: "YQ==" } })).rejects.toThrow(
      "touches no Secret of a type",
    );
    for (const name of ["theirs", "typed"])
      await expect(asOperator(["delete", "secret", name, "-n=team-a"])).rejects.toThrow("denied");
  });

  test("refuses to take its labels off", async () => {
    await expect(
      patch("ours", { metadata: { labels: { "iam-operator.io/api-key": null } } }),
    ).rejects.toThrow("has the labels");
  });

  test("lets it delete its own", async () => {
    await asOperator(["delete", "secret", "ours", "-n=team-a"]);
  });

  test("keeps it from changing what people ask for", async () => {
    const grant = { name: "team-b", namespaces: { names: ["team-b"] }, policyIds: ["*"] };
    const grants = { spec: { grants: [grant] } };
    const change = ["--type=merge", `-p=${JSON.stringify(grants)}`];
    await expect(asOperator(["patch", "iamcconn", "default", ...change])).rejects.toThrow(
      "does not change what is asked of it",
    );
    const note = JSON.stringify({ metadata: { finalizers: ["iam-operator.io/finalizer"] } });
    await asOperator(["patch", "iamcconn", "default", "--type=merge", `-p=${note}`]);
  });

  describe("of statuses", () => {
    const resource = "serviceaccounts.iam-operator.io";
    const role = ["--verb=get,patch,update", `--resource=${resource},${resource}/status`];
    const point = (user: string) =>
      kubectl([
        ...["patch", "iamsa", "bot", "-n=team-a", "--subresource=status", "--type=merge"],
        `-p=${JSON.stringify({ status: { saId: `sa-of-${user}` } })}`,
        `--as=${user}`,
      ]);

    beforeAll(async () => {
      await kubectl(["create", "role", "statuses", "-n=team-a", ...role]);
      await kubectl(["create", "clusterrole", "statuses", ...role]);
      const binding = ["statuses", "-n=team-a", "--role=statuses", "--user=tenant"];
      await kubectl(["create", "rolebinding", ...binding]);
      const everywhere = ["statuses", "--clusterrole=statuses", "--user=restorer"];
      await kubectl(["create", "clusterrolebinding", ...everywhere]);
    });

    test("refuses them to whoever may write them in one namespace", async () => {
      await expect(point("tenant")).rejects.toThrow(
        "writing one needs the permission to patch serviceaccounts/status in all namespaces",
      );
    });

    test("lets those write them who are named", async () => {
      const named = "--set=admissionPolicy.statusWriters={tenant}";
      await cluster.helmDo(...RELEASE, `--values=${values}`, named);
      const passes = () =>
        point("tenant").then(
          () => true,
          () => false,
        );
      for (let tries = 0; !(await passes()) && tries < 50; tries += 1)
        await new Promise((resolve) => setTimeout(resolve, 100));
      expect(await passes()).toBe(true);
    });

    test("lets those write them who may do so everywhere", async () => {
      await point("restorer");
      expect((await get("iamsa", "bot", "-n=team-a")).status.saId).toBe("sa-of-restorer");
    });

    test("lets the operator write them, and tenants their own objects", async () => {
      await point(`system:serviceaccount:${NAMESPACE}:iam-operator`);
      const label = ["label", "iamsa", "bot", "-n=team-a", "a=b", "--as=tenant"];
      await kubectl(label);
    });
  });

  describe("of intents", () => {
    const name = "iam-operator.io/intent";
    const note = (user: string, value: string | null) =>
      kubectl([
        ...["patch", "iamsa", "bot", "-n=team-a", "--type=merge", `--as=${user}`],
        `-p=${JSON.stringify({ metadata: { annotations: { [name]: value } } })}`,
      ]);
    const textOf = (id: string) => JSON.stringify({ attempt: { id } });
    const operator = `system:serviceaccount:${NAMESPACE}:iam-operator`;
    const closeLast = (lastAttemptId: string) =>
      kubectl([
        ...["patch", "iamsa", "bot", "-n=team-a", "--subresource=status", "--type=merge"],
        `-p=${JSON.stringify({ status: { lastAttemptId } })}`,
        `--as=${operator}`,
      ]);

    beforeAll(async () => {
      const roleBinding = ["editors", "-n=team-a", "--role=statuses", "--user=editor"];
      await kubectl(["create", "rolebinding", ...roleBinding]);
    });

    test("refuses them to tenants, who may edit their objects", async () => {
      await expect(note("editor", textOf("a"))).rejects.toThrow("leave it out of manifests");
      await note(operator, textOf("a"));
      await expect(note("editor", textOf("b"))).rejects.toThrow("leave it out of manifests");
      await expect(note("editor", null)).rejects.toThrow("leave it out of manifests");
      await kubectl(["label", "iamsa", "bot", "-n=team-a", "c=d", "--as=editor"]);
    });

    test("lets a closed one be taken off, and no other", async () => {
      await note(operator, textOf("ab"));
      await closeLast("a");
      await expect(note("editor", null)).rejects.toThrow("leave it out of manifests");
      await closeLast("ab");
      await note("editor", null);
      await expect(note("editor", textOf("ab"))).rejects.toThrow("leave it out of manifests");
    });

    test("lets those write them who may write statuses everywhere", async () => {
      await note("restorer", textOf("a"));
      await note("restorer", null);
    });
  });

  test("holds back nobody else", async () => {
    await kubectl(["create", "--dry-run=server", "-f", "-"], secret("new", {}));
    await kubectl(["label", "secret", "theirs", "-n=team-a", "a=b"]);
  });
});

describe("an uninstall", () => {
  test("leaves definitions, connection and every object", async () => {
    const before = await get("iamcconn,iamsa", "-A");
    await cluster.helmDo("uninstall", "iam-operator", `--namespace=${NAMESPACE}`);
    const after = await get("iamcconn,iamsa", "-A");
    const uids = ({ items }: { items: { metadata: { uid: string } }[] }) =>
      items.map(({ metadata }) => metadata.uid);
    expect(uids(after)).toEqual(uids(before));
    expect((await get("crd")).items).toHaveLength(6);
    const left = await kubectl([
      "get",
      "deployment,role,rolebinding,service,pdb,networkpolicy",
      `-n=${NAMESPACE}`,
      "-o=name",
    ]);
    expect(left).toBe("");
    expect(await kubectl(["get", "clusterroles", "-o=name"])).not.toContain("/iam-operator");
    expect(await kubectl(["get", "validatingadmissionpolicies", "-o=name"])).toBe("");
  });

  test("can be followed by an installation that finds all of it", async () => {
    await cluster.helmDo(...RELEASE, `--values=${values}`);
    expect((await get("iamsa", "bot", "-n=team-a")).metadata.name).toBe("bot");
    expect((await get("iamcconn", "default")).spec.domainName).toBe("acme");
  });
});

test("the chart's version is the program's", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(readFileSync(join(CHART, "Chart.yaml"), "utf8")).toContain(`appVersion: ${version}\n`);
});
