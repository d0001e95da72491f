/** A life of an ApiKey on a real API server: made, replaced, ended, deleted. Both servers are real; only the time is moved. */
import { afterEach, expect, test } from "vitest";
import { namespaceType, secretType } from "../../src/kube/resource-types.ts";
import { apiKeyType, serviceAccountType } from "../../src/resources/resource-types.ts";
import { HOUR } from "../../src/util/time.ts";
import { EXTRA_CALLS } from "../real-world/extra-calls.ts";
import { openWorld } from "../real-world/in-world.ts";
import type { World, WorldOptions } from "../real-world/world.ts";

let world: World;
afterEach(() => world.close());

async function opened(options: WorldOptions = {}): Promise<void> {
  world = await openWorld(options);
  await world.serviceAccount("ci");
  await world.ready("ServiceAccount", "ci");
}

/** Moves the time of all clocks. */
function advance(ms: number): void {
  world.iam.world.clock.advance(ms);
}

/** Waits until a new key is in use; answers the id of the old one. */
async function rotate(): Promise<string> {
  const { keyId = "" } = await world.entries("key");
  await world.rotate("key", keyId);
  await world.until("another key", async () => (await world.entries("key")).keyId !== keyId);
  await world.until("pending to go", async () => (await world.secret("key-next")) === undefined);
  return keyId;
}

const stateOf = async (keyId: string) =>
  (await world.get("ApiKey", "key")).status?.superseded?.find((key) => key.keyId === keyId)?.state;

const isAlive = (keyId: string) => world.iam.world.whyKeyIsRefused(keyId) === undefined;

/** Ends of keys that took effect. */
const ends = () =>
  world.iam.requests.all
    .filter(({ decided = 500 }) => decided < 300)
    .map(({ operation }) => operation)
    .filter((name) => name === "disableKey" || name === "deleteKey");

test("a key is issued, switched to, and after the overlap the old one is disabled and deleted", async () => {
  await opened({ extraCalls: EXTRA_CALLS });
  const data = { keyId: "${keyId}", secret: "${secret}", old: "${previousSecret}" };
  await world.apiKey("key", { secret: { data } });
  await world.ready("ApiKey", "key");
  expect(world.iam.requests.count("issueKey")).toBe(1);
  const old = await rotate();
  expect(world.iam.world.isPair(old, (await world.entries("key")).old ?? "")).toBe(true);

  advance(23 * HOUR);
  await world.reconcile("ApiKey", "key", "within the overlap");
  expect([isAlive(old), ends(), await stateOf(old)]).toEqual([true, [], "Live"]);

  const disabling = world.iam.faults.add({
    operation: "disableKey",
    fault: { kind: "Hold", when: "BeforeCommit" },
  });
  advance(2 * HOUR);
  await disabling.reached;
  // Before the old key is retired, no Pod reads it any more and the new one works.
  expect((await world.entries("key")).old).toBe("");
  expect(await world.holdsLivePair("key")).toBe(true);
  disabling.release();
  await world.until("the end", async () => (await stateOf(old)) === "Deleted");
  expect(ends()).toEqual(["disableKey", "deleteKey"]);
  const reasons = async () => (await world.events("key")).map(({ reason }) => reason);
  await world.until("the last event", async () => (await reasons()).includes("KeyDeleted"));
  expect(await reasons()).toEqual(expect.arrayContaining(["KeyRotated", "KeyDisabled"]));

  await rotate();
  await world.delete("ApiKey", "key");
  await world.isGone("ApiKey", "key");
  expect(world.iam.world.keys.size).toBe(0);
  expect(await world.secret("key")).toBeUndefined();
});

