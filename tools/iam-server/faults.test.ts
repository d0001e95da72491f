import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MINUTE } from "../../src/util/time.ts";
import { INTERCEPTIONS } from "../server-fault.ts";
import type { ConsoleFault } from "./faults.ts";
import type { RequestRecord } from "./request-log.ts";
import { ACCOUNTS, type HeaderMap, SEARCH } from "./test-client.ts";
import { useTestServer } from "./use-test-server.ts";

const { server, client } = await useTestServer();
let bearer: HeaderMap;
let saId: string;

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
    ["BeforeCommit", NOT_ISSUED, undefined],
    ["AfterCommit", ISSUED, 201],
  ] as const)("a call reset %s leaves %i keys", async (when, expected, decided) => {
    server.faults.add({ operation: "issueKey", fault: { kind: "Reset", when } });
    await expect(issue()).rejects.toThrow();
    expect(keyCount()).toBe(expected);
    const [record] = server.requests.of("issueKey");
    expect(record).toMatchObject({ faults: ["Reset"], status: undefined, decided });
  });

  test("a lost answer leaves a key whose secret nobody has, listed by the detail call", async () => {
    const fault = { kind: "Answer", status: 502, body: "" } as const;
    server.faults.add({ operation: "issueKey", fault });
    expect(await issue()).toMatchObject({ status: 502, text: "" });
    const { json } = await client.send("GET", `${ACCOUNTS}/${saId}`, { headers: bearer });
    expect(json.keys).toHaveLength(ISSUED);
  });

  test("a held call goes on when it is released", async () => {
    const held = { kind: "Hold", when: "AfterCommit" } as const;
    const fault = server.faults.add({ operation: "issueKey", fault: held });
    const answer = issue();
    await fault.reached;
    expect([keyCount(), server.requests.inFlight]).toEqual([ISSUED, 1]);
    fault.release();
    expect((await answer).status).toBe(201);
  });
});

describe("which calls", () => {
  const refuse = (status: number): ConsoleFault => ({ kind: "Refuse", status });
  const statuses = async (count: number) => {
    const seen: number[] = [];
    for (let index = 0; index < count; index += 1) seen.push((await list()).status);
    return seen;
  };

  test("one by default", async () => {
    server.faults.add({ fault: refuse(500) });
    expect(await statuses(3)).toEqual([500, 200, 200]);
  });

  test("the nth, for so many times", async () => {
    const rule = { operation: "listServiceAccounts", nth: 2, times: 2 } as const;
    const fault = server.faults.add({ ...rule, fault: refuse(502) });
    expect(await statuses(4)).toEqual([200, 502, 502, 200]);
    expect([fault.matched, fault.hits]).toEqual([4, 2]);
  });

  test("always, until it is removed", async () => {
    const fault = server.faults.add({ fault: refuse(503), times: "always" });
    expect(await statuses(3)).toEqual([503, 503, 503]);
    fault.remove();
    expect(await statuses(1)).toEqual([200]);
  });

  test("only those of an operation, a path or a condition", async () => {
    const times = "always";
    const where = ({ query }: RequestRecord) => query.page?.[0] === "2";
    server.faults.add({ times, operation: "issueKey", fault: refuse(500) });
    server.faults.add({ times, pathIncludes: "action-catalog", fault: refuse(502) });
    server.faults.add({ times, where, fault: refuse(504) });
    const search = (page: number) =>
      client.send("GET", `${ACCOUNTS}?page=${page}`, { headers: bearer });
    expect((await issue()).status).toBe(500);
    expect((await client.send("GET", `${SEARCH}?q=a`, { headers: bearer })).status).toBe(502);
    expect([(await search(1)).status, (await search(2)).status]).toEqual([200, 504]);
  });

  test("two faults on one call: a slow one goes on to the next", async () => {
    server.faults.add({ fault: { kind: "Slow", ms: 50 } });
    server.faults.add({ fault: refuse(500) });
    const startedAt = performance.now();
    expect((await list()).status).toBe(500);
    expect(performance.now() - startedAt).toBeGreaterThan(45);
    expect(server.requests.all.at(-1)?.faults).toEqual(["Slow", "Refuse"]);
  });
});

