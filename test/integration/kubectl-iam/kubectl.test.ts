/** kubectl-iam as a person uses it: by kubectl, against a real API server, the reference console and an operator. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { loadDocuments } from "../../../src/kubectl-iam/cluster/yaml.ts";
import { findLeaks } from "../../real-world/leaks.ts";
import { runInProcess } from "../../unit/kubectl-iam/support/in-process.ts";
import type { Ended, RunOptions } from "../../unit/kubectl-iam/support/plugin.ts";
import { runPod } from "./support/run-pod.ts";
import { openScene, type Scene } from "./support/scene.ts";

let scene: Scene;
let world: Scene["world"];
let plugin: Scene["plugin"];
/** The id of a key that no ApiKey names: it counts as unmanaged after half a minute, so it is issued first. */
let stray = "";

beforeAll(async () => {
  scene = await openScene();
  ({ world, plugin } = scene);
  const issue = `console issue-key ${await saId()} --secret-file key.json ${withConsole}`;
  stray = /key (\S+) issued/.exec(await output(issue))?.[1] ?? "";
  await output("reconcile iamsa/ci-bot");
});
// Also searches all that the plugin has said.
afterAll(() => scene.close());

const wordsOf = (args: string) => (args === "" ? [] : args.split(" "));

/** A command in this process; files are those of the plugin's folder. */
async function iam(args: string, options: RunOptions = {}): Promise<Ended> {
  const files = wordsOf(args).map((word) =>
    /\.json$/.test(word) ? join(plugin.folder, word) : word,
  );
  const ended = await runInProcess([...files, "--kubeconfig", plugin.kubeconfig], options);
  world.logs.push(ended.output, ended.notes);
  return ended;
}

/** The same, as kubectl runs the bundle. */
async function kubectlIam(args: string, options: RunOptions = {}): Promise<Ended> {
  const ended = await plugin.run(wordsOf(args), options);
  world.logs.push(ended.output, ended.notes);
  return ended;
}

/** The output of a command that succeeds. */
async function output(args: string, options: RunOptions = {}): Promise<string> {
  return successOf(await iam(args, options));
}

function successOf(ended: Ended): string {
  expect(ended, ended.notes).toMatchObject({ code: 0 });
  return ended.output;
}

test("a file means what it means to kubectl", async () => {
  const spellings =
    "yes n On off true ~ 010 0o17 0x1F 0b101 1_000 -07 +7 0 00 08 1e3 1e+3 .5 1.50 1:30 2026-01-01 2026-01-01T00:00:00Z 12abc 720h";
  const lines = spellings.split(" ").map((spelling) => `  - ${spelling}`);
  const text = [
    "apiVersion: example.com/v1",
    "kind: Sample",
    "metadata: {name: sample}",
    "yes: a key",
    "values:",
    ...lines,
  ].join("\n");
  const file = join(plugin.folder, "sample.yaml");
  writeFileSync(file, text);
  const read = await plugin.shell(`kubectl annotate --local -f ${file} read=yes -o json`);
  const { yes: _, metadata: __, ...asKubectl } = JSON.parse(successOf(read));
  const [{ metadata: ___, ...ours }] = loadDocuments(text) as [Record<string, unknown>];
  expect(ours).toEqual(asKubectl);
});

const withConsole = "--connection iamconn/console";
const saId = async () => (await world.get("ServiceAccount", "ci-bot")).status?.saId ?? "";
const tpn = async () => (await world.get("ServiceAccount", "ci-bot")).status?.tpn ?? "";
const keyId = async () => (await world.get("ApiKey", "ci-bot-key")).status?.current?.keyId;

