/** `diff` plans with the Secrets of its files, as they would be stored. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { DEFAULT_CREDENTIALS } from "../../../tools/iam-server/seed.ts";
import { type Differ, differ, object } from "./support/diff.ts";
import { openScene, type Scene } from "./support/scene.ts";

let scene: Scene;
let files: Differ;
beforeAll(async () => {
  scene = await openScene();
  files = differ(scene);
});
afterAll(() => scene.close());

const secret = (name: string, content: object) => ({
  ...{ apiVersion: "v1", kind: "Secret", metadata: { name } },
  ...content,
});
const account = (name: string, connection: string) =>
  object("ServiceAccount", name, { connectionRef: { kind: "Connection", name: connection } });
async function connection(name: string, more: object = {}) {
  const { spec } = await scene.world.get("Connection", "console");
  const credentials = { login: { secretRef: { name: `${name}-login` } } };
  return object("Connection", name, { ...spec, credentials, ...more });
}

test.each(["stringData", "data"])("a login in the file is used, as %s", async (field) => {
  const name = field.toLowerCase();
  const entries = Object.entries(DEFAULT_CREDENTIALS).map(([key, value]) => [
    key,
    field === "data" ? btoa(value) : value,
  ]);
  const login = secret(`${name}-login`, { [field]: Object.fromEntries(entries) });
  const set = [login, await connection(name), account(name, name)];
  const { code, output, notes } = await files.diff(set);
  expect(output).toMatch(new RegExp(`^iamsa/${name} +createServiceAccount `, "m"));
  expect({ code, notes }).toEqual({ code: 1, notes: "" });
  await files.apply(set);
  await scene.world.ready("ServiceAccount", name);
});

test("the entries that the file does not have are kept", async () => {
  const { world } = scene;
  await world.writeSecret("kept-login", { ...DEFAULT_CREDENTIALS, password: "old" });
  const set = [
    secret("kept-login", { stringData: { password: DEFAULT_CREDENTIALS.password } }),
    await connection("kept"),
    account("kept", "kept"),
  ];
  expect((await files.diff(set)).output).toMatch(/^iamsa\/kept +createServiceAccount /m);
  await files.apply(set);
  await world.ready("ServiceAccount", "kept");
});

test.each([
  ["absent", undefined, "SecretNotFound"],
  ["wrong", { ...DEFAULT_CREDENTIALS, password: "wrong" }, "LoginFailed"],
])("a connection whose login is %s would not be ready", async (name, stringData, reason) => {
  const login = stringData === undefined ? [] : [secret(`${name}-login`, { stringData })];
  const set = [...login, await connection(name)];
  const { code, output, notes } = await files.diff(set);
  expect(notes).toContain(`iamconn/${name} would not be ready and would report ${reason}: `);
  expect({ code, output }).toEqual({ code: 1, output: "" });
  await files.apply(set);
  await scene.world.condition("Connection", name, "Ready", "False", reason);
});

test("a connection that is suspended stays ready, and its users do not", async () => {
  const { world } = scene;
  const file = await connection("console", { suspend: true });
  const { code, notes } = await files.diff([file]);
  expect(notes).not.toContain("iamconn/console");
  expect(notes).toContain("iamsa/ci-bot would not be ready and would report ConnectionSuspended: ");
  expect(code).toBe(1);
  await files.apply([file]);
  await world.condition("ServiceAccount", "ci-bot", "Ready", "False", "ConnectionSuspended");
  await world.condition("Connection", "console", "Ready", "True", "Suspended");
  await world.patch("Connection", "console", { spec: { suspend: false } });
  await world.ready("ServiceAccount", "ci-bot");
});

test("a login that the console refuses leaves the users of its connection waiting", async () => {
  const { world } = scene;
  const wrong = secret("console-login", { stringData: { password: "wrong" } });
  const { code, output, notes } = await files.diff([wrong]);
  expect(notes).toContain("iamconn/console would not be ready and would report LoginFailed: ");
  expect(notes).toContain("iamsa/ci-bot would not be ready and would report ConnectionNotReady: ");
  expect({ code, output }).toEqual({ code: 1, output: "" });
  await files.apply([wrong]);
  await world.reconcile("Connection", "console", "wrong");
  await world.condition("ServiceAccount", "ci-bot", "Ready", "False", "ConnectionNotReady");

  const right = secret("console-login", { stringData: DEFAULT_CREDENTIALS });
  const nothing = { code: 0, output: "", notes: "Nothing would change in the console.\n" };
  expect(await files.diff([right])).toEqual(nothing);
  await files.apply([right]);
  await world.reconcile("Connection", "console", "right");
  await world.ready("ServiceAccount", "ci-bot");
});
