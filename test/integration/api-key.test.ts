import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FINALIZER } from "../../src/api/meta.ts";
import { World, type WorldOptions } from "./support/world.ts";

let world: World;
const opened = async (options: WorldOptions = {}) => {
  world = await World.open(options);
  await world.serviceAccount("ci");
  await world.ready("ServiceAccount", "ci");
};
afterEach(() => world.close());

const rotate = (name: string, token: string) =>
  world.annotate("ApiKey", name, { "iam-operator.io/rotate-requested-at": token });

describe("a new ApiKey", () => {
  beforeEach(() => opened());

  test("gets a key that the console accepts, in its Secret, for one call", async () => {
    await world.apiKey("key");
    await world.ready("ApiKey", "key");
    expect(await world.holdsLivePair("key")).toBe(true);
    expect(world.iam.requests.count("issueKey")).toBe(1);
    await world.until(
      "the staging Secret to go",
      async () => (await world.secret("key-next")) === undefined,
    );
    const { status } = await world.get("ApiKey", "key");
    expect(status?.current?.keyId).toBe((await world.entries("key")).keyId);
    expect(status?.attempt).toBeUndefined();
  });

  test("renders the entries that are asked for, and again without a new key when they change", async () => {
    await world.apiKey("key", {
      secret: { data: { "c.json": '{"id":${keyId:json},"s":${secret:json}}' } },
    });
    await world.ready("ApiKey", "key");
    const first: unknown = JSON.parse((await world.entries("key"))["c.json"] ?? "");
    await world.apiKey("key", { secret: { data: { id: "${keyId}", env: "S=${secret}\n" } } });
    await world.until("the new entries", async () => "env" in (await world.entries("key")));
    const { id, env, ...rest } = await world.entries("key");
    expect({ id, s: env?.slice(2).trim() }).toEqual(first);
    expect(rest).toEqual({});
    expect(world.iam.requests.count("issueKey")).toBe(1);
  });

  test("waits for its ServiceAccount and says so", async () => {
    await world.apiKey("key", { serviceAccountRef: { name: "later" } });
    await world.condition("ApiKey", "key", "Ready", "False", "ServiceAccountNotFound");
    await world.serviceAccount("later");
    await world.ready("ApiKey", "key");
  });

  test("never touches a Secret of somebody else, and asks for no key then", async () => {
    await world.writeSecret("key", { keyId: "theirs" });
    await world.apiKey("key");
    await world.condition("ApiKey", "key", "Ready", "False", "SecretConflict");
    expect(await world.entries("key")).toEqual({ keyId: "theirs" });
    expect(world.iam.requests.count("issueKey")).toBe(0);
    await world.apiKey("key", { secret: { onExisting: "Adopt" } });
    await world.ready("ApiKey", "key");
    expect(await world.holdsLivePair("key")).toBe(true);
  });

  test("does nothing while suspended", async () => {
    await world.apiKey("key", { suspend: true });
    await world.condition("ApiKey", "key", "Ready", "False", "Suspended");
    expect(world.iam.requests.count("issueKey")).toBe(0);
    await world.apiKey("key", { suspend: false });
    await world.ready("ApiKey", "key");
  });

  test("is delivered once the console accepts it, and not before", async () => {
    world.iam.faults.keyPropagationMs = 700;
    await world.apiKey("key");
    await world.until(
      "the staged pair",
      async () => (await world.secret("key-next")) !== undefined,
    );
    expect(await world.secret("key")).toBeUndefined();
    await world.ready("ApiKey", "key");
    expect(world.iam.requests.count("issueKey")).toBe(1);
  });

  test("keeps to its budget when the answers get lost, and lists every lost key", async () => {
    world.iam.faults.add({
      operation: "issueKey",
      when: "afterCommit",
      action: { kind: "reset" },
      times: "always",
    });
    await world.apiKey("key", { maxIssuesPerDay: 2 });
    await world.condition("ApiKey", "key", "IssuanceAllowed", "False", "BudgetExceeded");
    expect(
      world.iam.world.keysOf((await world.get("ServiceAccount", "ci")).status?.saId ?? ""),
    ).toHaveLength(2);
    const { status } = await world.get("ApiKey", "key");
    expect(status?.orphaned).toHaveLength(2);
    await world.iam.faults.clear();
    await rotate("key", "now");
    await world.ready("ApiKey", "key");
    expect((await world.get("ApiKey", "key")).status?.orphanCount).toBe(2);
  });
});