describe("diff", () => {
  const toFile = (name: string, objects: readonly object[]) => {
    writeFileSync(join(plugin.folder, name), JSON.stringify({ kind: "List", items: objects }));
    return name;
  };
  const object = (kind: string, name: string, spec: object) => ({
    apiVersion: "iam-operator.io/v1alpha1",
    kind,
    metadata: { name },
    spec,
  });
  const ref = { serviceAccountRef: { name: "ci-bot" } };
  const countWrites = () =>
    (["createServiceAccount", "issueKey", "syncBindings"] as const).map((call) =>
      world.iam.requests.count(call),
    );

  test("of applied objects finds nothing and exits with status 0", async () => {
    const file = toFile("same.json", [
      object("PolicyBinding", "ci-bot", { ...ref, policyIds: ["pol-read", "pol-deploy"] }),
      object("ApiKey", "ci-bot-key", ref),
    ]);
    expect(await iam(`diff -f ${file}`)).toEqual({
      code: 0,
      output: "",
      notes: "Nothing would change in the console.\n",
    });
  });

  test("names the policies to bind and unbind, exits with status 1, and changes nothing", async () => {
    const writes = countWrites();
    const before = await world.get("PolicyBinding", "ci-bot");
    const file = toFile("other.json", [
      object("PolicyBinding", "ci-bot", { ...ref, policyIds: ["pol-read", "pol-member"] }),
    ]);
    const { code, output: text } = await iam(`diff -f ${file} -o json`);
    expect(code).toBe(1);
    expect(JSON.parse(text).items).toMatchObject([
      { call: "syncBindings", bind: ["pol-member (member)"], unbind: ["pol-deploy (deploy)"] },
    ]);
    expect(countWrites()).toEqual(writes);
    expect(await world.get("PolicyBinding", "ci-bot")).toEqual(before);
  });

  test("takes standard input, and folders by kubectl kustomize", async () => {
    const key = JSON.stringify(object("ApiKey", "second", ref));
    const piped = await kubectlIam("diff -f -", { input: key });
    expect(piped).toMatchObject({ code: 1 });
    expect(piped.output).toMatch(/^iamkey\/second +issueKey +Issues a key of service account sa-/m);
    writeFileSync(join(plugin.folder, "apikey.json"), key);
    writeFileSync(
      join(plugin.folder, "kustomization.yaml"),
      "resources: [apikey.json]\nnameSuffix: -staging\n",
    );
    const built = await kubectlIam("diff -k .");
    expect(built).toMatchObject({ code: 1 });
    expect(built.output).toMatch(/^iamkey\/second-staging +writeSecret /m);
  });

  test("names the obstacles", async () => {
    const file = toFile("stray.json", [
      object("ApiKey", "stray", { serviceAccountRef: { name: "nobody" } }),
    ]);
    const { code, notes } = await iam(`diff -f ${file}`);
    expect(code).toBe(1);
    expect(notes).toContain(
      "iamkey/stray would not be ready and would report ServiceAccountNotFound: ",
    );
  });

  test("says of a key in use that no other key can be issued", async () => {
    const file = toFile("moved.json", [
      object("ApiKey", "ci-bot-key", { serviceAccountRef: { name: "nobody" } }),
    ]);
    const { code, notes } = await iam(`diff -f ${file}`);
    expect(code).toBe(1);
    expect(notes).toContain(
      "iamkey/ci-bot-key would keep its key, be issued no other key, and report ServiceAccountNotFound: ",
    );
  });

  test("exits with status 4 if the result is unknown, as kubectl diff exits with more than 1", async () => {
    const file = toFile("same.json", [object("ApiKey", "second", ref)]);
    const ended = await iam(`diff -f ${file} --as nobody`);
    expect(ended).toMatchObject({ code: 4, output: "" });
    expect(ended.notes).toMatch(/the API server refuses it/);
  });
});

