/** `diff` plans what `kubectl apply` makes of a file. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KindName } from "../../../src/api/kinds.ts";
import { parseSpec } from "../../../src/api/parse-spec.ts";
import { keyOf } from "../../../src/kube/resource.ts";
import { applied } from "../../../src/kubectl-iam/cluster/apply.ts";
import type { FileObject } from "../../../src/kubectl-iam/cluster/given-objects.ts";
import { kindOf, typeOf } from "../../../src/kubectl-iam/cluster/kinds.ts";
import { judge } from "../../../src/kubectl-iam/cluster/verdict.ts";
import { permit } from "../../real-world/permissions.ts";
import { runInProcess } from "../../unit/kubectl-iam/support/in-process.ts";
import type { Ended } from "../../unit/kubectl-iam/support/plugin.ts";
import { openScene, type Scene } from "./support/scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
  await permit(scene.world.kube, scene.world.namespace, "diff-reader", [
    { apiGroups: ["iam-operator.io"], resources: ["*"], verbs: ["get", "list"] },
    { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: ["get", "list"] },
  ]);
});
afterAll(() => scene.close());

function object(kind: KindName, name: string, spec?: object, metadata: object = {}): FileObject {
  const { namespace } = scene.world;
  const place = { name, namespace, ...metadata };
  return { apiVersion: "iam-operator.io/v1alpha1", kind, metadata: place, spec };
}

function write(objects: readonly object[]): string {
  const file = join(scene.plugin.folder, "given.json");
  writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
  return file;
}

async function kubectl(line: string): Promise<string> {
  const { code, output, notes } = await scene.plugin.shell(`kubectl ${line}`);
  expect({ code, notes: code === 0 ? "" : notes }).toEqual({ code: 0, notes: "" });
  return output;
}

async function iam(line: string): Promise<Ended> {
  const ended = await runInProcess([
    ...line.split(" "),
    ...["--kubeconfig", scene.plugin.kubeconfig],
  ]);
  scene.world.logs.push(ended.output, ended.notes);
  return ended;
}

const connectionRef = { kind: "Connection", name: "console" };
const bind = (name: string, ...policyIds: readonly string[]) =>
  object("PolicyBinding", name, { serviceAccountRef: { name }, policyIds });

async function boundTo(name: string): Promise<string> {
  const { tpn = "" } = (await scene.world.get("ServiceAccount", name)).status ?? {};
  return scene.world.iam.world.boundTo(tpn).toSorted().join(" ");
}

test.each(["", " --as diff-reader"])("revoked access stays revoked%s", async (as) => {
  const { world } = scene;
  const name = as === "" ? "leaked" : "leaked-too";
  const file = write([
    object("ServiceAccount", name, { connectionRef }),
    bind(name, "pol-read", "pol-deploy"),
  ]);
  await kubectl(`apply -f ${file}`);
  await world.ready("PolicyBinding", name);
  expect(await iam(`revoke-access ${name} --yes`)).toMatchObject({ code: 0 });
  const ended = await iam(`diff -f ${file}${as}`);
  expect(ended.output).toBe("");
  expect(ended.notes).toContain(
    `iampb/${name} would not be ready and would report AccessRevoked: `,
  );
  expect(ended.code).toBe(1);
  expect(await kubectl(`apply -f ${file}`)).not.toContain("configured");
  expect((await world.get("ServiceAccount", name)).spec.access).toBe("Revoked");
  expect(await boundTo(name)).toBe("");
});

test("a suspended PolicyBinding stays suspended", async () => {
  const { world } = scene;
  const account = object("ServiceAccount", "paused", { connectionRef });
  await kubectl(`apply -f ${write([account, bind("paused", "pol-read")])}`);
  await world.ready("PolicyBinding", "paused");
  expect(await iam("suspend iampb/paused")).toMatchObject({ code: 0 });
  const file = write([account, bind("paused", "pol-read", "pol-deploy")]);
  const ended = await iam(`diff -f ${file}`);
  expect(ended.output).toBe("");
  expect(ended.notes).toContain("iampb/paused would not be ready and would report Suspended: ");
  await kubectl(`apply -f ${file}`);
  await world.condition("PolicyBinding", "paused", "Ready", "False", "Suspended");
  expect(await boundTo("paused")).toBe("pol-read");
});

test("what Helm would leave of an object is unknown, unless it is as in the file", async () => {
  const labels = { "app.kubernetes.io/managed-by": "Helm" };
  const account = object("ServiceAccount", "charted", { connectionRef }, { labels });
  await kubectl(`create -f ${write([account])}`);
  await scene.world.ready("ServiceAccount", "charted");
  expect(await iam(`diff -f ${write([account])}`)).toMatchObject({ code: 0 });
  await kubectl('patch iamsa charted --type=merge -p \'{"spec":{"suspend":true}}\'');
  const { code, notes } = await iam(`diff -f ${write([account])}`);
  expect(notes).toContain(
    "error: iamsa/charted: planned as kubectl apply would leave it, but Helm ",
  );
  expect(notes).toContain("What would change in the console is unknown.");
  expect(code).toBe(4);
});

const ref = { serviceAccountRef: { name: "absent" } };

/** A file, a change since it was applied, and its next version. */
const histories: readonly {
  readonly title: string;
  readonly kind: KindName;
  readonly first: object;
  readonly patch: object;
  readonly next: object;
}[] = [
  {
    title: "fields of the file are set and deleted, and others are kept",
    kind: "ApiKey",
    first: { ...ref, expiresInDays: 30, rotation: { overlap: "2h", renewBefore: "48h" } },
    patch: { maxIssuesPerDay: 6, suspend: true },
    next: { ...ref, rotation: { overlap: "3h" } },
  },
  {
    title: "a whole field that the file no longer has",
    kind: "ApiKey",
    first: { ...ref, rotation: { renewBefore: "48h" } },
    patch: { suspend: true },
    next: ref,
  },
  {
    title: "a field that a patch changed is set to the file's value",
    kind: "ApiKey",
    first: { ...ref, maxIssuesPerDay: 5 },
    patch: { maxIssuesPerDay: 6, expiresInDays: 20 },
    next: { ...ref, maxIssuesPerDay: 7 },
  },
  {
    title: "a field that a patch set and the file no longer has",
    kind: "PolicyBinding",
    first: { ...ref, policyIds: ["pol-read"], suspend: false },
    patch: { suspend: true },
    next: { ...ref, policyIds: ["pol-deploy"] },
  },
  {
    title: "a null that was in the file before",
    kind: "PolicyBinding",
    first: { ...ref, policyIds: ["pol-read"], suspend: null },
    patch: { suspend: true },
    next: { ...ref, policyIds: ["pol-read"], suspend: null },
  },
  {
    title: "a null that is new in the file",
    kind: "PolicyBinding",
    first: { ...ref, policyIds: ["pol-read"], suspend: true },
    patch: { deletionPolicy: "Retain" },
    next: { ...ref, policyIds: ["pol-read"], suspend: null },
  },
  {
    title: "an account of which the file says nothing",
    kind: "ServiceAccount",
    first: { connectionRef, description: "first" },
    patch: { access: "Revoked" },
    next: { connectionRef },
  },
];

