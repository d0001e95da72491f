import { afterEach, beforeEach, describe, expect, test } from "vitest";
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
});

describe("a Secret with a type", () => {
  beforeEach(() => opened());

  const dockerConfig =
    '{"auths": {"registry.example.com": {"username": ${keyId:json}, "password": ${secret:json}}}}';

  test.each([
    ["kubernetes.io/basic-auth", { username: "${keyId}", password: "${secret}" }],
    ["kubernetes.io/dockerconfigjson", { ".dockerconfigjson": dockerConfig }],
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
});

describe("deletion", () => {
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

  test("ends the keys at the console where the connection names the calls", async () => {
    await opened({ extraCalls: true });
    await world.apiKey("key");
    await world.ready("ApiKey", "key");
    const { keyId } = await world.entries("key");
    await world.delete("ApiKey", "key");
    await world.isGone("ApiKey", "key");
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