describe("looking", () => {
  test("status prints a line with the next step for each object", async () => {
    const text = successOf(await kubectlIam("status"));
    expect(text).toMatch(/^OBJECT +READY +REASON +NEXT\n/);
    expect(text).toMatch(
      /^iamkey\/ci-bot-key +True +KeyDelivered +Nothing: the key is renewed in \d+d\.$/m,
    );
    expect(text).toMatch(/^iamconn\/console +True +Authenticated +Nothing\.$/m);
  });

  test("status of a key shows its account, Secret and events", async () => {
    const text = await output("status iamkey/ci-bot-key");
    expect(text).toContain(await saId());
    expect(text).toContain(`Key         ${await keyId()}, revision`);
    expect(text).toContain("Policies    pol-read, pol-deploy by iampb/ci-bot");
    expect(text).toMatch(/^KeyIssued +\d+s +Issued key/m);
  });

  test("status exits with status 1 if an object is not ready, and prints the next step", async () => {
    await world.apply("PolicyBinding", "broken", {
      serviceAccountRef: { name: "ci-bot" },
      policyIds: ["pol-nowhere"],
    });
    await world.condition("PolicyBinding", "broken", "Ready", "False", "PolicyRefused");
    const { code, output: text } = await kubectlIam("status iampb/broken");
    expect(code).toBe(1);
    expect(text).toContain(
      "Next  Remove pol-nowhere from spec.policyIds, or correct it: it is tried again after a change of this object, on request, or after an hour.",
    );
    await world.delete("PolicyBinding", "broken");
    await world.isGone("PolicyBinding", "broken");
  });

  test("tree draws connection, account, bindings, key, Secret and Pods", async () => {
    await runPod(world, "api-1", "ci-bot-key");
    const lines = (await output("tree")).split("\n");
    expect(lines.map((line) => line.slice(0, 25).trimEnd())).toEqual([
      "OBJECT",
      "iamconn/console",
      "├─iamsa/ci-bot",
      "│ ├─iampb/ci-bot",
      "│ └─iamkey/ci-bot-key",
      "│   └─secret/ci-bot-key",
      "│     └─pod/api-1",
      "└─iamrq/cluster-7",
      "",
    ]);
  });

  test("expiring lists keys that expire within the time, and fails for a key that is not renewed", async () => {
    expect(await iam("expiring --within 7d")).toMatchObject({
      code: 0,
      output: "",
      notes: "No key expires within 7d.\n",
    });
    expect(await output("expiring --within 100d")).toMatch(
      /^ci-bot-key +sak_\w+ +in \d+d +in \d+d +yes$/m,
    );
    await output("suspend iamkey/ci-bot-key");
    const { code, output: text } = await iam("expiring --within 100d");
    expect(text).toMatch(
      / +no +Suspended: spec\.suspend is true: the key is not renewed until it is false\.$/m,
    );
    expect(code).toBe(1);
    await output("resume iamkey/ci-bot-key");
  });

  test("quotas does not say that an export without a listing has listed quotas", async () => {
    const spec = { connectionRef: { kind: "Connection", name: "console" }, clusterId: 9 };
    const suspended = { ...spec, suspend: true };
    await world.apply("ResourceQuotaExport", "unlisted", suspended, { labels: { listed: "no" } });
    await world.condition("ResourceQuotaExport", "unlisted", "Ready", "False", "Suspended");
    expect(await iam("quotas -l listed=no")).toEqual({
      code: 0,
      output: "",
      notes: "No ResourceQuotaExport here has listed any quota.\n",
    });
    await world.delete("ResourceQuotaExport", "unlisted");
    await world.isGone("ResourceQuotaExport", "unlisted");
  });

  test("quotas draws bars, the fullest first with --top", async () => {
    const lines = (await output("quotas --top 2")).trimEnd().split("\n");
    expect(lines).toHaveLength(3);
    expect(lines[1]).toContain("[##########] 100%");
    expect(lines[2]).toContain("[########..] 75%");
  });

  test("events lists them, and -w follows them", async () => {
    expect(await output("events --for iamkey/ci-bot-key")).toMatch(
      /^LAST-SEEN +TYPE +OBJECT +REASON +NOTE\n(.*Normal +iamkey\/ci-bot-key .*\n)*.*KeyIssued/,
    );
    const watching = plugin.shell(
      "echo $$ >pid; exec timeout -s INT 90 kubectl iam events -w >seen",
    );
    const rotated = async () => {
      await output("rotate ci-bot-key --timeout 30s");
      return readFileSync(join(plugin.folder, "seen"), "utf8");
    };
    await expect
      .poll(rotated, { timeout: 60_000 })
      .toMatch(/^\d{4}-.*iamkey\/ci-bot-key {2}KeyRotated {2}Issued key sak_/m);
    process.kill(Number(readFileSync(join(plugin.folder, "pid"), "utf8")), "SIGINT");
    await watching;
  });

  test("events of a deleted object of the same name are not shown", async () => {
    const ref = { serviceAccountRef: { name: "ci-bot" } };
    await world.apiKey("twice", ref);
    await world.ready("ApiKey", "twice");
    await expect.poll(() => output("events --for iamkey/twice")).toContain("KeyIssued");
    await world.delete("ApiKey", "twice");
    await world.isGone("ApiKey", "twice");
    await world.apiKey("twice", { ...ref, suspend: true });
    await world.condition("ApiKey", "twice", "Ready", "False", "Suspended");
    expect((await iam("status iamkey/twice")).output).not.toContain("KeyIssued");
    for (const scope of ["", " -A"])
      expect((await iam(`events --for iamkey/twice${scope}`)).output).not.toContain("KeyIssued");
    await world.delete("ApiKey", "twice");
    await world.isGone("ApiKey", "twice");
  });

  test("json and yaml are for programs", async () => {
    expect(JSON.parse(await output("status -o json")).items[0]).toMatchObject({ ready: "True" });
    expect(await output("status -o jsonpath={.items[*].kind}")).toMatch(
      /^Connection ServiceAccount PolicyBinding .*ApiKey .*ResourceQuotaExport$/m,
    );
    expect(successOf(await kubectlIam("status iamkey/ci-bot-key -o yaml"))).toMatch(
      /^kind: ApiKey$/m,
    );
  });

  test("explain prints the text of the troubleshooting page", async () => {
    expect(successOf(await kubectlIam("explain policyrefused"))).toContain("of kind scp");
  });
});