describe("a Secret with a type", () => {
  beforeEach(() => opened());

  const dockerConfig =
    '{"auths": {"registry.example.com": {"username": ${keyId:json}, "password": ${secret:json}}}}';

  test.each([
    ["kubernetes.io/basic-auth", { username: "${keyId}", password: "${secret}" }],
    ["kubernetes.io/dockerconfigjson", { ".dockerconfigjson": dockerConfig }],
    ["example.com/type", {}],
  ])("%s is made with it, rotated, and made again", async (type, entries) => {
    const data = { keyId: "${keyId}", secret: "${secret}", ...entries };
    await world.apiKey("key", { secret: { type, data } });
    await world.ready("ApiKey", "key");
    const first = await world.secret("key");
    expect(first?.type).toBe(type);
    expect(await world.holdsLivePair("key")).toBe(true);
    await rotate("key", "now");
    await world.until(
      "the rotation",
      async () => (await world.secret("key"))?.data?.keyId !== first?.data?.keyId,
    );
    expect(await world.holdsLivePair("key")).toBe(true);
    await world.kube.delete(world.secretType, { namespace: world.namespace, name: "key" }, {});
    await world.until("a new pair", () => world.holdsLivePair("key"));
    expect((await world.secret("key"))?.type).toBe(type);
    expect(world.iam.requests.count("issueKey")).toBe(3);
  });

  test("that the API server would refuse costs no key", async () => {
    const type = "kubernetes.io/dockerconfigjson";
    await world.apiKey("key", {
      secret: { type, data: { ".dockerconfigjson": '{"auths": ${secret:json}' } },
    });
    const { status } = await world.condition("ApiKey", "key", "Ready", "False", "Invalid");
    expect(JSON.stringify(status)).toContain(".dockerconfigjson");
    expect(world.iam.requests.count("issueKey")).toBe(0);
    await world.apiKey("key", { secret: { type, data: { ".dockerconfigjson": dockerConfig } } });
    await world.ready("ApiKey", "key");
    expect((await world.secret("key"))?.type).toBe(type);
  });

  test("is not adopted where it has another type, which costs no key", async () => {
    await world.writeSecret("key", { keyId: "theirs" });
    await world.apiKey("key", {
      secret: {
        type: "kubernetes.io/basic-auth",
        data: { username: "${keyId}", password: "${secret}" },
        onExisting: "Adopt",
      },
    });
    await world.condition("ApiKey", "key", "Ready", "False", "SecretConflict");
    expect(await world.entries("key")).toEqual({ keyId: "theirs" });
    expect(world.iam.requests.count("issueKey")).toBe(0);
  });
});

describe("rotation", () => {
  beforeEach(() => opened());

  test("on request replaces the pair once per token and lists the old key", async () => {
    await world.apiKey("key");
    await world.ready("ApiKey", "key");
    const before = (await world.entries("key")).keyId;
    await rotate("key", "one");
    await world.until("another key", async () => (await world.entries("key")).keyId !== before);
    await world.until("the old key among the superseded", async () => {
      const { status } = await world.get("ApiKey", "key");
      return status?.superseded?.[0]?.keyId === before && status?.superseded?.[0]?.state === "Live";
    });
    expect(await world.holdsLivePair("key")).toBe(true);
    await world.annotate("ApiKey", "key", { "iam-operator.io/reconcile-requested-at": "x" });
    await world.until(
      "the pass",
      async () => (await world.get("ApiKey", "key")).status?.lastHandledReconcileAt === "x",
    );
    expect(world.iam.requests.count("issueKey")).toBe(2);
  });

  test("shows the previous pair during the overlap where the entries ask for it", async () => {
    await world.apiKey("key", {
      secret: { data: { now: "${keyId} ${secret}", before: "${previousKeyId} ${previousSecret}" } },
    });
    await world.ready("ApiKey", "key");
    const first = await world.entries("key");
    expect(first.before).toBe(" ");
    await rotate("key", "one");
    await world.until("the switch", async () => (await world.entries("key")).now !== first.now);
    expect((await world.entries("key")).before).toBe(first.now);
  });
});

