import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DAY, HOUR, SECOND } from "../../src/util/time.ts";
import { OPERATION_NAMES, OPERATIONS } from "./operations.ts";
import { DEFAULT_CREDENTIALS, SEEDED } from "./seed.ts";
import { missingFromCatalogue } from "./seed-catalogue.ts";
import { type IamServer, startIamServer } from "./server.ts";
import {
  ACCOUNTS,
  BY_TARGET,
  DOMAIN,
  EVALUATE,
  type HeaderMap,
  INSTANCES,
  keyHeaders,
  LOGIN,
  POLICIES,
  QUOTAS,
  SEARCH,
  SYNC,
  TestClient,
  VALIDATE,
} from "./test-client.ts";

let server: IamServer;
let client: TestClient;
let bearer: HeaderMap;

beforeAll(async () => {
  server = await startIamServer();
  client = new TestClient(server);
});
afterAll(() => server.close());
beforeEach(async () => {
  server.requests.clear();
  bearer = await client.user();
});

const get = (path: string, headers: HeaderMap = bearer) => client.send("GET", path, { headers });
const post = (path: string, body: unknown, headers: HeaderMap = bearer) =>
  client.send("POST", path, { headers, body });
const put = (path: string, body: unknown, headers: HeaderMap = bearer) =>
  client.send("PUT", path, { headers, body });

const ENVELOPE = {
  message: null,
  timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
  requestId: expect.stringMatching(/./),
};
const wantedAccount = {
  orgId: SEEDED.orgId,
  projectId: SEEDED.projectId,
  name: "ci-bot",
  description: "builds",
};

/** Every Bearer call, as a request that would be fine with a token. */
const BEARER_CALLS: readonly [method: string, path: string, body?: object][] = [
  ["POST", ACCOUNTS, wantedAccount],
  ["GET", ACCOUNTS],
  ["GET", `${ACCOUNTS}/sa-x`],
  ["POST", `${ACCOUNTS}/sa-x/keys`, { description: "", expiresInDays: 1 }],
  ["GET", POLICIES],
  ["PUT", SYNC, { targetType: "tpn", targetId: "t", orgId: "org-1", policyIds: [] }],
  ["GET", `${BY_TARGET}?targetType=tpn&targetId=t`],
  ["POST", EVALUATE, {}],
];

