/** What `diff` says of objects that the API server would not take, or that cannot be judged. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { permit } from "../../real-world/permissions.ts";
import { runInProcess } from "../../unit/kubectl-iam/support/in-process.ts";
import type { Ended } from "../../unit/kubectl-iam/support/plugin.ts";
import { CI_BOT_POLICIES, openScene, type Scene } from "./support/scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene.close());

const API = "iam-operator.io/v1alpha1";
const ref = { serviceAccountRef: { name: "ci-bot" } };
const connectionRef = { kind: "Connection", name: "console" };
const object = (kind: string, name: string, spec?: object, apiVersion = API) => ({
  ...{ apiVersion, kind, metadata: { name } },
  ...(spec && { spec }),
});

async function diff(objects: readonly object[], args = ""): Promise<Ended> {
  const { plugin, world } = scene;
  const file = join(plugin.folder, "given.json");
  writeFileSync(file, JSON.stringify({ kind: "List", items: objects }));
  const words = `diff -f ${file} --kubeconfig ${plugin.kubeconfig} ${args}`.trim().split(" ");
  const ended = await runInProcess(words);
  world.logs.push(ended.output, ended.notes);
  return ended;
}

test("a ServiceAccount without a spec is valid", async () => {
  const { code, notes } = await diff([object("ServiceAccount", "bare")]);
  // The namespace has no ClusterConnection named default.
  expect(notes).toContain("iamsa/bare would not be ready and would report ConnectionNotFound: ");
  expect(code).toBe(1);
});

test("a ServiceAccount of Kubernetes is not one of the operator", async () => {
  const ended = await diff([
    object("ServiceAccount", "new", undefined, "v1"),
    object("ApiKey", "ci-bot-key", ref),
  ]);
  expect(ended).toEqual({
    code: 0,
    output: "",
    notes: "Nothing would change in the console.\n",
  });
  expect(await diff([object("ServiceAccount", "new", undefined, "v1")])).toMatchObject({
    code: 2,
    notes: expect.stringContaining(`the files hold no object of ${API}`),
  });
});

test("an object that is given twice is an error", async () => {
  const twins = [object("ApiKey", "k", ref), object("ApiKey", "k", { ...ref, suspend: true })];
  expect(await diff(twins)).toMatchObject({
    code: 2,
    notes: expect.stringMatching(/hold an object twice: \S+\/v1alpha1 ApiKey \S+\/k$/m),
  });
});

test.each([
  [object("APIKey", "k", ref), /APIKey k of .* is not served; write \S+\/v1alpha1 ApiKey/],
  [
    object("ApiKey", "k", ref, "iam-operator.io/v1"),
    /ApiKey k of iam-operator.io\/v1 is not served/,
  ],
  [
    object("Key", "k", ref),
    /not served \(served by iam-operator.io\/v1alpha1: ClusterConnection, /,
  ],
  [{ kind: "ApiKey", metadata: { name: "k" } }, /ApiKey k lacks an apiVersion/],
])("a kind that is not served is an error: %j", async (given, message) => {
  expect(await diff([given])).toMatchObject({ code: 2, notes: expect.stringMatching(message) });
});

/** Each is refused by the API server, and by the schemas of the plugin if that cannot be asked. */
const refused: readonly [string, object, RegExp][] = [
  [
    "an unknown field",
    object("ApiKey", "k", { ...ref, expiresInDay: 3 }),
    /unknown field "spec.expiresInDay"/,
  ],
  [
    "an upper-case name",
    object("ApiKey", "Key", ref),
    /iamkey\/Key would be refused: .*Key.*lower.case/,
  ],
  [
    "another name of the Secret",
    object("ApiKey", "ci-bot-key", { ...ref, secret: { name: "other" } }),
    /iamkey\/ci-bot-key would be refused: .*spec.secret.name.*is immutable/,
  ],
  [
    "a value out of bounds",
    object("ApiKey", "k", { ...ref, expiresInDays: 0 }),
    /spec.expiresInDays/,
  ],
];

test.each(refused)("%s is refused, and the rest is planned", async (_, given, message) => {
  const ended = await diff([given, object("ApiKey", "good", ref)]);
  expect(ended.notes).toMatch(message);
  expect(ended.notes).not.toContain("by schema only");
  expect(ended.output).toMatch(/^iamkey\/good +issueKey /m);
  expect(ended.code).toBe(3);
});

