/** kubectl-iam for people with more namespaces, or fewer rights, than one. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubeObject, ResourceType } from "../../../src/kube/resource.ts";
import { configMapType } from "../../../src/kube/resource-types.ts";
import { startIamServer } from "../../../tools/iam-server/server.ts";
import { openWorld } from "../../real-world/in-world.ts";
import { permit } from "../../real-world/permissions.ts";
import type { World } from "../../real-world/world.ts";
import { opensslCertificate, opensslPki, type Pki } from "../../support/openssl-certificate.ts";
import { startTlsFront } from "../../support/tls-front.ts";
import { runInProcess } from "../../unit/kubectl-iam/support/in-process.ts";
import type { Ended } from "../../unit/kubectl-iam/support/plugin.ts";
import { runOperatorPod } from "./support/kubelet.ts";
import { openScene, type Scene } from "./support/scene.ts";

let scene: Scene;
let world: World;

beforeAll(async () => {
  scene = await openScene();
  ({ world } = scene);
});
// Also searches all that the plugin has said.
afterAll(() => scene.close());

async function iam(args: string): Promise<Ended> {
  const ended = await runInProcess([...args.split(" "), "--kubeconfig", scene.plugin.kubeconfig]);
  world.logs.push(ended.output, ended.notes);
  return ended;
}

test("-A shows the objects of every namespace, each with its own", async () => {
  const other = await openWorld({ bare: true });
  await other.apiKey("elsewhere");
  const lines = async (command: string) => (await iam(command)).output.split("\n");
  const here = new RegExp(`^${world.namespace} +iamkey/ci-bot-key +True `);
  const there = new RegExp(`^${other.namespace} +iamkey/elsewhere +Unknown +NotSeen `);
  const all = await lines("status -A");
  expect(all[0]).toMatch(/^NAMESPACE +OBJECT /);
  expect(all.filter((line) => here.test(line) || there.test(line))).toHaveLength(2);
  expect((await lines("status")).join("\n")).not.toContain("elsewhere");
  const tree = (await lines("tree -A")).filter((line) => line.startsWith(other.namespace));
  expect(tree).toEqual([expect.stringMatching(/^\S+ +iamkey\/elsewhere +Unknown +NotSeen/)]);
  // How wide a column is depends on the objects of other tests, which change between the two commands.
  const rows = (text: readonly string[]) =>
    text.filter((line) => here.test(line)).map((line) => line.split(/ {2,}/));
  expect(rows(await lines("status -A -n default"))).toEqual(rows(all));
  await other.close();
});

test("status of a namespace leaves out ClusterConnections that nothing in it uses", async () => {
  // The operator of another test on this API server may serve it.
  const name = `unused-${world.namespace}`;
  await world.apply("ClusterConnection", name, {
    baseURL: "https://nowhere.example.com",
    orgId: "org-1",
    domainName: "acme",
    credentials: { login: { secretRef: { name: "nothing" } } },
  });
  const row = new RegExp(`^ *iamcconn/${name} +(Unknown|False) `, "m");
  const own = await iam("status");
  expect(own.output).not.toMatch(row);
  expect(own.code).toBe(0);
  expect(await iam("status iamcconn")).toMatchObject({
    code: 1,
    output: expect.stringMatching(row),
  });
  expect((await iam("status -A")).output).toMatch(row);
  await world.patch("ClusterConnection", name, { metadata: { finalizers: null } });
  await world.delete("ClusterConnection", name);
});

describe("a user with read permissions", () => {
  beforeAll(async () => {
    const verbs = ["get", "list", "watch"];
    await permit(world.kube, world.namespace, "viewer", [
      { apiGroups: ["iam-operator.io"], resources: ["*"], verbs },
      { apiGroups: ["events.k8s.io"], resources: ["events"], verbs },
    ]);
  });

  test.each([
    "status",
    "status iamkey/ci-bot-key",
    "tree",
    "expiring",
    "orphans",
    "quotas",
    "events",
  ])("sees %s", async (command) => {
    const ended = await iam(`${command} --as viewer`);
    expect(ended.notes).not.toContain("error");
    expect(ended.code).toBe(0);
  });

  test("is told that ClusterConnections cannot be listed", async () => {
    const left = "Not shown, since you do not have permission to list them: clusterconnections.\n";
    for (const command of ["status", "status ci-bot-key", "tree"])
      expect((await iam(`${command} --as viewer`)).notes).toContain(left);
    expect((await iam("doctor --as viewer")).output).toMatch(/^unknown +Alerts +none of /m);
    expect(await iam("status iamcconn --as viewer")).toMatchObject({
      code: 4,
      output: "",
      notes: expect.stringContaining("you do not have permission to list clusterconnections)"),
    });
  });

  test.each([
    "rotate ci-bot-key",
    "reconcile iamkey/ci-bot-key",
    "suspend iamkey/ci-bot-key",
    "revoke-access ci-bot --yes",
    "import sa-1",
  ])("cannot %s, and gets an error that names the permission", async (command) => {
    const before = await world.get("ApiKey", "ci-bot-key");
    const ended = await iam(`${command} --as viewer`);
    expect(ended).toMatchObject({ code: 3, output: "" });
    expect(ended.notes).toMatch(
      /the API server refuses it .*auth can-i --list shows what you may do/,
    );
    expect((await world.get("ApiKey", "ci-bot-key")).metadata).toEqual(before.metadata);
  });

  test("does not get the credentials of a connection", async () => {
    const { code, notes } = await iam("console accounts --connection iamconn/console --as viewer");
    expect(code).toBe(3);
    expect(notes).toContain("secrets");
    const { output } = await iam("doctor --as viewer");
    expect(output).toMatch(
      /^unknown +iamconn\/console +you do not have permission to read its credentials .*\(.*secrets/m,
    );
    expect(output).toMatch(/^ok +Your permissions to read +all \d+ permissions are granted in /m);
    expect(output).toMatch(
      /^unknown +Operator's permissions +you do not have permission to list the Deployments in /m,
    );
  });
});

describe("a user with permission to read ApiKeys only", () => {
  beforeAll(async () => {
    await permit(world.kube, world.namespace, "key-viewer", [
      { apiGroups: ["iam-operator.io"], resources: ["apikeys"], verbs: ["get", "list"] },
    ]);
  });
  const left =
    "Not shown, since you do not have permission to list them: clusterconnections, connections, serviceaccounts, policybindings, resourcequotaexports.\n";

  test.each([
    ["expiring", ""],
    ["status", left],
    ["status iamkey", ""],
    ["status iamkey/ci-bot-key", left],
    ["status apikeys ci-bot-key", left],
    ["status ci-bot-key", left],
  ])("sees %s, and which kinds are left out", async (command, notes) => {
    const ended = await iam(`${command} --as key-viewer`);
    expect(ended.notes.replace(/^(No key expires|Whether the operator runs).*\n/m, "")).toBe(notes);
    expect(ended.code).toBe(0);
  });

  test.each(["status", "status iamkey/ci-bot-key", "expiring --within 365d"])(
    "is told by %s that it is unknown whether the operator runs",
    async (command) => {
      const { code, notes } = await iam(`${command} --as key-viewer`);
      expect(notes).toMatch(
        /^Whether the operator runs is unknown: you do not have permission to read the Lease in /m,
      );
      expect(code).toBe(0);
    },
  );

  test("gets the rest of a diagnosis if ServiceAccounts or connections are unreadable", async () => {
    const byKeyViewer = await iam("doctor ci-bot-key --as key-viewer");
    expect(byKeyViewer.notes).toBe("");
    expect(byKeyViewer.output).toMatch(/^ok +iamkey\/ci-bot-key +KeyDelivered$/m);
    expect(byKeyViewer.output).toMatch(
      /^unknown +iamsa\/ci-bot +you do not have permission to read it \(.*serviceaccounts/m,
    );
    expect(byKeyViewer.output).toMatch(/^unknown +1\. Bindings +the console was not called$/m);
    expect(byKeyViewer.output).toMatch(/^skipped +Action /m);
    expect(byKeyViewer.code).toBe(4);
    const byViewer = await iam("doctor ci-bot-key --as viewer");
    expect(byViewer.output).toMatch(
      /^unknown +Console +you do not have permission to read it \(.*secrets/m,
    );
    expect(byViewer.output).toMatch(/^ok +1\. Bindings +the operator last read: pol-/m);
    expect(byViewer.code).toBe(4);
  });

  test("gets an error that names the missing permission if nothing can be shown", async () => {
    const ended = await iam("quotas --as key-viewer");
    expect(ended).toMatchObject({ code: 3, output: "" });
    expect(ended.notes).toMatch(/the API server refuses it .*resourcequotaexports/);
    const folder = join(scene.plugin.folder, "without-rights");
    const bundled = await iam(`support-bundle ${folder} --as nobody`);
    expect(bundled.code).toBe(3);
    expect(bundled.notes).toMatch(/^error: objects\.yaml could not be read: /m);
  });
});

test("unknown names, contexts and namespaces are reported", async () => {
  const { namespace } = world;
  expect(await iam("status ci-bot")).toMatchObject({
    code: 2,
    notes: "error: ci-bot is the name of iamsa/ci-bot and iampb/ci-bot: use one of these\n",
  });
  expect((await iam("status nothing")).notes).toBe(
    `error: object called nothing not found in namespace ${namespace}.\n`,
  );
  expect(await iam("status -n no-such-namespace")).toMatchObject({
    code: 3,
    notes:
      "error: Namespace no-such-namespace does not exist: kubectl get namespaces lists the namespaces.\n",
  });
  expect((await iam("status iamkey -n kube-public")).notes).toBe(
    "No ApiKeys in namespace kube-public; -A shows all namespaces.\n",
  );
  expect((await iam("status -n kube-public")).notes).toBe(
    "No objects of the operator in namespace kube-public; -A shows all namespaces.\n",
  );
  expect(await iam("status --context nope")).toMatchObject({
    code: 2,
    notes: expect.stringMatching(/^error: context nope does not exist; the kubeconfig has \w+/),
  });
});

test("-o name and -o jsonpath are for scripts", async () => {
  expect((await iam("status -o name")).output).toContain("\niamkey/ci-bot-key\n");
  expect((await iam("status iamkey/ci-bot-key -o jsonpath={.status.secretName}")).output).toBe(
    "ci-bot-key\n",
  );
});

describe("doctor and TLS", () => {
  const certificate = opensslCertificate();

  test.runIf(certificate)(
    "says whether a console's certificate is trusted, and for how long",
    async () => {
      const console = await startIamServer({ tls: certificate as { key: string; cert: string } });
      const connect = (name: string, spec: object) =>
        world.apply("Connection", name, {
          baseURL: console.url,
          orgId: "org-1",
          domainName: "acme",
          credentials: { login: { secretRef: { name: "console-login" } } },
          ...spec,
        });
      await connect("trusted", { caBundle: certificate?.cert });
      await connect("untrusted", {});
      const { output } = await iam("doctor");
      const host = new URL(console.url).host;
      expect(output).toMatch(
        /^warning +iamconn\/trusted +the console's certificate expires in 0 days/m,
      );
      expect(output).toMatch(/^ok +iamconn\/trusted +the console accepts the credentials/m);
      expect(output).toMatch(
        new RegExp(
          `^failed +iamconn/untrusted +${host} is not reached from here: DEPTH_ZERO_SELF_SIGNED`,
          "m",
        ),
      );
      for (const name of ["trusted", "untrusted"]) {
        await world.delete("Connection", name);
        await world.isGone("Connection", name);
      }
      await console.close();
    },
  );
});

describe("a console with mutual TLS", () => {
  const pki = opensslPki("operator");

  test.runIf(pki)("is called with the certificates of its connection", async () => {
    const { authority, client } = pki as Pki;
    const console = await startIamServer();
    await using front = await startTlsFront(console, pki as Pki);
    const { namespace } = world;
    const connect = (name: string, spec: object) =>
      world.apply("Connection", name, {
        baseURL: front.url,
        orgId: "org-1",
        domainName: "acme",
        caBundleFrom: { configMapRef: { name: "console-ca" } },
        credentials: { login: { secretRef: { name: "console-login" } } },
        ...spec,
      });
    await connect("mutual", { clientCertificate: { secretRef: { name: "operator-tls" } } });
    await connect("bare", {});
    const accounts = "console accounts --connection iamconn/mutual";
    expect((await iam(accounts)).notes).toContain(
      `ConfigMap ${namespace}/console-ca does not exist`,
    );
    const metadata = { name: "console-ca", namespace };
    const data = { "ca.crt": authority.cert, other: "x" };
    await world.kube.create(configMapType, { metadata, data });
    expect((await iam(accounts)).notes).toContain(
      `Secret ${namespace}/operator-tls does not exist`,
    );
    const pair = { "tls.crt": client.cert, "tls.key": client.key };
    await world.writeSecret("operator-tls", pair);
    expect(await iam(accounts)).toMatchObject({ code: 0 });
    expect(front.presented).toContain("operator");

    const { output } = await iam("doctor");
    expect(output).toMatch(/^ok +iamconn\/mutual +the console accepts the credentials/m);
    expect(output).toMatch(/^failed +iamconn\/bare +login got no answer from the console/m);
    const bundle = join(scene.plugin.folder, "with-certificates");
    expect(await iam(`support-bundle ${bundle}`)).toMatchObject({ code: 0 });
    const files = readdirSync(bundle).map((file) => readFileSync(join(bundle, file), "utf8"));
    const key = client.key.split("\n")[1] ?? "";
    expect(JSON.stringify([files, await world.channels()])).not.toContain(key);
    for (const name of ["mutual", "bare"]) {
      await world.delete("Connection", name);
      await world.isGone("Connection", name);
    }
    await console.close();
  });
});

const deploymentType: ResourceType = {
  group: "apps",
  version: "v1",
  plural: "deployments",
  kind: "Deployment",
  namespaced: true,
};

test("version has the operator's, and logs those of its Pods", async () => {
  const { namespace } = world;
  const options = `--operator-namespace ${namespace}`;
  expect(await iam(`version ${options}`)).toMatchObject({
    code: 0,
    notes: `No Deployment of the operator in ${namespace}; --operator-namespace names another namespace.\n`,
  });
  const labels = { "app.kubernetes.io/name": "iam-operator", "app.kubernetes.io/version": "9.8.7" };
  await world.kube.create(deploymentType, {
    metadata: { name: "iam-operator", namespace, labels },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: "x" } },
      template: {
        metadata: { labels: { app: "x" } },
        spec: {
          containers: [{ name: "operator", image: "registry.example.com/iam-operator:9.8.7" }],
        },
      },
    },
  } as KubeObject);
  expect((await iam(`version ${options}`)).output).toContain(
    `\niam-operator 9.8.7 (deployment/iam-operator in ${namespace}, registry.example.com/iam-operator:9.8.7)\n`,
  );
  expect(await iam(`logs ${options}`)).toMatchObject({ code: 3 });
});

test("uninstall --dry-run names the objects that stay, including valid keys", async () => {
  const { code, output, notes } = await iam("uninstall --dry-run");
  const lines = output.split("\n").filter((line) => line.startsWith(world.namespace));
  const keyId = (await world.get("ApiKey", "ci-bot-key")).status?.current?.keyId;
  expect(lines).toEqual([
    expect.stringMatching(/account sa-\w+ of iamsa\/ci-bot +yes +its policies are unbound$/),
    expect.stringMatching(
      new RegExp(
        `key ${keyId} \\(iamkey/ci-bot-key, in secret/ci-bot-key\\) +yes +stays valid until 2`,
      ),
    ),
    expect.stringMatching(/secret\/ci-bot-key +no +is deleted with its ApiKey$/),
  ]);
  expect(notes).toMatch(/keys? stays? valid in the console: revoke access first/);
  expect(code).toBe(1);
});

test("uninstall --dry-run names a suspended object, whose deletion waits until it is resumed", async () => {
  await iam("suspend iamkey/ci-bot-key");
  const { code, output } = await iam("uninstall --dry-run");
  await iam("resume iamkey/ci-bot-key");
  expect(code).toBe(1);
  const [, detail = ""] = /iamkey\/ci-bot-key +yes +(.*)$/m.exec(output) ?? [];
  expect(detail).toBe(
    `its deletion waits, because it is suspended: kubectl iam resume iamkey/ci-bot-key -n ${world.namespace}`,
  );
  expect((await iam("uninstall --dry-run")).output).not.toMatch(/^\S+ +iamkey\/ci-bot-key/m);
});

test("create makes objects and waits for them, and wait waits for others", async () => {
  expect(await iam("create serviceaccount made --connection iamconn/console")).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^iamsa\/made created\niamsa\/made Ready=True Created: /),
  });
  expect(await iam("create apikey made-key --account made --no-wait")).toMatchObject({ code: 0 });
  expect((await iam("wait --all --timeout 50s")).output).toMatch(/^iamkey\/made-key Ready=True /m);
  expect(await iam("create serviceaccount other --connection nowhere")).toMatchObject({
    code: 3,
    output: "",
    notes:
      "error: iamcconn/nowhere does not exist, so nothing was created: create it first, or use --no-wait\n",
  });
  expect(
    (await iam("create serviceaccount other --connection console --dry-run")).output,
  ).toContain("    kind: Connection\n");
  const stalled = await iam("create policybinding made --account made --policy pol-nowhere");
  expect(stalled.notes).toMatch(/^error: iampb\/made: PolicyRefused: /m);
  expect(stalled.code).toBe(3);
  for (const [kind, name] of [
    ["PolicyBinding", "made"],
    ["ApiKey", "made-key"],
    ["ServiceAccount", "made"],
  ] as const) {
    await world.delete(kind, name);
    await world.isGone(kind, name);
  }
});

test("a support bundle has the logs of the operator's Pods, without the secrets in them", async () => {
  const [secret = ""] = world.secrets();
  const about = { controller: "ApiKey", namespace: world.namespace, name: "ci-bot-key" };
  const logged = JSON.stringify({ level: "warn", ...about, msg: "one" });
  const lines = [
    "first line",
    logged,
    `sent Authorization: Bearer ${secret}`,
    `password: ${secret}`,
  ];
  const args = ["--metrics-secure=true"];
  await using _ = await runOperatorPod(world, "iam-operator-0", lines, { previous: "died", args });
  const folder = join(scene.plugin.folder, "with-pods");
  expect(
    await iam(`support-bundle ${folder} --operator-namespace ${world.namespace}`),
  ).toMatchObject({ code: 0 });
  const read = (name: string) => readFileSync(join(folder, `iam-operator-0.${name}`), "utf8");
  expect(read("log")).toBe(
    `first line\n${logged}\nsent Authorization: Bearer <removed>\npassword: <removed>\n`,
  );
  expect(read("previous.log")).toBe("died\n");
  expect(read("metrics.txt")).toContain(
    `kubectl port-forward -n ${world.namespace} pod/iam-operator-0 8080`,
  );
  const logs = (args: string) => iam(`logs ${args} --operator-namespace ${world.namespace}`);
  expect((await logs("iamkey/ci-bot-key --level warn")).output).toBe(`${logged}\n`);
  expect((await logs("iamkey/ci-bot-key --level error")).output).toBe("");
  expect((await logs("--previous")).output).toBe("died\n");
});