describe("every call", () => {
  test("the thirteen documented calls are the whole interface", () => {
    expect(
      OPERATION_NAMES.map((name) => `${OPERATIONS[name].method} ${OPERATIONS[name].path}`),
    ).toMatchInlineSnapshot(`
        [
          "POST /api/v1/iam/authn/public/login",
          "POST /api/v1/iam/authn/service-accounts",
          "GET /api/v1/iam/authn/service-accounts",
          "GET /api/v1/iam/authn/service-accounts/{saId}",
          "POST /api/v1/iam/authn/service-accounts/{saId}/keys",
          "POST /api/v1/iam/authn/public/api-keys/validate",
          "GET /api/v1/iam/authz/policies",
          "PUT /api/v1/iam/authz/bindings/sync",
          "GET /api/v1/iam/authz/bindings/by-target",
          "POST /api/v1/iam/authz/policies/evaluate",
          "GET /api/v1/compute/instances",
          "GET /api/v1/container/policy/resource-quota",
          "GET /api/v1/iam/authz/action-catalog/actions/search",
        ]
      `);
  });

  test.each([
    ["GET", "/"],
    ["GET", "/api/v1/iam/authn/service-accounts/"],
    ["DELETE", `${ACCOUNTS}/sa-1`],
    ["PATCH", `${ACCOUNTS}/sa-1`],
    ["GET", `${ACCOUNTS}/sa-1/keys`],
    ["DELETE", `${ACCOUNTS}/sa-1/keys/sak_1`],
    ["GET", `${POLICIES}/pol-read`],
    ["POST", "/api/v1/iam/authn/public/logout"],
    ["HEAD", ACCOUNTS],
    ["GET", "//elsewhere/api/v1"],
    ["GET", `${ACCOUNTS}/%zz`],
  ])("%s %s is not shown: 404, and recorded", async (method, path) => {
    expect(await client.raw(method, path)).toBe(404);
    expect(server.requests.unknownCalls).toMatchObject([{ method, path, operation: undefined }]);
    expect(server.requests.counts()).toMatchObject({ unknown: 1 });
  });

  test.each(BEARER_CALLS)("%s %s needs a user token", async (method, path, body) => {
    const { headers: key } = client.account(["pol-read", "pol-member"]);
    for (const headers of [{}, { authorization: "Bearer nonsense" }, key]) {
      const answer = await client.send(method, path, { headers, body });
      expect(answer.status).toBe(401);
    }
  });

  test.each(BEARER_CALLS.filter(([, path]) => !/sa-x|evaluate|sync/.test(path)))(
    "%s %s answers 403 to a user whom no policy allows it",
    async (method, path, body) => {
      const headers = await client.user(SEEDED.powerlessUser);
      const answer = await client.send(method, path, { headers, body });
      expect([answer.status, answer.json.message]).toEqual([403, "Policy denied"]);
    },
  );

  test.each([
    ["no JSON", "{", "application/json"],
    ["another content type", "{}", "text/plain"],
    ["an array", "[]", "application/json"],
    ["nothing", "", "application/json"],
    ["more than a megabyte", `"${"x".repeat(1_100_000)}"`, "application/json"],
  ])("a body which is %s is a 422", async (_, body, type) => {
    const headers = { "content-type": type };
    const { status } = await fetch(`${server.url}${LOGIN}`, { method: "POST", headers, body });
    expect(status).toBe(422);
  });

  test("no request record holds a password, a secret or a token", async () => {
    const { key, secret, headers } = client.account(["pol-read"]);
    await post(VALIDATE, { keyId: key.keyId, secret }, {});
    await get(`${SEARCH}?q=a`, headers);
    const printed = JSON.stringify(server.requests.all);
    expect(printed).not.toContain(secret);
    expect(printed).not.toContain(DEFAULT_CREDENTIALS.password);
    expect(printed).not.toContain(bearer.authorization?.slice("Bearer ".length));
    expect(server.requests.all).toMatchObject([
      { operation: "login", auth: "none", status: 200 },
      { operation: "validateKey", auth: "none", principal: undefined },
      { operation: "searchActions", auth: "key", principal: key.keyId, query: { q: ["a"] } },
    ]);
  });

  test("query parameters which the description does not name are noticed", async () => {
    await get(`${POLICIES}?orgId=org-1&page=2`);
    await get(`${ACCOUNTS}?page=2`);
    expect(server.requests.all.map(({ undocumentedParameters }) => undocumentedParameters)).toEqual(
      [[], ["page"], []],
    );
  });

  test("the Date header tells the console's own time", async () => {
    server.world.clock.advance(DAY);
    const { headers } = await get(ACCOUNTS);
    const ahead = Date.parse(headers.get("date") ?? "") - Date.now();
    server.world.clock.advance(-DAY);
    expect(Math.abs(ahead - DAY)).toBeLessThan(5 * SECOND);
  });
});

describe("1. login", () => {
  test("gives a user token in an envelope", async () => {
    const { status, json } = await post(LOGIN, DEFAULT_CREDENTIALS, {});
    expect(status).toBe(200);
    expect(json).toEqual({
      ...ENVELOPE,
      result: { accessToken: expect.any(String), mfaRequired: false },
    });
  });

  test("gives no token to a user who must complete MFA", async () => {
    const { json } = await post(LOGIN, { ...DEFAULT_CREDENTIALS, username: SEEDED.mfaUser }, {});
    expect(json.result).toEqual({ accessToken: null, mfaRequired: true });
  });

  test.each([
    ["a wrong password", { password: "wrong" }],
    ["an unknown user", { username: "who" }],
    ["another domain", { domain: "elsewhere" }],
  ])("refuses %s with 401", async (_, wrong) => {
    const { status } = await post(LOGIN, { ...DEFAULT_CREDENTIALS, ...wrong }, {});
    expect(status).toBe(401);
  });

  test.each(["username", "password", "domain"])("needs %s as text", async (field) => {
    for (const value of [undefined, 7, null]) {
      const { status } = await post(LOGIN, { ...DEFAULT_CREDENTIALS, [field]: value }, {});
      expect(status).toBe(422);
    }
  });

  test("a token ends with its lifetime", async () => {
    server.world.clock.advance(HOUR - SECOND);
    expect((await get(ACCOUNTS)).status).toBe(200);
    server.world.clock.advance(SECOND);
    expect((await get(ACCOUNTS)).status).toBe(401);
  });

  test("a revoked token is refused", async () => {
    expect(server.world.revokeTokens(DEFAULT_CREDENTIALS.username)).toBeGreaterThan(0);
    expect((await get(ACCOUNTS)).status).toBe(401);
  });

  test("wrong passwords lock the user where that is configured", async () => {
    server.world.settings.lockAfterFailedLogins = 2;
    const wrong = { ...DEFAULT_CREDENTIALS, password: "wrong" };
    for (const _ of [1, 2]) await post(LOGIN, wrong, {});
    expect((await post(LOGIN, DEFAULT_CREDENTIALS, {})).status).toBe(401);
    Object.assign(server.world.users.get(DEFAULT_CREDENTIALS.username) ?? {}, {
      locked: false,
      failedLogins: 0,
    });
    server.world.settings.lockAfterFailedLogins = undefined;
  });
});

