import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { DAY } from "../../src/util/time.ts";
import { DEFAULT_CREDENTIALS } from "./seed.ts";
import { type IamServer, startIamServer } from "./server.ts";
import { ACCOUNTS, LOGIN, SEARCH, TestClient } from "./test-client.ts";

let server: IamServer;
let client: TestClient;

beforeAll(async () => {
  server = await startIamServer({
    extraCalls: {
      disableKey: { method: "post", path: "/api/v1/iam/keys/{keyId}/disable" },
      deleteKey: { method: "DELETE", path: `${ACCOUNTS}/{saId}/keys/{keyId}` },
      deleteServiceAccount: { method: "DELETE", path: `${ACCOUNTS}/{saId}` },
    },
  });
  client = new TestClient(server);
});
afterAll(() => server.close());
afterEach(() => server.faults.clear());

async function control(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.controlUrl}${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever arrived
  return { status: response.status, text, json: JSON.parse(text) as any };
}

test("the state shows the world without passwords, tokens and secrets", async () => {
  const { authorization } = await client.user();
  const { account, key, secret } = client.account(["pol-read"]);
  const { text, json } = await control("GET", "/state");
  expect(json.serviceAccounts.at(-1)).toMatchObject({
    saId: account.saId,
    policyIds: ["pol-read"],
    keys: [{ keyId: key.keyId, refused: null }],
  });
  for (const hidden of [secret, DEFAULT_CREDENTIALS.password, authorization?.slice(7)]) {
    expect(text).not.toContain(hidden);
  }
});

test.each([
  [
    "/clock/advance",
    { by: "soon" },
    'by: not a duration such as 90s or 24h: soon. Expected: POST /clock/advance  {"by":"24h"}',
  ],
  ["/clock/advance", undefined, /^body: .*\. Expected: POST \/clock\/advance/],
  ["/faults", { operation: "fly" }, /^operation: .*; when: .*\. Expected: POST \/faults/],
  ["/users/no-such", {}, /^not found\. Expected: POST \/users\/\{id\}/],
])("a wrong body for %s is one line with what is expected", async (path, body, says) => {
  const { status, json } = await control("POST", path, body);
  expect(status).toBe(400);
  expect(json.error).toMatch(says);
  expect(json.error).not.toContain("\n");
});

test("the clock moves", async () => {
  const before = server.world.clock.offsetMs;
  await control("POST", "/clock/advance", { by: "24h" });
  expect(server.world.clock.offsetMs - before).toBe(DAY);
  await control("POST", "/clock/advance", { by: "-24h" });
  expect(server.world.clock.offsetMs).toBe(before);
});

test("faults are set up, listed, released and removed", async () => {
  const rule = {
    operation: "login",
    when: "beforeCommit",
    action: { kind: "status", status: 500 },
  };
  const { json } = await control("POST", "/faults", { ...rule, times: "always" });
  expect((await client.send("POST", LOGIN, { body: DEFAULT_CREDENTIALS })).status).toBe(500);
  expect((await control("GET", "/faults")).json).toMatchObject([{ id: json.id, hits: 1 }]);
  await control("DELETE", `/faults/${json.id}`);
  expect((await control("GET", "/faults")).json).toEqual([]);

  const held = await control("POST", "/faults", { ...rule, action: { kind: "hold" } });
  const answer = client.send("POST", LOGIN, { body: DEFAULT_CREDENTIALS });
  await control("POST", `/faults/${held.json.id}/release`);
  expect((await answer).status).toBe(200);
  await control("DELETE", "/faults");
});

test("conditions and shapes are set", async () => {
  await control("POST", "/conditions", {
    latency: "1ms",
    keyPropagation: "5s",
    listsBehind: "60s",
    dateSkew: "-10m",
    rateLimit: { requestsPerSecond: 1, burst: 2 },
    reachability: "unavailable",
  });
  expect((await control("GET", "/conditions")).json).toEqual({
    latencyMs: 1,
    keyPropagationMs: 5_000,
    listsBehindMs: 60_000,
    dateSkewMs: -600_000,
    rateLimit: { requestsPerSecond: 1, burst: 2 },
    reachability: "unavailable",
  });
  await control("POST", "/shapes", { bindings: "strings" });
  expect(server.shapes.bindings).toBe("strings");
});