test("a key moves to another account while a workload uses its Secret, and the old account loses its permissions", async () => {
  await opened({ extraCalls: EXTRA_CALLS });
  const bind = async (account: string) => {
    const spec = { serviceAccountRef: { name: account }, policyIds: ["pol-read"] };
    await world.apply("PolicyBinding", account, spec);
    await world.ready("PolicyBinding", account);
  };
  await bind("ci");
  await world.apiKey("key", {
    secret: { data: { keyId: "${keyId}", secret: "${secret}", saId: "${saId}" } },
  });
  await world.ready("ApiKey", "key");
  const { keyId: old = "", saId: former } = await world.entries("key");

  await world.serviceAccount("ci-2");
  const next = await world.saIdOf("ci-2");
  const patch = { spec: { serviceAccountRef: { name: "ci-2" } } };
  const key = { namespace: world.namespace, name: "key" };
  await world.kube.mergePatch(apiKeyType, key, patch);
  // Without policies of the new account, nothing changes.
  const { status: waiting } = await world.condition("ApiKey", "key", "IssuanceAllowed", "False");
  expect(JSON.stringify(waiting)).toContain("ServiceAccount ci-2");
  expect((await world.entries("key")).keyId).toBe(old);
  await bind("ci-2");

  const failures: string[] = [];
  const tpnOf = (saId = "") => world.iam.world.accounts.get(saId)?.tpn ?? "";
  await world.until("a key of the other account", async () => {
    const { keyId = "", secret = "", saId } = await world.entries("key");
    const works = world.iam.world.isPair(keyId, secret) && isAlive(keyId);
    if (!works || world.iam.world.boundTo(tpnOf(saId)).length === 0) failures.push(keyId);
    if (world.iam.world.keys.get(keyId)?.saId !== saId) failures.push(`${keyId} of ${saId}`);
    return saId === next;
  });
  expect(failures).toEqual([]);
  // It was Ready all the time, with the former key: the status follows the Secret.
  const statusOf = async () => (await world.get("ApiKey", "key")).status;
  await world.until("its status", async () => (await statusOf())?.current?.saId === next);
  const status = await statusOf();
  expect(status?.current).toMatchObject({ serviceAccount: "ci-2", saId: next });
  expect(status?.superseded).toMatchObject([{ keyId: old, serviceAccount: "ci", saId: former }]);

  advance(25 * HOUR);
  await world.reconcile("ApiKey", "key", "after the overlap");
  await world.until("the end", () => !isAlive(old));
  // Unknown if no list of the former account has shown keys yet: then nothing proves the end.
  await world.until("its state", async () =>
    ["Deleted", "Unknown"].includes((await stateOf(old)) ?? ""),
  );
  expect(await world.holdsLivePair("key")).toBe(true);
  await world.kube.mergePatch(
    serviceAccountType,
    { namespace: world.namespace, name: "ci" },
    { spec: { access: "Revoked" } },
  );
  await world.condition("ServiceAccount", "ci", "AccessRevoked", "True");
  expect(world.iam.world.boundTo(tpnOf(former))).toEqual([]);
  expect(world.iam.world.boundTo(tpnOf(next))).toEqual(["pol-read"]);
});

test("a Secret with a type that the API server would refuse costs no key", async () => {
  await opened();
  const type = "kubernetes.io/dockerconfigjson";
  const config = '{"auths": {"registry.example.com": {"password": ${secret:json}}}}';
  const pair = { keyId: "${keyId}", secret: "${secret}" };
  const torn = { ...pair, ".dockerconfigjson": config.slice(0, -1) };
  await world.apiKey("key", { secret: { type, data: torn } });
  const { status } = await world.condition("ApiKey", "key", "Ready", "False", "SecretRejected");
  expect(JSON.stringify(status)).toContain(".dockerconfigjson");
  expect(world.iam.requests.count("issueKey")).toBe(0);
  await world.apiKey("key", { secret: { type, data: { ...pair, ".dockerconfigjson": config } } });
  await world.ready("ApiKey", "key");
  await rotate();
  await world.kube.delete(secretType, { namespace: world.namespace, name: "key" }, {});
  await world.until("a new pair", () => world.holdsLivePair("key"));
  expect((await world.secret("key"))?.type).toBe(type);
  expect(world.iam.requests.count("issueKey")).toBe(3);
});

test("a deletion of the namespace in the middle of an issue ends", async () => {
  await opened();
  const hang = world.iam.faults.add({
    operation: "issueKey",
    fault: { kind: "Slow", ms: 750 },
  });
  await world.apiKey("key");
  await hang.reached;
  const { kube, namespace: name } = world;
  const key = { namespace: "", name };
  await kube.delete(namespaceType, key, {});
  const isGone = async () => (await kube.get(namespaceType, key)) === undefined;
  await world.until("the namespace to be gone", isGone, 40_000);
});