describe("2. create a service account", () => {
  test("answers 201 with the bare record", async () => {
    const { status, json } = await post(ACCOUNTS, wantedAccount);
    expect(status).toBe(201);
    expect(json).toEqual({
      ...wantedAccount,
      saId: expect.stringMatching(/^sa-.+/),
      tpn: `tpn:r1:org-1:prj-1:sa/${json.saId}`,
      status: "active",
      keys: [],
    });
  });

  test("is not idempotent: the same request makes another account", async () => {
    const [first, second] = [
      await post(ACCOUNTS, wantedAccount),
      await post(ACCOUNTS, wantedAccount),
    ];
    expect(first.json.saId).not.toBe(second.json.saId);
  });

  test("the new account has no permission", async () => {
    const { json } = await post(ACCOUNTS, wantedAccount);
    expect(server.world.boundTo(json.tpn)).toEqual([]);
    const { json: pair } = await post(`${ACCOUNTS}/${json.saId}/keys`, {
      description: "",
      expiresInDays: 1,
    });
    const headers = { ...keyHeaders(pair.keyId, pair.secret), ...DOMAIN };
    for (const path of [INSTANCES, `${QUOTAS}?clusterId=7`, `${SEARCH}?q=a`]) {
      const answer = await get(path, headers);
      expect([answer.status, answer.json.message]).toEqual([403, "Policy denied"]);
    }
  });

  test.each(["orgId", "projectId", "name", "description"])("needs %s as text", async (field) => {
    for (const value of [undefined, 7, null]) {
      expect((await post(ACCOUNTS, { ...wantedAccount, [field]: value })).status).toBe(422);
    }
  });

  test("answers 404 for an unknown project and 403 for another organization", async () => {
    expect((await post(ACCOUNTS, { ...wantedAccount, projectId: "prj-0" })).status).toBe(404);
    const foreign = { ...wantedAccount, orgId: SEEDED.otherOrgId, projectId: "prj-9" };
    expect((await post(ACCOUNTS, foreign)).status).toBe(403);
  });
});

describe("3. list service accounts", () => {
  test("lists the accounts of the caller's organization in an envelope", async () => {
    const { world } = server;
    world.createAccount({ orgId: "org-2", projectId: "prj-9", name: "foreign", description: "" });
    const { account } = client.account();
    const { json } = await get(`${ACCOUNTS}?page=0`);
    expect(json).toMatchObject(ENVELOPE);
    const names = json.result.data.map(({ name }: { name: string }) => name);
    expect(names).not.toContain("foreign");
    expect(json.result.data.at(-1)).toMatchObject({ saId: account.saId, tpn: account.tpn });
    expect(json.result.dataCount).toBe(json.result.pagination.totalCount);
  });

  test("an account made by call 2 can be found again by its description", async () => {
    const created = await post(ACCOUNTS, { ...wantedAccount, description: "k8s team-a/ci#1" });
    const { json } = await get(`${ACCOUNTS}?page=0`);
    expect(json.result.data).toContainEqual(
      expect.objectContaining({ saId: created.json.saId, description: "k8s team-a/ci#1" }),
    );
  });
});

describe("4. one service account", () => {
  test("gives the record with its keys, never their secrets", async () => {
    const { account, key, secret } = client.account();
    const { status, json, text } = await get(`${ACCOUNTS}/${account.saId}`);
    expect(status).toBe(200);
    expect(json).toMatchObject({ saId: account.saId, tpn: account.tpn, status: "active" });
    expect(json.keys).toEqual([expect.objectContaining({ keyId: key.keyId, status: "active" })]);
    expect(text).not.toContain(secret);
  });

  test("answers 404 for an unknown account", async () => {
    expect((await get(`${ACCOUNTS}/sa-none`)).status).toBe(404);
  });
});

