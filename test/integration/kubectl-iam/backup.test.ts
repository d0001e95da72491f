/** What `backup` writes and says, and what `restore` refuses or leaves out. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openWorld } from "../../real-world/in-world.ts";
import { runInProcess } from "../../unit/kubectl-iam/support/in-process.ts";
import type { Ended } from "../../unit/kubectl-iam/support/plugin.ts";
import { openScene, type Scene } from "./support/scene.ts";

interface Written {
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

const NOTE = "a family: \u{1f468}\u200d\u{1f467}, kept as it is";
const folder = mkdtempSync(join(tmpdir(), "backup-"));
const whole = join(folder, "whole.yaml");
let scene: Scene;
let world: Scene["world"];

beforeAll(async () => {
  scene = await openScene();
  ({ world } = scene);
  await world.annotate("ApiKey", "ci-bot-key", { note: NOTE });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await scene.close();
});

async function iam(args: string): Promise<Ended> {
  const ended = await runInProcess([...args.split(" "), "--kubeconfig", scene.plugin.kubeconfig]);
  world.logs.push(ended.notes);
  return ended;
}

const keyIdOf = async (name: string) => (await world.get("ApiKey", name)).status?.current?.keyId;

test("a backup holds objects as a user could have written them, each after what it needs", async () => {
  const { code, output, notes } = await iam("backup");
  expect({ code, notes }).toEqual({
    code: 0,
    notes:
      "The output holds secrets: Secrets with key pairs: 1, Secrets of connections: 1. Encrypt it.\n",
  });
  const objects = loadAll(output) as readonly Written[];
  expect(objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`)).toEqual([
    `Namespace/${world.namespace}`,
    "Secret/console-login",
    "Secret/ci-bot-key",
    "Connection/console",
    "ServiceAccount/ci-bot",
    "PolicyBinding/ci-bot",
    "ApiKey/ci-bot-key",
    "ResourceQuotaExport/cluster-7",
  ]);
  const allowed = ["name", "namespace", "labels", "annotations"];
  for (const object of objects) {
    expect(allowed).toEqual(expect.arrayContaining(Object.keys(object.metadata)));
    expect(object).not.toHaveProperty("status");
  }
  const { saId } = (await world.get("ServiceAccount", "ci-bot")).status ?? {};
  expect(objects[4]?.spec).toMatchObject({ saId, deletionPolicy: "Revoke" });
  expect(objects[6]?.metadata.annotations).toEqual({ note: NOTE });
});

test("a backup names an account and a key that it does not hold", async () => {
  expect(await iam(`backup ${whole}`)).toMatchObject({ code: 0, output: "" });
  await world.serviceAccount("later", { suspend: true });
  await world.apiKey("later-key", { serviceAccountRef: { name: "later" } });
  await world.condition("ApiKey", "later-key", "Ready", "False", "ServiceAccountNotReady");
  const partly = join(folder, "partly.yaml");
  const { code, notes } = await iam(`backup ${partly}`);
  expect(code).toBe(1);
  const at = `in namespace ${world.namespace}`;
  expect(notes).toContain(
    `iamsa/later ${at} names no account, so restore does not create this object.\n`,
  );
  expect(notes).toContain(
    `iamkey/later-key ${at} does not have a key yet, so restore does not create this object.\n`,
  );
  await world.delete("ApiKey", "later-key");
  await world.isGone("ApiKey", "later-key");
  await world.patch("ServiceAccount", "later", {
    spec: { suspend: false, deletionPolicy: "Retain" },
  });
  await world.delete("ServiceAccount", "later");
  await world.isGone("ServiceAccount", "later");

  const accounts = world.iam.world.accounts.size;
  const restored = await iam(`restore -f ${partly} --yes`);
  expect(restored.code).toBe(1);
  expect(restored.notes).toContain(
    `iamsa/later ${at} is left out: the operator would create an account.\n`,
  );
  expect(restored.notes).toContain(`iamkey/later-key ${at} is left out: `);
  expect(restored.output).toContain(
    "ApiKeys Ready with a key of the backup: 1 of 2. Accounts created: 0.",
  );
  expect(await world.find("ServiceAccount", "later")).toBeUndefined();
  expect(world.iam.world.accounts.size).toBe(accounts);
});

test("a backup does not replace a file", async () => {
  const before = readFileSync(whole, "utf8");
  const { code, notes } = await iam(`backup ${whole}`);
  expect(code).toBe(2);
  expect(notes).toContain(`${whole} cannot be created (EEXIST): give the name of a new file`);
  expect(readFileSync(whole, "utf8")).toBe(before);
});

describe("restore", () => {
  test("says that there is nothing to do, in a dry run too", async () => {
    const { code, output } = await iam(`restore -f ${whole} --dry-run`);
    expect({ code, output }).toEqual({
      code: 0,
      output: "Nothing to create: every object exists.\n",
    });
  });

  test("leaves out an ApiKey without its Secret, and creates it when it has the Secret", async () => {
    const bare = join(folder, "bare.yaml");
    const saved = await iam(`backup ${bare} --without-secrets`);
    expect(saved).toMatchObject({ code: 0, notes: expect.stringContaining("holds no Secret") });
    const keyId = await keyIdOf("ci-bot-key");
    await world.delete("ApiKey", "ci-bot-key");
    await world.until(
      "the Secret to be gone",
      async () => (await world.secret("ci-bot-key")) === undefined,
    );
    await world.isGone("ApiKey", "ci-bot-key");
    const keys = world.iam.world.keys.size;

    const without = await iam(`restore -f ${bare} --yes`);
    expect(without.code).toBe(1);
    expect(without.notes).toContain("neither the file nor the cluster holds its Secret");
    expect(await world.find("ApiKey", "ci-bot-key")).toBeUndefined();

    const asked = await iam(`restore -f ${whole}`);
    expect(asked.code).toBe(2);
    expect(asked.notes).toMatch(
      /Create 2 objects in https:.*stop it first\. .* confirm with --yes\./,
    );
    expect(await world.find("ApiKey", "ci-bot-key")).toBeUndefined();

    const { code, output } = await iam(`restore -f ${whole} --yes`);
    expect({ code, output }).toEqual({
      code: 0,
      output: `secret/ci-bot-key in namespace ${world.namespace} created
iamkey/ci-bot-key in namespace ${world.namespace} created
ApiKeys Ready with a key of the backup: 1 of 1. Accounts created: 0. Keys issued: 0.
`,
    });
    expect(await keyIdOf("ci-bot-key")).toBe(keyId);
    expect(world.iam.world.keys.size).toBe(keys);
  });

  test("refuses an account that an object of the cluster has", async () => {
    const other = await openWorld({ bare: true });
    const moved = join(folder, "moved.yaml");
    const text = readFileSync(whole, "utf8").replaceAll(world.namespace, other.namespace);
    writeFileSync(moved, text);
    const { code, output, notes } = await iam(`restore -f ${moved} --yes`);
    expect({ code, output }).toEqual({ code: 3, output: "" });
    const { saId } = (await world.get("ServiceAccount", "ci-bot")).status ?? {};
    expect(notes).toContain(
      `error: iamsa/ci-bot in namespace ${other.namespace} would share account ${saId} with iamsa/ci-bot in namespace ${world.namespace}.\n`,
    );
    expect(await other.secret("ci-bot-key")).toBeUndefined();
    await other.close();
  });

  test("refuses a backup that is older than the key", async () => {
    const old = await keyIdOf("ci-bot-key");
    expect(await iam("rotate ci-bot-key")).toMatchObject({ code: 0 });
    const now = await keyIdOf("ci-bot-key");
    const { code, output, notes } = await iam(`restore -f ${whole} --yes`);
    expect({ code, output }).toEqual({ code: 3, output: "" });
    expect(notes).toContain(
      `secret/ci-bot-key in namespace ${world.namespace} holds key ${now}, not key ${old}.\n`,
    );
    expect(notes).toContain(`has key ${now}, not ${old}: a key was issued after the backup.\n`);
    expect((await world.entries("ci-bot-key")).keyId).toBe(now);
  });
});