describe("a terminal", () => {
  const widest = (text: string) =>
    Math.max(...text.split("\n").map((line) => Array.from(line).length));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
  const plain = (text: string) => text.replaceAll(/\u001b\[[0-9;]*[mK]/g, "");

  test.each([80, 200])("of %d columns gets lines that fit, in colour", async (columns) => {
    const { output: text, code } = await plugin.onTerminal(
      "kubectl iam status iamkey/ci-bot-key",
      columns,
    );
    expect(code).toBe(0);
    expect(text).toContain("\u001b[32m");
    expect(widest(plain(text))).toBeLessThanOrEqual(columns);
    const inTable = await plugin.onTerminal("kubectl iam tree; kubectl iam quotas", columns);
    expect(widest(plain(inTable.output))).toBeLessThanOrEqual(columns);
  });

  test("with NO_COLOR gets none", async () => {
    const { output: text } = await plugin.onTerminal("NO_COLOR=1 kubectl iam status", 80);
    expect(text).toContain("iamkey/ci-bot-key");
    expect(text).not.toContain("\u001b[3");
  });

  test("shows the progress of a rotation; without a terminal it does not", async () => {
    world.iam.faults.add({
      operation: "issueKey",
      fault: { kind: "Slow", ms: 750 },
    });
    const { output: text } = await plugin.onTerminal("kubectl iam rotate ci-bot-key", 80);
    expect(plain(text)).toMatch(/\riamkey\/ci-bot-key \(\d+ s\): no new key is reported yet: /);
    const { notes } = await kubectlIam("rotate ci-bot-key");
    expect(notes).toBe("");
  });

  test('must confirm before access is revoked, and "no" changes nothing', async () => {
    const { output: text, code } = await plugin.onTerminal(
      "kubectl iam revoke-access ci-bot",
      80,
      "n\n",
    );
    expect(text).toContain("Unbinds  pol-read, pol-deploy, as last read");
    expect(text).toContain("pod/api-1");
    expect(text).toContain("Nothing was changed.");
    expect(code).toBe(3);
    expect((await world.get("ServiceAccount", "ci-bot")).spec.access).toBe("Granted");
  });
});

describe("acting", () => {
  test("every dry run prints a patch that kubectl takes, and changes nothing", async () => {
    const before = await world.get("ApiKey", "ci-bot-key");
    const lines = [
      await output("rotate -l team=a --dry-run"),
      await output("reconcile iamkey/ci-bot-key --dry-run"),
      await output("suspend iamkey/ci-bot-key --dry-run"),
      await output("revoke-access ci-bot --dry-run"),
    ].flatMap((text) => text.trimEnd().split("\n"));
    const after = await world.get("ApiKey", "ci-bot-key");
    expect(after.metadata.generation).toBe(before.metadata.generation);
    expect(after.metadata.annotations).toEqual(before.metadata.annotations);
    for (const line of lines)
      expect(await plugin.shell(`${line} --dry-run=server`), line).toMatchObject({ code: 0 });
    expect(lines).toHaveLength(4);
  });

  test("rotate exits when the Secret holds another key", async () => {
    const before = await keyId();
    const text = await output("rotate ci-bot-key");
    expect(text).toContain(`(was ${before})`);
    expect(await keyId()).not.toBe(before);
    expect(await world.holdsLivePair("ci-bot-key")).toBe(true);
  });

  test("rotate of a suspended key names the cause of the delay, and resume announces the rotation", async () => {
    await world.patch("ApiKey", "ci-bot-key", { spec: { suspend: true } });
    const before = await keyId();
    const { code, notes } = await iam("rotate ci-bot-key");
    expect(code).toBe(3);
    expect(notes).toContain(
      `error: iamkey/ci-bot-key: no new key is reported yet: iamkey/ci-bot-key is suspended; kubectl iam resume iamkey/ci-bot-key -n ${world.namespace} lets it continue`,
    );
    expect((await iam("status iamkey/ci-bot-key")).output).toMatch(
      /^Next +Suspended: kubectl iam resume iamkey\/ci-bot-key -n \S+ resumes it\. The requested rotation at \S+ waits for that\.$/m,
    );
    const resumed = await iam("resume iamkey/ci-bot-key");
    expect(resumed).toMatchObject({ code: 0 });
    expect(resumed.notes).toMatch(
      /^A rotation of iamkey\/ci-bot-key was requested at \S+Z: its key is replaced unless something else stops that\.$/m,
    );
    expect(await keyId()).not.toBe(before);
  });

  test("reconcile exits when the operator has handled the request", async () => {
    expect(await output("reconcile iamsa/ci-bot")).toContain("Ready=True");
  });

  test("revoke-access takes every policy, restore-access gives them back", async () => {
    await output("revoke-access ci-bot --yes");
    expect(world.iam.world.boundTo(await tpn())).toHaveLength(0);
    const unasked = await iam("restore-access ci-bot");
    expect(unasked).toMatchObject({ code: 2 });
    expect(unasked.notes).toContain(`${await keyId()} (iamkey/ci-bot-key, in secret/ci-bot-key)`);
    expect(unasked.notes).toMatch(
      /Each of these keys works again, a leaked one included: .* kubectl iam replace-account iamsa\/ci-bot -n \S+ instead\./,
    );
    expect(world.iam.world.boundTo(await tpn())).toHaveLength(0);
    await output("restore-access ci-bot --yes");
    expect(world.iam.world.boundTo(await tpn())).toHaveLength(2);
  });

  test("import imports an account of the console", async () => {
    const text = await output(`console create-account made-by-hand ${withConsole} -o json`);
    const { saId: made } = JSON.parse(text);
    await output(`import ${made} ${withConsole}`);
    await world.ready("ServiceAccount", "made-by-hand");
    expect((await world.get("ServiceAccount", "made-by-hand")).status).toMatchObject({
      saId: made,
      origin: "Imported",
    });
    expect(await iam(`import ${made} --dry-run ${withConsole}`)).toMatchObject({
      code: 2,
      output: "",
      notes: "error: iamsa/made-by-hand exists already: choose another name with --name\n",
    });
  });

  test("orphans finds an unmanaged key; an orphaned key can be forgotten", async () => {
    await output("reconcile iamsa/ci-bot");
    await world.until(
      "the account's list has the key",
      async () =>
        (await world.get("ServiceAccount", "ci-bot")).status?.unmanagedKeys?.some(
          ({ keyId }) => keyId === stray,
        ) ?? false,
    );
    const found = await iam("orphans");
    expect(found.code).toBe(1);
    expect(found.output).toContain(`iamsa/ci-bot   ${stray}   Unmanaged`);
    expect(found.notes).toMatch(/^Unmanaged: delete the key in the console/m);
    expect(found.notes).not.toContain("forget-orphan");

    const fault = world.iam.faults.add({
      operation: "issueKey",
      fault: { kind: "Reset", when: "AfterCommit" },
    });
    await output("rotate ci-bot-key --no-wait");
    await fault.reached;
    await world.until(
      "the lost key is listed",
      async () => ((await world.get("ApiKey", "ci-bot-key")).status?.orphaned ?? []).length === 1,
    );
    const lost = (await world.get("ApiKey", "ci-bot-key")).status?.orphaned?.[0]?.keyId ?? "";
    expect((await iam("orphans")).output).toMatch(
      new RegExp(`^iamkey/ci-bot-key +${lost} +Orphaned`, "m"),
    );
    await world.ready("ApiKey", "ci-bot-key");
    await output("reconcile iamsa/ci-bot");
    await output(`forget-orphan ci-bot-key ${lost} --yes`);
    const forgotten = await iam("orphans");
    expect(forgotten.output).toMatch(new RegExp(`^iamsa/ci-bot +${lost} +Unconfirmed`, "m"));
    expect(forgotten.notes).toMatch(
      /^Lists of keys: as the console showed them \d+s ago or later; kubectl iam reconcile iamsa/m,
    );
    await output("reconcile iamkey/ci-bot-key");
    expect((await world.get("ApiKey", "ci-bot-key")).status?.orphaned ?? []).toEqual([]);
  });

  test("adopt-secret makes an ApiKey take over a Secret that was there", async () => {
    await world.writeSecret("old-key", { note: "by hand" });
    await world.apiKey("old-key", { serviceAccountRef: { name: "ci-bot" } });
    await world.condition("ApiKey", "old-key", "Ready", "False", "SecretConflict");
    const { output: screen } = await iam("status iamkey/old-key");
    expect(screen).toContain("False SecretConflict (also Stalled=True, IssuanceAllowed=False): ");
    const secret = { name: "old-key" };
    // Times of creation have whole seconds, and within one the uid decides.
    await sleep(1_100);
    await world.apiKey("later", { serviceAccountRef: { name: "ci-bot" }, secret });
    const { code, notes } = await iam("adopt-secret later --yes");
    expect([code, notes]).toEqual([3, expect.stringContaining("belongs to iamkey/old-key")]);
    await world.delete("ApiKey", "later");
    const here = `-n ${world.namespace}`;
    await plugin.shell(`kubectl create secret generic fixed ${here}`);
    await plugin.shell(`kubectl patch secret fixed ${here} -p '{"immutable":true}'`);
    await plugin.shell(`kubectl create secret generic typed ${here} --type=example.com/own`);
    for (const [name, why] of [
      ["fixed", "is immutable"],
      ["typed", "has type example.com/own"],
    ] as const) {
      await world.apiKey(name, { serviceAccountRef: { name: "ci-bot" } });
      const refused = await iam(`adopt-secret ${name} --yes`);
      expect(refused).toMatchObject({ code: 3, notes: expect.stringContaining(why) });
      await world.delete("ApiKey", name);
    }
    const planned = (await output("adopt-secret old-key --dry-run")).trimEnd().split("\n");
    for (const line of planned)
      expect(await plugin.shell(`${line} --dry-run=server`), line).toMatchObject({ code: 0 });
    expect(planned).toHaveLength(2);
    await output("adopt-secret old-key --yes");
    await world.ready("ApiKey", "old-key");
    expect(await output("adopt-secret old-key")).toBe(
      "secret/old-key belongs to iamkey/old-key already.\n",
    );
    expect(await world.holdsLivePair("old-key")).toBe(true);
  });
});

describe("the console", () => {
  test("all thirteen calls are made, and no other", async () => {
    const { requests } = world.iam;
    const before = new Map(operations.map((name) => [name, requests.count(name)]));
    writeFileSync(
      join(plugin.folder, "validate.json"),
      '{"keyId":"${keyId}","secret":"${secret}"}',
    );
    const question = {
      targetId: await tpn(),
      action: "svc:Compute.Instances.ListInstances",
      resource: "trn:p1:compute:org-1:r1:prj-1:instance/i-0001",
    };
    const account = await saId();
    const target = await tpn();
    expect(await output(`console login ${withConsole}`)).toContain("accepts the credentials");
    await output(`console create-account another ${withConsole}`);
    expect(await output("console accounts --connection console")).toContain(account);
    expect(await output(`console account ${account} ${withConsole}`)).toContain(target);
    await output(`console issue-key ${account} --secret-file another.json ${withConsole}`);
    expect(
      await output("console validate-key --from-secret ci-bot-key --body validate.json"),
    ).toContain('"valid": true');
    expect(await output(`console policies ${withConsole}`)).toMatch(
      /^pol-read +read +custom +Allow 5 actions$/m,
    );
    expect(
      await output(`console sync ${target} --policy pol-read,pol-deploy --yes ${withConsole}`),
    ).toContain("pol-read, pol-deploy bound");
    expect(await output(`console bindings ${target} ${withConsole}`)).toBe(
      "POLICY-ID\npol-read\npol-deploy\n",
    );
    expect(
      await output(`console evaluate --body - ${withConsole}`, { input: JSON.stringify(question) }),
    ).toContain('"decision": "Allow"');
    expect(await output("console instances --from-secret ci-bot-key")).toMatch(/^i-0012 +vm-12/m);
    expect(await output(`console quotas --cluster-id 7 ${withConsole}`)).toContain("gpu-quota");
    expect(await output(`console actions instance --action-class list ${withConsole}`)).toBe(
      "ACTION                                CLASS\nsvc:Compute.Instances.ListInstances   List\n",
    );
    for (const name of operations)
      expect(requests.count(name), name).toBeGreaterThan(before.get(name) ?? 0);
    expect(requests.unknownCalls).toEqual([]);
  });

  test("a password comes from a file, standard input or the environment, and never from a flag", async () => {
    const base = `--base-url ${world.iam.url} --insecure-http --org-id org-1 --domain-name acme --username operator --login-domain acme`;
    expect(
      successOf(
        await kubectlIam(`console login ${base} --password-file -`, {
          input: "operator-password\n",
        }),
      ),
    ).toContain("accepts");
    expect(
      await output(`console login ${base}`, {
        environment: { IAM_CONSOLE_PASSWORD: "operator-password" },
      }),
    ).toContain("accepts");
    expect(await iam(`console login ${base}`)).toMatchObject({ code: 2 });
    const { help } = { help: await output("console login --help") };
    expect(help).not.toMatch(/--password <|--token <|--key-secret </);
  });

  test("secrets are shown with --reveal only", async () => {
    const hidden = await output(`console login -o json ${withConsole}`);
    expect(JSON.parse(hidden).result.accessToken).toBe("<hidden; --reveal shows it>");
    // Not noted in the log that is searched.
    const shown = await plugin.run(wordsOf(`console login --reveal ${withConsole}`));
    expect(JSON.parse(shown.output).result.accessToken).toMatch(/^ut_/);
    expect(statSync(join(plugin.folder, "key.json")).mode & 0o777).toBe(0o600);
  });

  test("an error has the request's id", async () => {
    world.iam.faults.add({
      operation: "listServiceAccounts",
      fault: { kind: "Refuse", status: 403 },
    });
    const { code, notes } = await iam(`console accounts ${withConsole}`);
    expect(code).toBe(3);
    expect(notes).toMatch(
      /^error: listServiceAccounts was answered with status 403.*\(request [-\w]+\)\n$/,
    );
  });

  test("a call with an unknown outcome says how to find out", async () => {
    world.iam.faults.add({
      operation: "createServiceAccount",
      fault: { kind: "Reset", when: "AfterCommit" },
    });
    const { code, notes } = await iam(`console create-account doubtful ${withConsole}`);
    expect(code).toBe(3);
    expect(notes).toContain("The change possibly took effect: kubectl iam console accounts");
  });
});

describe("doctor", () => {
  test("reports a working installation, or names the missing parts", async () => {
    const { output: text } = await iam(
      `doctor --operator-user operator --operator-namespace ${world.namespace}`,
    );
    expect(text).toMatch(/^ok +CRDs +all 6 are there/m);
    expect(text).toMatch(/^ok +Operator's permissions +all \d+ permissions are granted in \S+$/m);
    expect(text).toMatch(
      /^ok +iamconn\/console +the console accepts the credentials \(request [-\w]+\)$/m,
    );
    expect(text).toMatch(/^unknown +Leader +a Lease of the operator does not exist in /m);
  });

  test("names the RBAC rules that a user lacks", async () => {
    const { output: text, code } = await iam("doctor --operator-user mallory");
    expect(code).toBe(1);
    expect(text).toContain(
      '- { apiGroups: [""], resources: [secrets], verbs: [get, create, patch, delete] }',
    );
  });

  test("makes the console's checks for a denied call", async () => {
    const action = "svc:Compute.Volumes.AttachVolume";
    const { output: text, code } = await iam(`doctor ci-bot-key --action ${action}`);
    expect(code).toBe(1);
    expect(text).toMatch(/^ok +1\. Bindings +bound: pol-read, pol-deploy$/m);
    expect(text).toMatch(
      new RegExp(`^failed +2\\. Policies +no bound policy allows ${action}$`, "m"),
    );
    expect(text).toMatch(
      /^ok +3\. Key's account +key sak_\w+ belongs to account sa-\w+, which is active$/m,
    );
    expect(text).toMatch(/^ok +4\. Headers +your program has to send X-Domain-Id: org-1/m);
    expect(text).toMatch(new RegExp(`^ok +Action +the catalogue has ${action}$`, "m"));
  });
});

describe("a support bundle", () => {
  test("holds objects, events and calls, and no secret in any spelling", async () => {
    await world.annotate("ApiKey", "ci-bot-key", { note: `Bearer ${"x".repeat(30)}` });
    successOf(await kubectlIam("support-bundle bundle"));
    const folder = join(plugin.folder, "bundle");
    const files = Object.fromEntries(
      readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]),
    );
    expect(files["objects.yaml"]).toContain("name: ci-bot-key");
    expect(files["events.txt"]).toContain("KeyIssued");
    expect(files["console-calls.txt"]).toContain("/api/v1/iam/authn/public/login");
    expect(files["objects.yaml"]).toContain("Bearer <removed>");
    expect(findLeaks(files, world.secrets())).toEqual([]);
    expect(await kubectlIam("support-bundle bundle")).toMatchObject({ code: 2 });
  });
});