describe("5. issue a key", () => {
  const wanted = { description: "k8s team-a/ci#1", expiresInDays: 90 };

  test("answers 201 with keyId and secret alone, without envelope", async () => {
    const { account } = client.account();
    const { status, json } = await post(`${ACCOUNTS}/${account.saId}/keys`, wanted);
    expect(status).toBe(201);
    expect(json).toEqual({
      keyId: expect.stringMatching(/^sak_.+/),
      secret: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    });
    expect(server.world.isPair(json.keyId, json.secret)).toBe(true);
    expect(server.world.keys.get(json.keyId)).toMatchObject({ ...wanted, saId: account.saId });
  });

  test("is not idempotent: the same request makes another key", async () => {
    const { account } = client.account();
    await post(`${ACCOUNTS}/${account.saId}/keys`, wanted);
    await post(`${ACCOUNTS}/${account.saId}/keys`, wanted);
    expect(server.world.keysOf(account.saId)).toHaveLength(3);
  });

  test.each([
    { description: undefined },
    { description: 7 },
    { expiresInDays: undefined },
    { expiresInDays: "90" },
    { expiresInDays: 1.5 },
    { expiresInDays: 0 },
    { expiresInDays: -1 },
  ])("refuses %o with 422", async (wrong) => {
    const { account } = client.account();
    const { status } = await post(`${ACCOUNTS}/${account.saId}/keys`, { ...wanted, ...wrong });
    expect(status).toBe(422);
    expect(server.world.keysOf(account.saId)).toHaveLength(1);
  });

  test("answers 404 for an unknown account", async () => {
    expect((await post(`${ACCOUNTS}/sa-none/keys`, wanted)).status).toBe(404);
  });

  test("limits on lifetime and number of keys can be set", async () => {
    const { account } = client.account();
    server.world.settings.maxExpiresInDays = 30;
    expect((await post(`${ACCOUNTS}/${account.saId}/keys`, wanted)).status).toBe(422);
    server.world.settings.maxExpiresInDays = undefined;
    server.world.settings.maxKeysPerAccount = 1;
    expect((await post(`${ACCOUNTS}/${account.saId}/keys`, wanted)).status).toBe(422);
    server.world.settings.maxKeysPerAccount = undefined;
  });
});

describe("6. validate a key", () => {
  test("needs no authentication and says whether a pair is usable", async () => {
    const { key, secret } = client.account();
    const ask = async (body: object) => (await post(VALIDATE, body, {})).json.result;
    expect(await ask({ keyId: key.keyId, secret })).toEqual({ valid: true });
    expect(await ask({ keyId: key.keyId, secret: "x".repeat(43) })).toEqual({ valid: false });
    server.world.setKeyStatus(key.keyId, "inactive");
    expect(await ask({ keyId: key.keyId, secret })).toEqual({ valid: false });
  });
});

describe("7. list policies", () => {
  const ids = async (query: string) => {
    const { json } = await get(`${POLICIES}${query}`);
    return json.result.data.map(({ id }: { id: string }) => id);
  };

  test("gives policies with their kind in an envelope", async () => {
    const { json } = await get(`${POLICIES}?orgId=org-1`);
    expect(json).toMatchObject(ENVELOPE);
    expect(json.result.data).toContainEqual(
      expect.objectContaining({ id: "pol-scp-guardrail", kind: "scp", status: "active" }),
    );
    expect(json.result.dataCount).toBe(server.world.policies.size);
  });

  test("filters by status and search", async () => {
    expect(await ids("?status=inactive")).toEqual(["pol-retired"]);
    expect(await ids("?status=active")).not.toContain("pol-retired");
    expect(await ids("?search=P1")).toEqual(["pol-p1-admin", "pol-p1-member"]);
    expect(await ids("?search=nothing-like-it")).toEqual([]);
  });

  test("another organization's policies are denied", async () => {
    expect((await get(`${POLICIES}?orgId=org-2`)).status).toBe(403);
  });
});

