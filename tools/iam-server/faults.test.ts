import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MINUTE } from "../../src/util/time.ts";
import { type FaultAction, FaultRule } from "./faults.ts";
import { type IamServer, startIamServer } from "./server.ts";
import { ACCOUNTS, type HeaderMap, SEARCH, TestClient } from "./test-client.ts";

let server: IamServer;
let client: TestClient;
let bearer: HeaderMap;
let saId: string;

beforeAll(async () => {
  server = await startIamServer();
  client = new TestClient(server);
});
afterAll(() => server.close());
beforeEach(async () => {
  bearer = await client.user();
  ({ saId } = client.account(["pol-read"]).account);
  server.requests.clear();
});
afterEach(() => server.faults.clear());

const issue = () =>
  client.send("POST", `${ACCOUNTS}/${saId}/keys`, {
    headers: bearer,
    body: { description: "test", expiresInDays: 90 },
  });
const list = () => client.send("GET", ACCOUNTS, { headers: bearer });
const keyCount = () => server.world.keysOf(saId).length;
/** The account starts with one key. */
const ISSUED = 2;
const NOT_ISSUED = 1;

describe("moment", () => {
  test.each([
    ["beforeCommit", NOT_ISSUED],
    ["afterCommit", ISSUED],
  ] as const)("a call reset %s leaves %i keys", async (when, expected) => {
    server.faults.add({ operation: "issueKey", when, action: { kind: "reset" } });
    await expect(issue()).rejects.toThrow();
    expect(keyCount()).toBe(expected);
    const [record] = server.requests.of("issueKey");
    expect(record).toMatchObject({ faults: ["reset"], status: undefined });
    expect(record?.decided).toBe(when === "afterCommit" ? 201 : undefined);
  });

  test("a lost answer leaves a key whose secret nobody has, listed by the detail call", async () => {
    server.faults.add({
      operation: "issueKey",
      when: "afterCommit",
      action: { kind: "status", status: 502 },
    });
    const answer = await issue();
    expect(answer.status).toBe(502);
    const { json } = await client.send("GET", `${ACCOUNTS}/${saId}`, { headers: bearer });
    expect(json.keys).toHaveLength(ISSUED);
    expect(answer.text).not.toContain(server.world.issuedSecrets().at(-1));
  });

  test("a held call goes on when it is released", async () => {
    const fault = server.faults.add({
      operation: "issueKey",
      when: "afterCommit",
      action: { kind: "hold" },
    });
    const answer = issue();
    await fault.reached;
    expect([keyCount(), server.requests.inFlight]).toEqual([ISSUED, 1]);
    fault.release();
    expect((await answer).status).toBe(201);
  });
});

describe("which calls", () => {
  const status = (value: number): FaultAction => ({ kind: "status", status: value });
  const statuses = async (count: number) => {
    const seen: number[] = [];
    for (let index = 0; index < count; index += 1) seen.push((await list()).status);
    return seen;
  };

  test("one by default", async () => {
    server.faults.add({ when: "beforeCommit", action: status(500) });
    expect(await statuses(3)).toEqual([500, 200, 200]);
  });

  test("the nth, for so many times", async () => {
    const fault = server.faults.add({
      operation: "listServiceAccounts",
      when: "afterCommit",
      action: status(502),
      nth: 2,
      times: 2,
    });
    expect(await statuses(4)).toEqual([200, 502, 502, 200]);
    expect([fault.matched, fault.hits]).toEqual([4, 2]);
  });

  test("always, until it is removed", async () => {
    const fault = server.faults.add({ when: "beforeCommit", action: status(503), times: "always" });
    expect(await statuses(3)).toEqual([503, 503, 503]);
    fault.remove();
    expect(await statuses(1)).toEqual([200]);
  });

  test("only those of an operation, a path or a condition", async () => {
    const when = "beforeCommit";
    const always = { when, times: "always" } as const;
    server.faults.add({ ...always, operation: "issueKey", action: status(500) });
    server.faults.add({ ...always, pathIncludes: "action-catalog", action: status(502) });
    server.faults.add({
      ...always,
      where: ({ query }) => query.page?.[0] === "2",
      action: status(504),
    });
    const search = (page: number) =>
      client.send("GET", `${ACCOUNTS}?page=${page}`, { headers: bearer });
    expect((await issue()).status).toBe(500);
    expect((await client.send("GET", `${SEARCH}?q=a`, { headers: bearer })).status).toBe(502);
    expect([(await search(1)).status, (await search(2)).status]).toEqual([200, 504]);
  });

  test("two faults on one call: a delay goes on to the next", async () => {
    server.faults.add({ when: "beforeCommit", action: { kind: "delay", ms: 50 } });
    server.faults.add({ when: "beforeCommit", action: status(500) });
    const startedAt = performance.now();
    expect((await list()).status).toBe(500);
    expect(performance.now() - startedAt).toBeGreaterThan(45);
    expect(server.requests.all.at(-1)?.faults).toEqual(["delay", "status"]);
  });
});