test("a policy that the console does not list is not bound, and then the operator does the same", async () => {
  const { world } = scene;
  const policyIds = ["pol-read", "pol-member", "pol-mistyped"];
  const ended = await diff([object("PolicyBinding", "ci-bot", { ...ref, policyIds })], "-o json");
  const { items } = JSON.parse(ended.output) as { readonly items: readonly object[] };
  expect(items).toMatchObject([
    { call: "syncBindings", bind: ["pol-member (member)"], unbind: [] },
  ]);
  expect(ended.output).toContain("Policy pol-mistyped is not among the organization's policies.");
  expect(ended.code).toBe(1);
  await world.apply("PolicyBinding", "ci-bot", { ...ref, policyIds });
  await world.condition("PolicyBinding", "ci-bot", "Ready", "False", "PolicyRefused");
  const { tpn = "" } = (await world.get("ServiceAccount", "ci-bot")).status ?? {};
  const bound = () => world.iam.world.boundTo(tpn).toSorted().join(" ");
  await world.until("the planned policies", () => bound() === "pol-deploy pol-member pol-read");
  const again = await diff([object("PolicyBinding", "ci-bot", { ...ref, policyIds })]);
  expect(again).toMatchObject({ code: 1, output: "" });
  expect(again.notes).toContain(
    "iampb/ci-bot would not be ready and would report PolicyRefused: The console refused to bind pol-mistyped, as last reported.",
  );
  await world.apply("PolicyBinding", "ci-bot", CI_BOT_POLICIES);
  await world.ready("PolicyBinding", "ci-bot");
});

test("a namespace that is given may be new", async () => {
  const metadata = { name: "bare", namespace: "not-yet" };
  const ended = await diff([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "not-yet" } },
    { apiVersion: API, kind: "ServiceAccount", metadata },
  ]);
  expect(ended.notes).toContain("Checked by schema only, not by the API server: iamsa/bare.");
  expect(ended.code).toBe(1);
  const alone = await diff([{ apiVersion: API, kind: "ServiceAccount", metadata }]);
  expect(alone.notes).toMatch(/iamsa\/bare would be refused: .*namespaces "not-yet" not found/);
  expect(alone.code).toBe(3);
});

describe("as a tenant who reads only", () => {
  beforeAll(() =>
    permit(scene.world.kube, scene.world.namespace, "diff-reader", [
      { apiGroups: ["iam-operator.io"], resources: ["*"], verbs: ["get", "list"] },
      { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: ["get", "list"] },
    ]),
  );

  test.each(refused)("%s is refused by the schemas", async (_, given, message) => {
    const ended = await diff([given, object("ApiKey", "good", ref)], "--as diff-reader");
    expect(ended.notes).toMatch(message);
    expect(ended.notes).toContain("Checked by schema only, not by the API server: iamkey/good.");
    expect(ended.output).toMatch(/^iamkey\/good +issueKey /m);
    expect(ended.code).toBe(3);
  });

  test("whether an account is free to be imported is unknown", async () => {
    const { world } = scene;
    const made = { orgId: "org-1", projectId: "prj-1", name: "free", description: "" };
    const { saId } = world.iam.world.createAccount(made);
    const given = [object("ServiceAccount", "imported", { connectionRef, saId })];
    expect(await diff(given)).toMatchObject({ code: 0 });
    const ended = await diff(given, "--as diff-reader");
    expect(ended.notes).toContain("and another ServiceAccount may manage account");
    expect(ended.code).toBe(4);
  });

  test("a ClusterConnection that cannot be read is not absent", async () => {
    const ended = await diff(
      [object("ServiceAccount", "bare"), object("ServiceAccount", "good", { connectionRef })],
      "--as diff-reader",
    );
    expect(ended.notes).toMatch(
      /error: iamsa\/bare, policies of iamsa\/bare: what would change is unknown: ClusterConnection default cannot be read \(.*clusterconnections/,
    );
    expect(ended.output).toMatch(/^iamsa\/good +createServiceAccount /m);
    expect(ended.code).toBe(4);
  });
});

test("without any permission, the result is unknown", async () => {
  const ended = await diff([object("ApiKey", "good", ref)], "--as nobody");
  expect(ended).toMatchObject({ code: 4, output: "" });
  expect(ended.notes).toMatch(/^error: the API server refuses it/);
});