describe("8. sync bindings", () => {
  const sync = (tpn: string, policyIds: unknown, more: object = {}) =>
    put(SYNC, { targetType: "tpn", targetId: tpn, orgId: "org-1", policyIds, ...more });

  test("the submitted list replaces the whole set", async () => {
    const { account } = client.account(["pol-read"]);
    expect((await sync(account.tpn, ["pol-deploy", "pol-member"])).status).toBe(200);
    expect(server.world.boundTo(account.tpn)).toEqual(["pol-deploy", "pol-member"]);
    await sync(account.tpn, ["pol-member"]);
    expect(server.world.boundTo(account.tpn)).toEqual(["pol-member"]);
    await sync(account.tpn, []);
    expect(server.world.boundTo(account.tpn)).toEqual([]);
  });

  test("grants and revokes take effect at once", async () => {
    const { account, headers } = client.account();
    const status = async () => (await get(`${SEARCH}?q=a`, headers)).status;
    expect(await status()).toBe(403);
    await sync(account.tpn, ["pol-read"]);
    expect(await status()).toBe(200);
    await sync(account.tpn, []);
    expect(await status()).toBe(403);
  });

  test("a policy of kind scp is refused and nothing changes", async () => {
    const { account } = client.account(["pol-read"]);
    const { status, json } = await sync(account.tpn, ["pol-deploy", "pol-scp-guardrail"]);
    expect(status).toBe(422);
    expect(json.message).toContain("scp");
    expect(server.world.boundTo(account.tpn)).toEqual(["pol-read"]);
  });

  test("an unknown policy or target is a 404", async () => {
    const { account } = client.account();
    expect((await sync(account.tpn, ["pol-none"])).status).toBe(404);
    expect((await sync("tpn:r1:org-1:prj-1:sa/sa-none", [])).status).toBe(404);
  });

  test.each([
    { targetType: "user" },
    { targetType: undefined },
    { targetId: undefined },
    { orgId: undefined },
    { orgId: "org-2" },
    { policyIds: undefined },
    { policyIds: "pol-read" },
    { policyIds: [7] },
  ])("refuses %o with 422", async (wrong) => {
    const { account } = client.account(["pol-read"]);
    expect((await sync(account.tpn, [], wrong)).status).toBe(422);
    expect(server.world.boundTo(account.tpn)).toEqual(["pol-read"]);
  });
});

describe("9. bindings of a target", () => {
  const path = (tpn: string) => `${BY_TARGET}?targetType=tpn&targetId=${encodeURIComponent(tpn)}`;

  test("lists what is bound", async () => {
    const { account } = client.account(["pol-read", "pol-deploy"]);
    const { json } = await get(path(account.tpn));
    const policyIds = json.result.data.map(({ policyId }: { policyId: string }) => policyId);
    expect(policyIds).toEqual(["pol-read", "pol-deploy"]);
  });

  test("is empty for an account without bindings and 404 for an unknown target", async () => {
    const { account } = client.account();
    expect((await get(path(account.tpn))).json.result).toMatchObject({ data: [], dataCount: 0 });
    expect((await get(path("tpn:r1:org-1:prj-1:sa/sa-none"))).status).toBe(404);
  });

  test.each(["", "?targetType=tpn", "?targetId=x", "?targetType=user&targetId=x"])(
    "refuses the query %j with 422",
    async (query) => {
      expect((await get(`${BY_TARGET}${query}`)).status).toBe(422);
    },
  );
});

describe("10. evaluate", () => {
  const instance = "trn:p1:compute:org-1:r1:prj-1:instance/i-1";
  const evaluate = (targetId: string, action: string, resource = instance) =>
    post(EVALUATE, { targetId, action, resource });

  test("simulates the decision with its reason", async () => {
    const { account } = client.account(["pol-deploy", "pol-deny-delete"]);
    const decision = async (alias: string) =>
      (await evaluate(account.tpn, `svc:Compute.Instances.${alias}`)).json.result;
    expect(await decision("CreateInstance")).toEqual({
      decision: "Allow",
      reason: "Allowed",
      matchedStatements: ["pol-deploy"],
    });
    expect(await decision("DeleteInstance")).toMatchObject({ reason: "ExplicitDeny" });
    expect(
      (await evaluate(account.tpn, "svc:Iam.Bindings.SyncBindings")).json.result,
    ).toMatchObject({
      decision: "Deny",
      reason: "NoAllowingPolicy",
    });
  });

  test("refuses what is no resource name, and unknown targets", async () => {
    const { account } = client.account();
    expect((await evaluate(account.tpn, "svc:A.B.C", "instance")).status).toBe(422);
    expect((await evaluate("tpn:none", "svc:A.B.C")).status).toBe(404);
  });
});

