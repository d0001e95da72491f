import { beforeEach, describe, expect, test } from "vitest";
import { SEEDED } from "./seed.ts";
import { DEFAULT_SHAPES, SHAPE_VARIANTS, type Shapes, shapes } from "./shapes.ts";
import {
  ACCOUNTS,
  BY_TARGET,
  DOMAIN,
  EVALUATE,
  type HeaderMap,
  INSTANCES,
  POLICIES,
  SEARCH,
  SYNC,
  VALIDATE,
} from "./test-client.ts";
import { useTestServer } from "./use-test-server.ts";

const { server, client } = await useTestServer();
let bearer: HeaderMap;

beforeEach(async () => {
  server.shapes = shapes();
  bearer = await client.user();
});

const choose = (chosen: Partial<Shapes>) => {
  server.shapes = shapes(chosen);
};
const get = (path: string, headers: HeaderMap = bearer) => client.send("GET", path, { headers });

test("every open answer has at least two variants, and the first is the default", () => {
  for (const [name, variants] of Object.entries(SHAPE_VARIANTS)) {
    expect(new Set(variants).size).toBeGreaterThan(1);
    expect(DEFAULT_SHAPES[name as keyof Shapes]).toBe(variants[0]);
  }
});

describe("service account list", () => {
  test.each([
    ["envelope", { result: { data: [expect.any(Object)], dataCount: 1 } }],
    ["items", { result: { items: [expect.any(Object)], total: 1 } }],
    ["bareArray", [expect.any(Object)]],
  ] as const)("%s", async (serviceAccountList, expected) => {
    for (const saId of server.world.accounts.keys()) server.world.deleteAccount(saId);
    client.account();
    choose({ serviceAccountList });
    expect((await get(ACCOUNTS)).json).toMatchObject(expected);
  });

  test.each([
    ["honoured", 1],
    ["ignored", undefined],
  ] as const)("paging %s", async (serviceAccountPaging, count) => {
    for (const name of ["a", "b", "c"]) client.account([], name);
    choose({ serviceAccountPaging });
    const { json } = await get(`${ACCOUNTS}?page=2&pageSize=1`);
    expect(json.result.dataCount).toBe(count ?? server.world.accounts.size);
  });

  test.each([
    ["empty", []],
    ["listed", [expect.objectContaining({ keyId: expect.any(String) })]],
    ["omitted", undefined],
  ] as const)("keys %s", async (serviceAccountListKeys, keys) => {
    client.account();
    choose({ serviceAccountListKeys });
    expect((await get(`${ACCOUNTS}?page=0`)).json.result.data.at(-1).keys).toEqual(keys);
  });
});

describe("service account detail", () => {
  test.each(["bare", "envelope"] as const)("%s", async (serviceAccountDetail) => {
    const { account } = client.account();
    choose({ serviceAccountDetail });
    const { json } = await get(`${ACCOUNTS}/${account.saId}`);
    const found = serviceAccountDetail === "bare" ? json : json.result;
    expect(found.saId).toBe(account.saId);
  });

  test.each([
    ["shown", ""],
    ["omitted", undefined],
  ] as const)("descriptions %s", async (accountDescriptions, description) => {
    const { account } = client.account();
    choose({ accountDescriptions });
    const { json } = await get(`${ACCOUNTS}/${account.saId}`);
    expect([json.saId, json.description]).toEqual([account.saId, description]);
  });

  test.each<[Shapes["keyRecords"], (keyId: string) => unknown]>([
    [
      "full",
      (keyId) => [
        {
          keyId,
          description: "",
          expiresInDays: 90,
          status: "active",
          createdAt: expect.any(String),
          expiresAt: expect.any(String),
        },
      ],
    ],
    ["keyIdOnly", (keyId) => [{ keyId }]],
    ["idProperty", (keyId) => [{ id: keyId, description: "" }]],
    ["strings", (keyId) => [keyId]],
    ["empty", () => []],
    ["omitted", () => undefined],
  ])("key records: %s", async (keyRecords, expected) => {
    const { account, key } = client.account();
    choose({ keyRecords });
    const { json } = await get(`${ACCOUNTS}/${account.saId}`);
    expect(json.keys).toEqual(expected(key.keyId));
  });

  test("a key record tells whether the key is active, inactive or expired", async () => {
    const { account, key } = client.account();
    const { world } = server;
    const status = async () => (await get(`${ACCOUNTS}/${account.saId}`)).json.keys[0].status;
    world.setKeyStatus(key.keyId, "inactive");
    expect(await status()).toBe("inactive");
    world.setKeyStatus(key.keyId, "active");
    expect(await status()).toBe("active");
    world.expireKey(key.keyId);
    expect([await status(), world.whyKeyIsRefused(key.keyId)]).toEqual([
      "expired",
      "API key has expired",
    ]);
  });

  test.each([
    ["listed", 1],
    ["hidden", 0],
  ] as const)("inactive keys %s", async (deadKeys, count) => {
    const { account, key } = client.account();
    server.world.setKeyStatus(key.keyId, "inactive");
    choose({ deadKeys });
    expect((await get(`${ACCOUNTS}/${account.saId}`)).json.keys).toHaveLength(count);
  });
});