describe("answers", () => {
  const once = (action: FaultAction) => server.faults.add({ when: "afterCommit", action });

  test("a status with Retry-After", async () => {
    once({ kind: "status", status: 429, retryAfter: 7, message: "slow down" });
    const { status, headers, json } = await list();
    expect([status, headers.get("retry-after"), json.message]).toEqual([429, "7", "slow down"]);
  });

  test("a redirect", async () => {
    once({ kind: "redirect", location: "http://127.0.0.1:9/elsewhere" });
    const { status, headers } = await list();
    expect([status, headers.get("location")]).toEqual([307, "http://127.0.0.1:9/elsewhere"]);
  });

  test("garbage under a success", async () => {
    once({ kind: "garbage" });
    const { status, json } = await issue();
    expect([status, json]).toEqual([201, undefined]);
  });

  test("exactly the given text", async () => {
    once({ kind: "body", text: '{"result":{"data":7}}' });
    expect((await list()).json).toEqual({ result: { data: 7 } });
  });

  test("deeply nested", async () => {
    once({ kind: "nested", depth: 5_000 });
    expect((await list()).text.length).toBe(10_000);
  });

  test("a body cut in the middle", async () => {
    once({ kind: "truncate", bytes: 20 });
    await expect(issue()).rejects.toThrow();
    expect(keyCount()).toBe(ISSUED);
    expect((await list()).status).toBe(200);
  });

  test("a huge body", async () => {
    once({ kind: "huge", bytes: 10_000_000 });
    expect((await list()).text.length).toBeGreaterThan(10_000_000);
  });

  test("a huge body ends when the caller has had enough", async () => {
    once({ kind: "huge", bytes: 1e12 });
    const answer = await fetch(`${server.url}${ACCOUNTS}`, { headers: bearer });
    await answer.body?.cancel();
    await expect.poll(() => server.requests.inFlight).toBe(0);
  });

  test("a body that drips", async () => {
    once({ kind: "drip", intervalMs: 5, chunkBytes: 16 });
    const { status, json } = await issue();
    expect([status, json.secret.length]).toEqual([201, 43]);
  });

  test("no answer at all", async () => {
    once({ kind: "hang" });
    const request = fetch(`${server.url}${ACCOUNTS}`, {
      headers: bearer,
      signal: AbortSignal.timeout(100),
    });
    await expect(request).rejects.toThrow(/timeout/);
  });
});

describe("conditions", () => {
  test("latency is added to every call", async () => {
    server.faults.latencyMs = 40;
    const startedAt = performance.now();
    await list();
    expect(performance.now() - startedAt).toBeGreaterThan(35);
  });

  test("a new key is unknown until it has propagated", async () => {
    server.faults.keyPropagationMs = MINUTE;
    const { json } = await issue();
    const headers = { "svc-api-key": json.keyId, "svc-api-secret": json.secret };
    const status = async () => (await client.send("GET", `${SEARCH}?q=a`, { headers })).status;
    expect(await status()).toBe(401);
    server.world.clock.advance(MINUTE);
    expect(await status()).toBe(200);
  });

  test.each(["refuse", "reset"] as const)("nobody gets through when set to %s", async (wanted) => {
    await server.faults.setReachability(wanted);
    await expect(list()).rejects.toThrow();
    await server.faults.setReachability("up");
    expect((await list()).status).toBe(200);
  });

  test("everything is 503 when unavailable", async () => {
    await server.faults.setReachability("unavailable");
    expect((await list()).status).toBe(503);
  });

  test("beyond the rate limit calls get 429 with Retry-After", async () => {
    server.faults.rateLimit = { requestsPerSecond: 0.001, burst: 2, retryAfter: 3 };
    const answers = [await list(), await list(), await list()];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[2]?.headers.get("retry-after")).toBe("3");
  });

  test("the Date header can be wrong", async () => {
    server.faults.dateSkewMs = -10 * MINUTE;
    const { headers } = await list();
    const skew = Date.parse(headers.get("date") ?? "") - server.world.clock.now();
    expect(Math.round(skew / MINUTE)).toBe(-10);
  });

  test("clear brings everything back to normal", async () => {
    server.faults.latencyMs = 1_000;
    server.faults.rateLimit = { requestsPerSecond: 0, burst: 0 };
    server.faults.add({ when: "beforeCommit", action: { kind: "reset" }, times: "always" });
    await server.faults.setReachability("refuse");
    await expect(list()).rejects.toThrow();
    await server.faults.clear();
    expect((await list()).status).toBe(200);
    expect(server.faults.list).toEqual([]);
  });
});