describe("API keys", () => {
  const call = async (headers: HeaderMap) => (await get(`${SEARCH}?q=a`, headers)).status;

  test("a usable key of a permitted account is accepted", async () => {
    expect(await call(client.account(["pol-read"]).headers)).toBe(200);
  });

  test.each<[string, (made: ReturnType<TestClient["account"]>) => HeaderMap]>([
    ["without a secret", ({ key }) => ({ "svc-api-key": key.keyId })],
    ["without a key id", ({ secret }) => ({ "svc-api-secret": secret })],
    ["with another secret", ({ key }) => keyHeaders(key.keyId, "x".repeat(43))],
    ["with a shorter secret", ({ key, secret }) => keyHeaders(key.keyId, secret.slice(1))],
    ["with an unknown id", ({ secret }) => keyHeaders("sak_none", secret)],
    [
      "with the secret of another key",
      ({ key }) => keyHeaders(key.keyId, client.account(["pol-read"]).secret),
    ],
  ])("a call %s is a 401", async (_, headers) => {
    expect(await call(headers(client.account(["pol-read"])))).toBe(401);
  });

  test("an inactive key is refused until it is active again", async () => {
    const { key, headers } = client.account(["pol-read"]);
    server.world.setKeyStatus(key.keyId, "inactive");
    expect(await call(headers)).toBe(401);
    server.world.setKeyStatus(key.keyId, "active");
    expect(await call(headers)).toBe(200);
  });

  test("an inactive service account's keys are refused", async () => {
    const { account, headers } = client.account(["pol-read"]);
    server.world.setAccountStatus(account.saId, "inactive");
    expect(await call(headers)).toBe(401);
  });

  test("a deleted key is refused", async () => {
    const { key, headers } = client.account(["pol-read"]);
    server.world.deleteKey(key.keyId);
    expect(await call(headers)).toBe(401);
  });

  test("a key expires after its days", async () => {
    const { headers } = client.account(["pol-read"]);
    server.world.clock.advance(90 * DAY - 10 * SECOND);
    const before = await call(headers);
    server.world.clock.advance(10 * SECOND);
    const after = await call(headers);
    server.world.clock.advance(-90 * DAY);
    expect([before, after]).toEqual([200, 401]);
  });
});

describe("11. compute instances", () => {
  const list = (headers: HeaderMap, query = "") => get(`${INSTANCES}${query}`, headers);
  const permitted = () => ({ ...client.account(["pol-read"]).headers, ...DOMAIN });

  test("lists the instances of the key's project, ten a page", async () => {
    const { json } = await list(permitted());
    expect(json).toMatchObject(ENVELOPE);
    expect(json.result).toMatchObject({
      dataCount: 10,
      pagination: { page: 1, pageSize: 10, totalCount: 12, totalPages: 2, hasNext: true },
    });
    expect(json.result.data[0]).toEqual({
      instanceId: "i-0001",
      name: "vm-1",
      status: "running",
      orgId: "org-1",
      projectId: "prj-1",
      partitionId: "p1",
    });
  });

  test("takes page and pageSize", async () => {
    const { json } = await list(permitted(), "?page=3&pageSize=5");
    expect(json.result).toMatchObject({
      dataCount: 2,
      pagination: { hasNext: false, hasPrev: true },
    });
    expect((await list(permitted(), "?pageSize=0")).status).toBe(422);
    expect((await list(permitted(), "?page=x")).status).toBe(422);
  });

  test("takes a key, not a user token", async () => {
    expect((await list({ ...bearer, ...DOMAIN })).status).toBe(401);
    expect((await list({ ...DOMAIN })).status).toBe(401);
  });

  test.each(["x-domain-id", "x-domain-name"])("needs %s", async (name) => {
    const { [name]: _, ...headers } = permitted() as Record<string, string>;
    expect((await list(headers)).status).toBe(422);
  });

  test("a policy for one partition needs that X-Partition-Id", async () => {
    const headers = { ...client.account(["pol-p1-member"]).headers, ...DOMAIN };
    expect((await list(headers)).status).toBe(403);
    expect((await list({ ...headers, "x-partition-id": "p2" })).status).toBe(403);
    const { status, json } = await list({ ...headers, "x-partition-id": "p1" });
    expect([status, json.result.pagination.totalCount]).toEqual([200, 8]);
  });

  test("an explicit Deny overrides", async () => {
    const { headers } = client.account(["pol-read", "pol-deny-list"]);
    const { status, json } = await list({ ...headers, ...DOMAIN });
    expect([status, json.message]).toEqual([403, "Policy denied"]);
  });

  test("another organization's id is denied", async () => {
    expect((await list({ ...permitted(), "x-domain-id": "org-2" })).status).toBe(403);
  });
});