describe("keys", () => {
  test("live no longer than the console allows", async () => {
    const { account } = client.account();
    choose({ issuedKey: "full" });
    server.world.settings.maxKeyDays = 1;
    const { json } = await client.send("POST", `${ACCOUNTS}/${account.saId}/keys`, {
      headers: bearer,
      body: { description: "", expiresInDays: 90 },
    });
    server.world.settings.maxKeyDays = Number.POSITIVE_INFINITY;
    expect(json.expiresInDays).toBe(1);
    expect(Date.parse(json.expiresAt) - Date.parse(json.createdAt)).toBe(86_400_000);
  });

  test.each([
    ["pair", ["keyId", "secret"]],
    [
      "full",
      ["createdAt", "description", "expiresAt", "expiresInDays", "keyId", "secret", "status"],
    ],
  ] as const)("issued as %s", async (issuedKey, fields) => {
    const { account } = client.account();
    choose({ issuedKey });
    const { json } = await client.send("POST", `${ACCOUNTS}/${account.saId}/keys`, {
      headers: bearer,
      body: { description: "", expiresInDays: 1 },
    });
    expect(Object.keys(json).sort()).toEqual(fields);
  });

  test.each([
    ["envelope", 200, 200],
    ["bare", 200, 200],
    ["statusOnly", 204, 401],
  ] as const)("validated as %s", async (keyValidation, good, bad) => {
    const { key, secret } = client.account();
    choose({ keyValidation });
    const ask = async (text: string) =>
      (await client.send("POST", VALIDATE, { body: { keyId: key.keyId, secret: text } })).status;
    expect([await ask(secret), await ask("wrong")]).toEqual([good, bad]);
  });
});

describe("policies and bindings", () => {
  test.each([
    [
      { policyId: "id", policyKind: "kind" },
      { id: "pol-read", kind: "custom" },
    ],
    [
      { policyId: "policyId", policyKind: "type" },
      { policyId: "pol-read", type: "custom" },
    ],
  ] as const)("policy records: %o", async (chosen, expected) => {
    choose(chosen);
    const { json } = await get(`${POLICIES}?search=pol-read`);
    expect(json.result.data).toEqual([expect.objectContaining(expected)]);
  });

  test("IDs of policies in any case, listed in upper case", async () => {
    choose({ policyIdCase: "upper" });
    const { account } = client.account();
    const { tpn, orgId } = account;
    const body = { targetType: "tpn", targetId: tpn, orgId, policyIds: [" Pol-Read"] };
    expect((await client.send("PUT", SYNC, { headers: bearer, body })).status).toBe(200);
    expect(server.world.boundTo(tpn)).toEqual(["pol-read"]);
    const { json } = await get(`${BY_TARGET}?targetType=tpn&targetId=${tpn}`);
    expect(json.result.data).toEqual([expect.objectContaining({ policyId: "POL-READ" })]);
  });

  test("policy paging honoured", async () => {
    choose({ policyPaging: "honoured" });
    expect((await get(`${POLICIES}?pageSize=2`)).json.result.pagination.hasNext).toBe(true);
  });

  test.each([
    ["envelope", 200, expect.objectContaining({ result: expect.any(Object) })],
    ["noContent", 204, undefined],
    ["echo", 200, expect.objectContaining({ policyIds: ["pol-read"] })],
  ] as const)("sync answer: %s", async (syncAnswer, status, expected) => {
    const { account } = client.account();
    choose({ syncAnswer });
    const body = {
      targetType: "tpn",
      targetId: account.tpn,
      orgId: "org-1",
      policyIds: ["pol-read"],
    };
    const answer = await client.send("PUT", SYNC, { headers: bearer, body });
    expect([answer.status, answer.json]).toEqual([status, expected]);
    expect(server.world.boundTo(account.tpn)).toEqual(["pol-read"]);
  });

  test.each([
    ["bindings", (json) => json.result.data[0].policyId],
    ["policyIds", (json) => json.result.policyIds[0]],
    ["policies", (json) => json.result.data[0].id],
    ["strings", (json) => json[0]],
    ["unreadable", (json) => (json.result.summary === "1 bound" ? "pol-read" : undefined)],
    // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever arrived
  ] as readonly [Shapes["bindings"], (json: any) => unknown][])(
    "bindings of a target: %s",
    async (bindings, read) => {
      const { account } = client.account(["pol-read"]);
      choose({ bindings });
      const { json } = await get(`${BY_TARGET}?targetType=tpn&targetId=${account.tpn}`);
      expect(read(json)).toBe("pol-read");
    },
  );

  test.each([
    ["notFound", 404],
    ["emptyList", 200],
  ] as const)("unknown target: %s", async (unknownTarget, status) => {
    choose({ unknownTarget });
    expect((await get(`${BY_TARGET}?targetType=tpn&targetId=tpn:none`)).status).toBe(status);
  });

  test.each([
    ["notFound", 404],
    ["invalid", 422],
  ] as const)("unknown policy: %s", async (unknownPolicy, status) => {
    const { account } = client.account();
    choose({ unknownPolicy });
    const body = { targetType: "tpn", targetId: account.tpn, orgId: "org-1", policyIds: ["none"] };
    expect((await client.send("PUT", SYNC, { headers: bearer, body })).status).toBe(status);
  });

  test("decision: allowed", async () => {
    const { account } = client.account(["pol-read"]);
    choose({ decision: "allowed" });
    const { json } = await client.send("POST", EVALUATE, {
      headers: bearer,
      body: {
        targetId: account.tpn,
        action: "svc:Compute.Instances.ReadInstance",
        resource: "trn:p1:compute:org-1:r1:prj-1:instance/i-1",
      },
    });
    expect(json.result).toEqual({ allowed: true });
  });
});