describe("gateways and replicas", () => {
  const names = async () => (await list()).json.result.pagination.totalCount as number;
  const keys = async () => {
    const { json } = await client.send("GET", `${ACCOUNTS}/${saId}`, { headers: bearer });
    return json.keys.length as number;
  };

  test("a call that the gateway gave up is done later, with credentials of then", async () => {
    const action = { kind: "lateCommit", ms: 200, status: 504 } as const;
    server.faults.add({ operation: "issueKey", when: "beforeCommit", action });
    expect((await issue()).status).toBe(504);
    expect(keyCount()).toBe(NOT_ISSUED);
    server.world.revokeTokens();
    await expect.poll(keyCount).toBe(ISSUED);
    const [record] = server.requests.of("issueKey");
    expect(record).toMatchObject({ faults: ["lateCommit"], status: 504, decided: 201 });
  });

  test("a call without credentials is refused later too", async () => {
    const action = { kind: "lateCommit", ms: 20, status: 502 } as const;
    server.faults.add({ operation: "issueKey", when: "beforeCommit", action });
    server.world.revokeTokens();
    await issue();
    await expect.poll(() => server.requests.of("issueKey")[0]?.decided).toBe(401);
    expect(keyCount()).toBe(NOT_ISSUED);
  });

  test.each(["first", "second"] as const)("of two commits the %s is answered", async (answer) => {
    const action = { kind: "doubleCommit", ms: 20, answer } as const;
    server.faults.add({ operation: "issueKey", when: "beforeCommit", action });
    const { json } = await issue();
    await expect.poll(keyCount).toBe(ISSUED + 1);
    const [, first, second] = server.world.keysOf(saId);
    expect(json.keyId).toBe(answer === "first" ? first?.keyId : second?.keyId);
  });

  test("one list comes from a replica that is behind, the next one does not", async () => {
    server.world.clock.advance(10 * MINUTE);
    await issue();
    const action = { kind: "behind", ms: MINUTE } as const;
    server.faults.add({ operation: "getServiceAccount", when: "beforeCommit", action });
    expect([await keys(), await keys()]).toEqual([NOT_ISSUED, ISSUED]);
  });

  test("lists lag until they have caught up", async () => {
    const before = await names();
    server.world.clock.advance(10 * MINUTE);
    client.account();
    server.faults.listsBehindMs = MINUTE;
    expect(await names()).toBe(before);
    server.world.clock.advance(MINUTE);
    expect(await names()).toBe(before + 1);
  });

  test("a replica follows every change", async () => {
    const { world } = server;
    const { account, key } = client.account(["pol-read"]);
    const picture = () => {
      const past = world.asOf(world.clock.now());
      return {
        account: past.accounts.get(account.saId),
        byTpn: past.accountOfTpn(account.tpn)?.status,
        keys: past.keysOf(account.saId),
        bound: past.boundTo(account.tpn),
        policies: [...past.policies.keys()],
      };
    };
    const truth = () => ({
      account: world.accounts.get(account.saId),
      byTpn: world.accountOfTpn(account.tpn)?.status,
      keys: world.keysOf(account.saId),
      bound: world.boundTo(account.tpn),
      policies: [...world.policies.keys()],
    });
    const changes = [
      () => world.setKeyStatus(key.keyId, "inactive"),
      () => world.setAccountStatus(account.saId, "inactive"),
      () => world.replaceBindings(account.tpn, []),
      () => world.issueKey(account.saId, { description: "", expiresInDays: 1 }),
      () => world.deleteKey(key.keyId),
      () => world.deletePolicy("pol-deploy"),
      () => world.deleteAccount(account.saId),
    ];
    for (const change of changes) {
      change();
      expect(picture()).toEqual(truth());
    }
    expect(world.asOf(0).accounts.size).toBe(0);
  });

  test("cannot act after the commit", () => {
    const action = { kind: "behind", ms: 1 } as const;
    expect(() => FaultRule.parse({ when: "afterCommit", action })).toThrow("beforeCommit");
  });
});