describe("12. container ResourceQuotas", () => {
  const quotas = (query: string, headers: HeaderMap = { ...bearer, ...DOMAIN }) =>
    get(`${QUOTAS}${query}`, headers);
  const names = async (query: string) =>
    (await quotas(query)).json.result.data.map(
      ({ namespace, name }: { namespace: string; name: string }) => `${namespace}/${name}`,
    );

  test("gives records with exactly the documented fields, newest first, ten a page", async () => {
    const { status, json } = await quotas("?clusterId=7");
    expect(status).toBe(200);
    expect(json).toMatchObject(ENVELOPE);
    expect(json.result.data[0]).toEqual({
      status: "Active",
      name: "pods",
      namespace: "monitoring",
      displayRequest: "pods: 12/20",
      displayLimit: "",
      createdAt: "2026-01-12T00:00:00Z",
    });
    expect(json.result.dataCount).toBe(10);
    expect(json.result.pagination).toEqual({
      page: 1,
      pageSize: 10,
      totalCount: 12,
      totalPages: 2,
      hasNext: true,
      hasPrev: false,
    });
  });

  test("a quota without condition has status null", async () => {
    const { json } = await quotas("?clusterId=7&filterName=object-counts");
    expect(json.result.data[0].status).toBeNull();
  });

  test("page is 1-based and 0 returns everything", async () => {
    expect((await names("?clusterId=7&page=2")).length).toBe(2);
    const { json } = await quotas("?clusterId=7&page=0");
    expect(json.result.dataCount).toBe(12);
    expect(json.result.pagination).toMatchObject({ page: 0, hasNext: false, hasPrev: false });
    const past = await quotas("?clusterId=7&page=9");
    expect(past.json.result).toMatchObject({ data: [], pagination: { hasNext: false } });
  });

  test("namespace is repeatable and exact", async () => {
    expect(await names("?clusterId=7&namespace=team-c&namespace=kube-system&sortBy=name")).toEqual([
      "team-c/unlimited",
      "kube-system/system-quota",
      "team-c/odd-text",
      "team-c/compute-quota",
    ]);
    expect(await names("?clusterId=7&namespace=team")).toEqual([]);
  });

  test("filterName is repeatable, partial, and combined with OR", async () => {
    expect(await names("?clusterId=7&filterName=gpu&filterName=object&sortOrder=asc")).toEqual([
      "team-a/object-counts",
      "team-b/gpu-quota",
    ]);
  });

  test.each([
    ["sortBy=name&sortOrder=asc", "team-b/best-effort"],
    ["sortBy=namespace&sortOrder=asc", "kube-system/system-quota"],
    ["sortBy=createdAt&sortOrder=asc", "team-a/compute-quota"],
    ["sortBy=name", "team-c/unlimited"],
  ])("sorts by %s", async (query, first) => {
    expect((await names(`?clusterId=7&page=0&${query}`))[0]).toBe(first);
  });

  test.each([
    "",
    "?clusterId=",
    "?clusterId=0",
    "?clusterId=-1",
    "?clusterId=x",
    "?clusterId=1.5",
    "?clusterId=7&page=-1",
    "?clusterId=7&page=",
    "?clusterId=7&pageSize=0",
    "?clusterId=7&pageSize=101",
    "?clusterId=7&sortBy=status",
    "?clusterId=7&sortOrder=up",
  ])("refuses the query %j with 422", async (query) => {
    expect((await quotas(query)).status).toBe(422);
  });

  test("takes pageSize up to 100", async () => {
    expect((await quotas("?clusterId=7&pageSize=100")).status).toBe(200);
  });

  test("takes a key as well, when a policy allows it", async () => {
    const { headers } = client.account(["pol-read"]);
    expect((await quotas("?clusterId=7", { ...headers, ...DOMAIN })).status).toBe(200);
    const powerless = client.account().headers;
    expect((await quotas("?clusterId=7", { ...powerless, ...DOMAIN })).status).toBe(403);
    expect((await quotas("?clusterId=7", DOMAIN)).status).toBe(401);
  });

  test("ignores X-Partition-Id", async () => {
    const { headers } = client.account(["pol-p1-member"]);
    for (const partition of [{}, { "x-partition-id": "p2" }]) {
      const { status } = await quotas("?clusterId=7", { ...headers, ...DOMAIN, ...partition });
      expect(status).toBe(200);
    }
  });

  test.each(["x-domain-id", "x-domain-name"])("needs %s", async (name) => {
    const { [name]: _, ...headers } = { ...bearer, ...DOMAIN } as Record<string, string>;
    expect((await quotas("?clusterId=7", headers)).status).toBe(422);
  });

  test("answers 404 for a cluster that is unknown or another organization's", async () => {
    expect((await quotas("?clusterId=404")).status).toBe(404);
    expect((await quotas(`?clusterId=${SEEDED.otherClusterId}`)).status).toBe(404);
    expect((await quotas(`?clusterId=${SEEDED.emptyClusterId}`)).json.result.data).toEqual([]);
  });
});