describe("answers", () => {
  const location = "http://127.0.0.1:9/elsewhere";
  const rows: readonly (readonly [string, ConsoleFault, object])[] = [
    [
      "a status with Retry-After",
      { kind: "Refuse", status: 429, retryAfter: 7, message: "slow down" },
      { status: 429, retryAfter: "7", json: { message: "slow down" } },
    ],
    [
      "a redirect",
      { kind: "Answer", status: 307, headers: { location }, body: "" },
      { status: 307, location },
    ],
    ["no JSON", { kind: "Garble", how: "NotJson" }, { status: 200, json: undefined }],
    [
      "a given text",
      { kind: "Answer", body: '{"result":7}' },
      { status: 200, json: { result: 7 } },
    ],
    [
      "a changed text",
      { kind: "Answer", body: (body) => JSON.stringify(body.length > 2) },
      { status: 200, json: true },
    ],
    [
      "a body that drips",
      { kind: "Drip", intervalMs: 1, chunkBytes: 64 },
      { status: 200, json: { result: { data: expect.any(Array) } } },
    ],
  ];

  test.each(rows)("%s", async (_, fault, expected) => {
    server.faults.add({ fault });
    const { status, headers, json } = await list();
    const answer = { status, json, location: headers.get("location") };
    expect({ ...answer, retryAfter: headers.get("retry-after") }).toMatchObject(expected);
  });

  test("a body cut in the middle", async () => {
    server.faults.add({ fault: { kind: "Garble", how: "Truncated" } });
    await expect(issue()).rejects.toThrow();
    expect(keyCount()).toBe(ISSUED);
    expect((await list()).status).toBe(200);
  });

  test("a huge body, which ends when the caller has had enough", async () => {
    server.faults.add({ fault: { kind: "Huge" }, times: "always" });
    expect((await list()).text.length).toBeGreaterThan(10_000_000);
    const answer = await fetch(`${server.url}${ACCOUNTS}`, { headers: bearer });
    await answer.body?.cancel();
    await expect.poll(() => server.requests.inFlight).toBe(0);
  });

  test("no answer at all", async () => {
    const { reached } = server.faults.add({ fault: { kind: "Silence", when: "AfterCommit" } });
    const signal = AbortSignal.timeout(100);
    const request = fetch(`${server.url}${ACCOUNTS}`, { headers: bearer, signal });
    await expect(request).rejects.toThrow(/timeout/);
    expect(await reached).toMatchObject({ decided: 200, status: undefined });
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

  test("connections are refused while it does not listen", async () => {
    await server.faults.setListening(false);
    await expect(list()).rejects.toThrow();
    await server.faults.setListening(true);
    expect((await list()).status).toBe(200);
  });

  test("the Date header can be wrong", async () => {
    server.faults.dateSkewMs = -10 * MINUTE;
    const { headers } = await list();
    const skew = Date.parse(headers.get("date") ?? "") - server.world.clock.now();
    expect(Math.round(skew / MINUTE)).toBe(-10);
  });

  test("clear brings everything back to normal", async () => {
    server.faults.latencyMs = 1_000;
    server.faults.add({ fault: { kind: "Reset", when: "BeforeCommit" }, times: "always" });
    await server.faults.setListening(false);
    await expect(list()).rejects.toThrow();
    await server.faults.clear();
    expect((await list()).status).toBe(200);
    expect(server.faults.list).toEqual([]);
  });
});

describe("gateways and replicas", () => {
  test.each(INTERCEPTIONS)(
    "a gateway answers 200 (%s) and does not pass the call on",
    async (how) => {
      server.faults.add({ operation: "issueKey", fault: { kind: "Intercept", how } });
      expect((await issue()).status).toBe(200);
      expect(keyCount()).toBe(NOT_ISSUED);
      const [record] = server.requests.of("issueKey");
      expect(record).toMatchObject({ faults: ["Intercept"], status: 200, decided: undefined });
    },
  );

  const names = async () => (await list()).json.result.pagination.totalCount as number;
  const keys = async () => {
    const { json } = await client.send("GET", `${ACCOUNTS}/${saId}`, { headers: bearer });
    return json.keys.length as number;
  };

  test("a call that the gateway gave up is done later, with credentials of then", async () => {
    const fault = { kind: "LateCommit", ms: 200, status: 504 } as const;
    server.faults.add({ operation: "issueKey", fault });
    expect((await issue()).status).toBe(504);
    expect(keyCount()).toBe(NOT_ISSUED);
    server.world.revokeTokens();
    await expect.poll(keyCount).toBe(ISSUED);
    const [record] = server.requests.of("issueKey");
    expect(record).toMatchObject({ faults: ["LateCommit"], status: 504, decided: 201 });
  });

  test("a call without credentials is refused later too", async () => {
    const fault = { kind: "LateCommit", ms: 20, status: 502 } as const;
    server.faults.add({ operation: "issueKey", fault });
    server.world.revokeTokens();
    await issue();
    await expect.poll(() => server.requests.of("issueKey")[0]?.decided).toBe(401);
    expect(keyCount()).toBe(NOT_ISSUED);
  });

  test.each(["First", "Second"] as const)("of two commits the %s is answered", async (answer) => {
    const fault = { kind: "DoubleCommit", ms: 20, answer } as const;
    server.faults.add({ operation: "issueKey", fault });
    const { json } = await issue();
    await expect.poll(keyCount).toBe(ISSUED + 1);
    const [, first, second] = server.world.keysOf(saId);
    expect(json.keyId).toBe(answer === "First" ? first?.keyId : second?.keyId);
  });

  test("one list comes from a replica that is behind, the next one does not", async () => {
    server.world.clock.advance(10 * MINUTE);
    await issue();
    const fault = { kind: "Behind", ms: MINUTE } as const;
    server.faults.add({ operation: "getServiceAccount", fault });
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
      () => world.expireKey(key.keyId),
      () => world.setAccountStatus(account.saId, "inactive"),
      () => world.replaceBindings(account.tpn, []),
      () => world.issueKey(account.saId, { description: "", expiresInDays: 1 }),
      () => world.deleteKey(key.keyId),
      () => world.deleteAccount(account.saId),
    ];
    for (const change of changes) {
      change();
      expect(picture()).toEqual(truth());
    }
    expect(world.asOf(0).accounts.size).toBe(0);
  });
});