describe("completion", () => {
  test("kubectl's own finds commands, objects and namespaces", async () => {
    const complete = async (words: string) =>
      (await plugin.shell(`kubectl __complete iam ${words}`)).output.split("\n");
    expect(await complete('""')).toEqual(
      expect.arrayContaining([expect.stringMatching(/^status\t/)]),
    );
    expect(await complete("status iamk")).toContain("iamkey/ci-bot-key");
    expect(await complete("rotate ci")).toContain("ci-bot-key");
    expect(await complete("status -n kube-s")).toContain("kube-system");
    expect(await complete("help ro")).toEqual([expect.stringMatching(/^rotate\t/), ":4", ""]);
    expect(await complete('help rotate ""')).toEqual([":4", ""]);
  });

  test("bash takes its script", async () => {
    const script =
      'eval "$(kubectl-iam completion bash)"; COMP_WORDS=(kubectl-iam status iamk); COMP_CWORD=2; _kubectl_iam; echo "${COMPREPLY[@]}"';
    expect(await plugin.shell(`bash -c '${script}'`)).toMatchObject({
      output: expect.stringContaining("iamkey/ci-bot-key"),
      code: 0,
    });
  });
});

const operations = [
  "login",
  "createServiceAccount",
  "listServiceAccounts",
  "getServiceAccount",
  "issueKey",
  "validateKey",
  "listPolicies",
  "syncBindings",
  "listBindings",
  "evaluatePolicy",
  "listInstances",
  "listResourceQuotas",
  "searchActions",
] as const;