describe.each([
  ["apply", "apply"],
  ["apply --server-side", "apply --server-side --force-conflicts"],
  ["create", "apply"],
])("after kubectl %s", (create, apply) => {
  test.each(histories)("$title", async ({ kind, first, patch: spec, next }) => {
    const { kube } = scene.world;
    const name = "history";
    const labels = { kept: "a", gone: "a" };
    await kubectl(`${create} -f ${write([object(kind, name, first, { labels })])}`);
    const metadata = { labels: { patched: "a" }, annotations: { patched: "a" } };
    const patch = JSON.stringify({ metadata, spec });
    await kubectl(`patch ${kindOf(kind).shortName} ${name} --type=merge -p '${patch}'`);
    const file = object(kind, name, next, { labels: { kept: "b" } });
    const stored = await kube.get(typeOf(kind), keyOf(file));
    if (stored === undefined) throw new Error("it was created");
    const planned = await judge(kube, file, [file]);
    const local = applied(stored, file);
    await kubectl(`${apply} -f ${write([file])}`);
    const real = await kube.get(typeOf(kind), keyOf(file));
    await kubectl(`delete ${kindOf(kind).shortName} ${name}`);
    const parsed = (spec: unknown) => parseSpec(kindOf(kind), { spec });
    expect(planned).toMatchObject({ kind: "Accepted", isBySchema: false });
    expect(planned.object.spec).toEqual((real as FileObject).spec);
    expect(planned.object.metadata.labels).toEqual(real?.metadata.labels);
    expect(parsed(local.spec)).toEqual(parsed(planned.object.spec));
  });
});

test("with several field managers, the file's is the one that owns its fields", async () => {
  const { kube } = scene.world;
  const type = typeOf("ServiceAccount");
  const file = object("ServiceAccount", "shared", { connectionRef });
  for (const [fieldManager, spec] of [
    ["gitops", { connectionRef, description: "made" }],
    ["security", { access: "Revoked" }],
  ] as const)
    await kube.apply(type, { ...file, spec } as never, { fieldManager });
  const planned = await judge(kube, file, [file]);
  await kube.apply(type, file as never, { fieldManager: "gitops" });
  const real = await kube.get(type, keyOf(file));
  await kube.delete(type, keyOf(file), {});
  expect(real).toMatchObject({ spec: { access: "Revoked" } });
  expect(planned.object.spec).toEqual((real as unknown as FileObject).spec);
});
