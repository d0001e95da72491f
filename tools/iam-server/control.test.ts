import { afterEach, expect, test } from "vitest";
import { DAY } from "../../src/util/time.ts";
import { DEFAULT_CREDENTIALS } from "./seed.ts";
import { ACCOUNTS, LOGIN } from "./test-client.ts";
import { useTestServer } from "./use-test-server.ts";

const { server, client } = await useTestServer({
  extraCalls: {
    disableKey: { method: "post", path: "/api/v1/iam/keys/{keyId}/disable" },
    deleteKey: { method: "DELETE", path: `${ACCOUNTS}/{saId}/keys/{keyId}` },
    deleteServiceAccount: { method: "DELETE", path: `${ACCOUNTS}/{saId}` },
  },
});
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
  ["/faults", { operation: "fly" }, /^operation: .*; fault: .*\. Expected: POST \/faults/],
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

test("faults are set up and shown; without them, held calls go on", async () => {
  const operation = "login";
  const failing = { operation, fault: { kind: "Refuse", status: 500 } };
  const { json } = await control("POST", "/faults", failing);
  const login = () => client.send("POST", LOGIN, { body: DEFAULT_CREDENTIALS });
  expect((await login()).status).toBe(500);
  expect((await control("GET", "/state")).json.faults).toMatchObject([{ id: json.id, hits: 1 }]);

  await control("POST", "/faults", { operation, fault: { kind: "Hold", when: "BeforeCommit" } });
  const answer = login();
  await expect.poll(() => server.faults.list.at(-1)?.hits).toBe(1);
  await control("DELETE", "/faults");
  expect((await answer).status).toBe(200);
  expect((await control("GET", "/state")).json.faults).toEqual([]);
});

test("an unknown command is a 404 that names the list of all", async () => {
  const { status, json } = await control("DELETE", "/state");
  expect([status, json.error]).toEqual([404, "no such command; GET / lists them"]);
  expect((await control("GET", "/")).json.commands).toHaveLength(5);
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