test.each([
  ["POST", "/faults", { when: "sometimes", action: { kind: "reset" } }],
  ["POST", "/faults", { when: "beforeCommit", action: { kind: "explode" } }],
  ["POST", "/shapes", { bindings: "odd" }],
  ["POST", "/shapes", { bindigns: "strings" }],
  ["POST", "/clock/advance", { by: "soon" }],
  ["POST", "/keys/sak_none", { status: "inactive" }],
])("%s %s with %o is refused", async (method, path, body) => {
  expect((await control(method, path, body)).status).toBe(400);
});

test("keys, accounts, bindings, users and tokens are changed", async () => {
  const { account, key, headers } = client.account(["pol-read"]);
  const status = async () => (await client.send("GET", `${SEARCH}?q=a`, { headers })).status;
  await control("POST", `/keys/${key.keyId}`, { status: "inactive" });
  expect(await status()).toBe(401);
  await control("POST", `/keys/${key.keyId}`, { status: "active" });
  await control("PUT", "/bindings", { tpn: account.tpn, policyIds: [] });
  expect(await status()).toBe(403);
  await control("POST", `/service-accounts/${account.saId}`, { status: "inactive" });
  expect(await status()).toBe(401);
  await control("DELETE", `/service-accounts/${account.saId}`);
  expect(server.world.accounts.has(account.saId)).toBe(false);

  const bearer = await client.user();
  await control("POST", "/tokens/revoke", {});
  expect((await client.send("GET", ACCOUNTS, { headers: bearer })).status).toBe(401);
  await control("POST", `/users/${DEFAULT_CREDENTIALS.username}`, { mfaRequired: true });
  const { json } = await client.send("POST", LOGIN, { body: DEFAULT_CREDENTIALS });
  await control("POST", `/users/${DEFAULT_CREDENTIALS.username}`, { mfaRequired: false });
  expect(json.result.mfaRequired).toBe(true);
});

test("many accounts are made at once", async () => {
  const { json } = await control("POST", "/bulk", { count: 500, keysPerAccount: 2 });
  expect(json.serviceAccounts).toBeGreaterThanOrEqual(500);
  expect(json.keys).toBeGreaterThanOrEqual(1_000);
});

test("requests and unknown calls are listed and forgotten", async () => {
  await control("DELETE", "/requests");
  await client.send("GET", "/api/v1/unheard-of");
  await client.user();
  expect((await control("GET", "/requests?operation=login")).json).toMatchObject([
    { operation: "login", body: { password: "***" } },
  ]);
  expect((await control("GET", "/unknown-calls")).json).toHaveLength(1);
  await control("DELETE", "/requests");
  expect((await control("GET", "/unknown-calls")).json).toEqual([]);
});

test("extra calls answer where they were named, and are no unknown calls", async () => {
  server.requests.clear();
  const headers = await client.user();
  const { account, key } = client.account(["pol-read"]);
  const call = async (method: string, path: string) =>
    (await client.send(method, path, { headers })).status;
  expect(await call("POST", `/api/v1/iam/keys/${key.keyId}/disable`)).toBe(204);
  expect(server.world.keys.get(key.keyId)?.status).toBe("inactive");
  expect(await call("DELETE", `${ACCOUNTS}/sa-other/keys/${key.keyId}`)).toBe(404);
  expect(await call("DELETE", `${ACCOUNTS}/${account.saId}/keys/${key.keyId}`)).toBe(204);
  expect(await call("DELETE", `${ACCOUNTS}/${account.saId}/keys/${key.keyId}`)).toBe(404);
  expect(await call("DELETE", `${ACCOUNTS}/${account.saId}`)).toBe(204);
  expect(server.world.bindings.has(account.tpn)).toBe(false);
  expect(server.requests.unknownCalls).toEqual([]);
  expect(server.requests.count("deleteKey")).toBe(3);
});