describe("a Secret that somebody touches", () => {
  beforeEach(async () => {
    await opened();
    await world.apiKey("key");
    await world.ready("ApiKey", "key");
  });

  test("is issued again when it was deleted", async () => {
    const before = await world.entries("key");
    await world.kube.delete(world.secretType, { namespace: world.namespace, name: "key" }, {});
    await world.until("a new pair", () => world.holdsLivePair("key"));
    expect((await world.entries("key")).keyId).not.toBe(before.keyId);
    expect(world.iam.requests.count("issueKey")).toBe(2);
  });

  test("gets its other entries back without a new key", async () => {
    const before = await world.entries("key");
    await world.editSecret("key", { keyId: "edited", more: "x" });
    await world.until(
      "the repair",
      async () => (await world.entries("key")).keyId === before.keyId,
    );
    expect(await world.entries("key")).toEqual(before);
    expect(world.iam.requests.count("issueKey")).toBe(1);
  });

  test("is issued again when the secret itself was changed", async () => {
    await world.editSecret("key", { secret: "wrong" });
    await world.until("a new pair", () => world.holdsLivePair("key"));
    expect(world.iam.requests.count("issueKey")).toBe(2);
  });

  test("gives the status back when that is lost, without a new key", async () => {
    const { keyId } = (await world.get("ApiKey", "key")).status?.current ?? {};
    await world.operator?.stop();
    await world.clearStatus("ApiKey", "key");
    await world.start();
    await world.ready("ApiKey", "key");
    expect((await world.get("ApiKey", "key")).status?.current?.keyId).toBe(keyId);
    expect(world.iam.requests.count("issueKey")).toBe(1);
  });
});

describe("deletion", () => {
  test("of an ApiKey that was created with the finalizer, and has no account yet, waits for nothing", async () => {
    await opened();
    const spec = { serviceAccountRef: { name: "later" } };
    await world.apiKey("key", spec, { finalizers: [FINALIZER] });
    await world.condition("ApiKey", "key", "Ready", "False", "ServiceAccountNotFound");
    await world.delete("ApiKey", "key");
    await world.isGone("ApiKey", "key");
  });

  test("takes the Secret along and names the keys that stay alive", async () => {
    await opened();
    await world.apiKey("key");
    await world.ready("ApiKey", "key");
    const { keyId } = await world.entries("key");
    await world.delete("ApiKey", "key");
    await world.isGone("ApiKey", "key");
    expect(await world.secret("key")).toBeUndefined();
    await world.until("the event", async () =>
      (await world.events("key")).some(
        ({ reason, note }) => reason === "KeysNotRevoked" && note.includes(keyId ?? "?"),
      ),
    );
  });

  test("keeps the Secret where that is asked for", async () => {
    await opened();
    await world.apiKey("key", { secret: { deletionPolicy: "Retain" } });
    await world.ready("ApiKey", "key");
    await world.delete("ApiKey", "key");
    await world.isGone("ApiKey", "key");
    expect(await world.holdsLivePair("key")).toBe(true);
  });

  test("ends the keys at the console where the connection names the calls", async () => {
    await opened({ extraCalls: true });
    await world.apiKey("key");
    await world.ready("ApiKey", "key");
    const { keyId } = await world.entries("key");
    await world.delete("ApiKey", "key");
    await world.isGone("ApiKey", "key");
    expect(world.iam.world.keys.has(keyId ?? "")).toBe(false);
  });

  test("ends the keys also where the account goes with it", async () => {
    await opened({ extraCalls: true });
    await world.apiKey("key");
    await world.ready("ApiKey", "key");
    const { keyId } = await world.entries("key");
    await world.delete("ServiceAccount", "ci");
    await world.condition("ServiceAccount", "ci", "Ready", "False");
    await world.delete("ApiKey", "key");
    await world.isGone("ServiceAccount", "ci");
    expect(world.iam.world.keys.has(keyId ?? "")).toBe(false);
  });

  test("of the namespace in the middle of an issue ends", async () => {
    await opened();
    const hang = world.iam.faults.add({
      operation: "issueKey",
      when: "afterCommit",
      action: { kind: "delay", ms: 1_500 },
    });
    await world.apiKey("key");
    await hang.reached;
    await world.deleteNamespace();
    await world.until("the namespace to go", () => world.namespaceIsGone(), 40_000);
  });
});