describe("names, headers, records", () => {
  test.each([
    ["allowed", 201],
    ["conflict", 409],
  ] as const)("duplicate names: %s", async (duplicateNames, status) => {
    client.account([], "twin");
    choose({ duplicateNames });
    const { orgId, projectId } = SEEDED;
    const body = { orgId, projectId, name: "twin", description: "" };
    const answer = await client.send("POST", ACCOUNTS, { headers: bearer, body });
    expect(answer.status).toBe(status);
  });

  test("domain headers everywhere, save on calls without authentication", async () => {
    choose({ domainHeaders: "everywhere" });
    expect((await get(ACCOUNTS)).status).toBe(422);
    expect((await get(ACCOUNTS, { ...bearer, ...DOMAIN })).status).toBe(200);
    expect((await get(`${SEARCH}?q=a`)).status).toBe(422);
    await expect(client.user()).resolves.toBeDefined();
  });

  test("instances insist on a partition, and call their id `id`", async () => {
    const headers = { ...client.account(["pol-read"]).headers, ...DOMAIN };
    choose({ partitionHeader: "required", instanceId: "id" });
    expect((await get(INSTANCES, headers)).status).toBe(422);
    const { json } = await get(INSTANCES, { ...headers, "x-partition-id": "p1" });
    expect(json.result.data[0]).toMatchObject({ id: "i-0001" });
  });

  test("unknown fields", async () => {
    choose({ unknownFields: "present" });
    expect((await get(ACCOUNTS)).json.result.novelty).toEqual({ since: "2026.9" });
  });
});

describe("error bodies", () => {
  test.each<[Shapes["errorBody"], unknown, unknown]>([
    [
      "envelope",
      expect.objectContaining({ message: "service account not found" }),
      expect.objectContaining({ message: expect.stringContaining("query.q") }),
    ],
    [
      "detail",
      { detail: "service account not found" },
      { detail: [{ loc: ["query", "q"], msg: "field required", type: "value_error" }] },
    ],
    ["text", "service account not found", expect.stringContaining("query.q")],
    ["empty", "", ""],
  ])("%s", async (errorBody, missing, invalid) => {
    choose({ errorBody });
    const answers = [await get(`${ACCOUNTS}/sa-none`), await get(SEARCH)];
    expect(answers.map(({ status }) => status)).toEqual([404, 422]);
    expect(answers.map(({ json, text }) => json ?? text)).toEqual([missing, invalid]);
  });
});