describe("13. action search", () => {
  const search = (query: string, headers: HeaderMap = bearer) => get(`${SEARCH}${query}`, headers);
  const ids = async (query: string) =>
    (await search(query)).json.result.data.map(({ actionId }: { actionId: string }) => actionId);

  test("gives records with the documented fields in an envelope", async () => {
    const { json } = await search("?q=svc:Compute.Instances.ListInstances");
    expect(json).toMatchObject(ENVELOPE);
    expect(json.result.data).toEqual([
      {
        actionId: "svc:Compute.Instances.ListInstances",
        app: "compute",
        category: "Instances",
        actionClass: "List",
        alias: "ListInstances",
        apiMethod: "GET",
        apiPath: "/api/v1/compute/instances",
        operationId: "listInstances",
        resourceType: "instance",
        resourceIdParam: null,
        resourceIdSource: null,
        conditionParams: [],
        createdAt: "2026-01-01T00:00:00Z",
        createdBy: "system",
        updatedAt: null,
        updatedBy: "system",
        notes: "has a documented call",
        catalogVersion: "2026.1",
      },
    ]);
  });

  test("pages by 20 unless asked otherwise", async () => {
    const { json } = await search("?q=svc");
    const total = server.world.catalogue.length;
    expect(json.result.pagination).toMatchObject({ page: 1, pageSize: 20, totalCount: total });
    expect(await ids("?q=svc&page=0")).toHaveLength(total);
    expect(await ids("?q=svc&page=2&pageSize=10")).toHaveLength(10);
    expect(await ids("?q=svc&pageSize=1000")).toHaveLength(total);
  });

  test("filters by app, method and action class in any case", async () => {
    expect(await ids("?q=svc&app=svccontainer&actionClass=ADMIN")).toEqual([
      "svc:SvcContainer.Cluster.ReadKubeconfig",
    ]);
    expect(await ids("?q=svc&method=PUT")).toEqual(["svc:Iam.Bindings.SyncBindings"]);
    expect(await ids("?q=INSTANCES&actionClass=delete")).toEqual([
      "svc:Compute.Instances.DeleteInstance",
    ]);
  });

  test("sorts by a field in either order", async () => {
    expect((await ids("?q=svc&sort=alias&order=asc"))[0]).toBe(
      "svc:Compute.Instances.ActionInstance",
    );
    expect((await ids("?q=svc&sort=app&order=desc"))[0]).toMatch(/^svc:SvcContainer/);
  });

  test.each([
    "",
    "?q=",
    "?q=a&page=-1",
    "?q=a&page=one",
    "?q=a&pageSize=0",
    "?q=a&pageSize=1001",
    "?q=a&order=up",
    "?q=a&sort=price",
  ])("refuses the query %j with 422", async (query) => {
    expect((await search(query)).status).toBe(422);
  });

  test("takes a key or a user token, and needs a policy", async () => {
    expect((await search("?q=a", client.account(["pol-read"]).headers)).status).toBe(200);
    expect((await search("?q=a", client.account().headers)).status).toBe(403);
    expect((await search("?q=a", {})).status).toBe(401);
  });

  test("the catalogue knows about thirty actions, among them all that this server checks", () => {
    expect(server.world.catalogue.length).toBeGreaterThanOrEqual(28);
    expect(missingFromCatalogue(server.world.catalogue)).toEqual([]);
  });
});
