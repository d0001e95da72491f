import { beforeEach, describe, expect, test } from "vitest";
import { DAY, HOUR, SECOND } from "../../src/util/time.ts";
import { OPERATION_NAMES, OPERATIONS } from "./operations.ts";
import { DEFAULT_CREDENTIALS, SEEDED } from "./seed.ts";
import { missingFromCatalogue } from "./seed-catalogue.ts";
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
  type TestClient,
  VALIDATE,
} from "./test-client.ts";
import { useTestServer } from "./use-test-server.ts";

const { server, client } = await useTestServer();
let bearer: HeaderMap;
/** An account with a key and the policy pol-read. */
let made: ReturnType<TestClient["account"]>;

beforeEach(async () => {
  server.requests.clear();
  bearer = await client.user();
  made = client.account(["pol-read"]);
});

/** Who calls. */
type Caller = () => HeaderMap;
const user: Caller = () => bearer;
const anonymous: Caller = () => ({});
const userOfOrg: Caller = () => ({ ...bearer, ...DOMAIN });
const key =
  (...policyIds: readonly string[]): Caller =>
  () => ({ ...client.account(policyIds).headers, ...DOMAIN });
const without =
  (name: string, caller: Caller): Caller =>
  () =>
    Object.fromEntries(Object.entries(caller()).filter(([each]) => each !== name));
const withHeader =
  (name: string, value: string, caller: Caller): Caller =>
  () => ({ ...caller(), [name]: value });

/** {saId} and {tpn} in a path or a body are those of the account that was made. */
function fill<T>(value: T): T {
  const { saId, tpn } = made.account;
  return value === undefined
    ? value
    : JSON.parse(JSON.stringify(value).replaceAll("{saId}", saId).replaceAll("{tpn}", tpn));
}

function ask(call: string, caller: Caller = user, body?: object) {
  const [method = "", path = ""] = fill(call).split(" ");
  return client.send(method, path, { headers: caller(), body: fill(body) });
}

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
const wantedKey = { description: "k8s team-a/ci#1", expiresInDays: 90 };
const binding = { targetType: "tpn", targetId: "{tpn}", orgId: "org-1", policyIds: ["pol-deploy"] };
const question = {
  targetId: "{tpn}",
  action: "svc:Compute.Instances.CreateInstance",
  resource: "trn:p1:compute:org-1:r1:prj-1:instance/i-1",
};

const CREATE = `POST ${ACCOUNTS}`;
const ISSUE = `POST ${ACCOUNTS}/{saId}/keys`;
const BIND = `PUT ${SYNC}`;
const CLUSTER_7 = `GET ${QUOTAS}?clusterId=7`;
const FIND = `GET ${SEARCH}?q`;

/** Every Bearer call, as a request that would be fine with a token. */
const BEARER_CALLS: readonly [call: string, body?: object][] = [
  [CREATE, wantedAccount],
  [`GET ${ACCOUNTS}`],
  [`GET ${ACCOUNTS}/sa-x`],
  [`POST ${ACCOUNTS}/sa-x/keys`, wantedKey],
  [`GET ${POLICIES}`],
  [BIND, { ...binding, targetId: "t" }],
  [`GET ${BY_TARGET}?targetType=tpn&targetId=t`],
  [`POST ${EVALUATE}`, {}],
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

  test.each(BEARER_CALLS)("%s needs a user token", async (call, body) => {
    for (const headers of [{}, { authorization: "Bearer nonsense" }, made.headers])
      expect((await ask(call, () => headers, body)).status).toBe(401);
  });

  test.each(BEARER_CALLS.filter(([call]) => !/sa-x|evaluate|sync/.test(call)))(
    "%s answers 403 to a user whom no policy allows it",
    async (call, body) => {
      const headers = await client.user(SEEDED.powerlessUser);
      const { status, json } = await ask(call, () => headers, body);
      expect([status, json.message]).toEqual([403, "Policy denied"]);
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
    const { secret } = made;
    const { keyId } = made.key;
    await ask(`POST ${VALIDATE}`, anonymous, { keyId, secret });
    await ask(`${FIND}=a`, () => made.headers);
    const printed = JSON.stringify(server.requests.all);
    for (const hidden of [secret, DEFAULT_CREDENTIALS.password, bearer.authorization?.slice(7)])
      expect(printed).not.toContain(hidden);
    expect(server.requests.all).toMatchObject([
      { operation: "login", auth: "none", status: 200 },
      { operation: "validateKey", auth: "none", principal: undefined },
      { operation: "searchActions", auth: "key", principal: keyId, query: { q: ["a"] } },
    ]);
  });

  test("query parameters which the description does not name are noticed", async () => {
    await ask(`GET ${POLICIES}?orgId=org-1&page=2`);
    await ask(`GET ${ACCOUNTS}?page=2`);
    const noticed = server.requests.all.map((each) => each.undocumentedParameters);
    expect(noticed).toEqual([[], ["page"], []]);
  });

  test("the Date header tells the console's own time", async () => {
    server.world.clock.advance(DAY);
    const { headers } = await ask(`GET ${ACCOUNTS}`);
    const ahead = Date.parse(headers.get("date") ?? "") - Date.now();
    server.world.clock.advance(-DAY);
    expect(Math.abs(ahead - DAY)).toBeLessThan(5 * SECOND);
  });
});

type Row = readonly [status: number, what: string, call: string, caller?: Caller, body?: object];

/** A body with each of the fields absent, a number, and null. */
function withoutText(call: string, caller: Caller, body: object, ...fields: string[]): Row[] {
  return fields.flatMap((field) =>
    [undefined, 7, null].map(
      (value): Row => [422, `${field}: ${value}`, call, caller, { ...body, [field]: value }],
    ),
  );
}

function withQueries(status: number, call: string, caller: Caller, ...queries: string[]): Row[] {
  return queries.map((query) => [status, query, `${call}${query}`, caller]);
}

const login = (wrong: object): Row => [
  401,
  JSON.stringify(wrong),
  `POST ${LOGIN}`,
  anonymous,
  { ...DEFAULT_CREDENTIALS, ...wrong },
];
const issue = (wrong: object): Row => [422, "", ISSUE, user, { ...wantedKey, ...wrong }];
const bind = (status: number, wrong: object): Row => [
  status,
  JSON.stringify(wrong),
  BIND,
  user,
  { ...binding, ...wrong },
];
const noAccount = "tpn:r1:org-1:prj-1:sa/sa-none";

const REFUSALS: Readonly<Record<string, readonly Row[]>> = {
  login: [
    login({ password: "wrong" }),
    login({ username: "who" }),
    login({ domain: "elsewhere" }),
    ...withoutText(
      `POST ${LOGIN}`,
      anonymous,
      DEFAULT_CREDENTIALS,
      "username",
      "password",
      "domain",
    ),
  ],
  "create a service account": [
    ...withoutText(CREATE, user, wantedAccount, "orgId", "projectId", "name", "description"),
    [404, "unknown project", CREATE, user, { ...wantedAccount, projectId: "prj-0" }],
    [
      403,
      "another organization",
      CREATE,
      user,
      { ...wantedAccount, orgId: SEEDED.otherOrgId, projectId: "prj-9" },
    ],
  ],
  "one service account": [[404, "unknown", `GET ${ACCOUNTS}/sa-none`]],
  "issue a key": [
    issue({ description: undefined }),
    issue({ description: 7 }),
    issue({ expiresInDays: undefined }),
    issue({ expiresInDays: "90" }),
    issue({ expiresInDays: 1.5 }),
    issue({ expiresInDays: 0 }),
    issue({ expiresInDays: -1 }),
    [404, "unknown account", `POST ${ACCOUNTS}/sa-none/keys`, user, wantedKey],
  ],
  "list policies": [[403, "another organization", `GET ${POLICIES}?orgId=org-2`]],
  "sync bindings": [
    bind(422, { policyIds: ["pol-deploy", "pol-scp-guardrail"] }),
    bind(404, { policyIds: ["pol-none"] }),
    bind(404, { targetId: noAccount }),
    bind(422, { targetType: "user" }),
    bind(422, { targetType: undefined }),
    bind(422, { targetId: undefined }),
    bind(422, { orgId: undefined }),
    bind(422, { orgId: "org-2" }),
    bind(422, { policyIds: undefined }),
    bind(422, { policyIds: "pol-read" }),
    bind(422, { policyIds: [7] }),
  ],
  "bindings of a target": [
    ...withQueries(422, `GET ${BY_TARGET}`, user, "", "?targetType=tpn", "?targetId=x"),
    ...withQueries(422, `GET ${BY_TARGET}`, user, "?targetType=user&targetId=x"),
    ...withQueries(404, `GET ${BY_TARGET}`, user, `?targetType=tpn&targetId=${noAccount}`),
  ],
  evaluate: [
    [422, "no resource", `POST ${EVALUATE}`, user, { ...question, resource: "instance" }],
    [404, "unknown target", `POST ${EVALUATE}`, user, { ...question, targetId: "tpn:none" }],
  ],
  "a call with an API key": [
    [401, "without a secret", `${FIND}=a`, () => ({ "svc-api-key": made.key.keyId })],
    [401, "without a key id", `${FIND}=a`, () => ({ "svc-api-secret": made.secret })],
    [401, "other secret", `${FIND}=a`, () => keyHeaders(made.key.keyId, "x".repeat(43))],
    [401, "shorter secret", `${FIND}=a`, () => keyHeaders(made.key.keyId, made.secret.slice(1))],
    [401, "unknown id", `${FIND}=a`, () => keyHeaders("sak_none", made.secret)],
    [
      401,
      "secret of another key",
      `${FIND}=a`,
      () => keyHeaders(made.key.keyId, client.account(["pol-read"]).secret),
    ],
  ],
  "compute instances": [
    ...withQueries(422, `GET ${INSTANCES}`, key("pol-read"), "?pageSize=0", "?page=x"),
    [401, "user token", `GET ${INSTANCES}`, userOfOrg],
    [401, "an anonymous caller", `GET ${INSTANCES}`, () => DOMAIN],
    [422, "no domain id", `GET ${INSTANCES}`, without("x-domain-id", key("pol-read"))],
    [422, "no domain name", `GET ${INSTANCES}`, without("x-domain-name", key("pol-read"))],
    [403, "policy for one partition", `GET ${INSTANCES}`, key("pol-p1-member")],
    [
      403,
      "policy for another partition",
      `GET ${INSTANCES}`,
      withHeader("x-partition-id", "p2", key("pol-p1-member")),
    ],
    [403, "explicit Deny", `GET ${INSTANCES}`, key("pol-read", "pol-deny-list")],
    [
      403,
      "another organization",
      `GET ${INSTANCES}`,
      withHeader("x-domain-id", "org-2", key("pol-read")),
    ],
    [403, "account without policies", `GET ${INSTANCES}`, key()],
  ],
  "container ResourceQuotas": [
    ...withQueries(422, `GET ${QUOTAS}`, userOfOrg, "", "?clusterId=", "?clusterId=0"),
    ...withQueries(422, `GET ${QUOTAS}`, userOfOrg, "?clusterId=-1", "?clusterId=x"),
    ...withQueries(422, `GET ${QUOTAS}`, userOfOrg, "?clusterId=1.5"),
    ...withQueries(422, CLUSTER_7, userOfOrg, "&page=-1", "&page=", "&pageSize=0", "&pageSize=101"),
    ...withQueries(422, CLUSTER_7, userOfOrg, "&sortBy=status", "&sortOrder=up"),
    ...withQueries(404, `GET ${QUOTAS}?clusterId=`, userOfOrg, "404", `${SEEDED.otherClusterId}`),
    [403, "account without policies", CLUSTER_7, key()],
    [401, "an anonymous caller", CLUSTER_7, () => DOMAIN],
    [422, "no domain id", CLUSTER_7, without("x-domain-id", userOfOrg)],
    [422, "no domain name", CLUSTER_7, without("x-domain-name", userOfOrg)],
  ],
  "action search": [
    ...withQueries(422, `GET ${SEARCH}`, user, "", "?q=", "?q=a&page=-1", "?q=a&page=one"),
    ...withQueries(422, `GET ${SEARCH}`, user, "?q=a&pageSize=0", "?q=a&pageSize=1001"),
    ...withQueries(422, `GET ${SEARCH}`, user, "?q=a&order=up", "?q=a&sort=price"),
    [403, "account without policies", `${FIND}=a`, key()],
    [401, "an anonymous caller", `${FIND}=a`, anonymous],
  ],
};

describe.each(Object.entries(REFUSALS))("%s is refused, and changes nothing", (_, rows) => {
  test.for(rows)("with %i: %s", async ([status, _what, call, caller, body]) => {
    const headers = (caller ?? user)();
    const before = server.world.journal.length;
    const answer = await ask(call, () => headers, body);
    expect(answer.status).toBe(status);
    if (status === 403) expect(answer.json.message).toBe("Policy denied");
    expect(server.world.journal).toHaveLength(before);
  });
});

const anyPair = {
  keyId: expect.stringMatching(/^sak_.+/),
  secret: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
};
const pagination = { page: 1, pageSize: 10, totalCount: 12, totalPages: 2, hasNext: true };

/** Whole answers, where they are not those of a list. */
const ANSWERS: readonly (readonly [...Row, json: unknown])[] = [
  [
    200,
    "login: a user token in an envelope",
    `POST ${LOGIN}`,
    anonymous,
    DEFAULT_CREDENTIALS,
    { ...ENVELOPE, result: { accessToken: expect.any(String), mfaRequired: false } },
  ],
  [
    200,
    "login: no token for a user who must complete MFA",
    `POST ${LOGIN}`,
    anonymous,
    { ...DEFAULT_CREDENTIALS, username: SEEDED.mfaUser },
    { ...ENVELOPE, result: { accessToken: null, mfaRequired: true } },
  ],
  [
    201,
    "create a service account: the bare record",
    CREATE,
    user,
    wantedAccount,
    {
      ...wantedAccount,
      saId: expect.stringMatching(/^sa-.+/),
      tpn: expect.stringMatching(/^tpn:r1:org-1:prj-1:sa\/sa-.+/),
      status: "active",
      keys: [],
    },
  ],
  [201, "issue a key: keyId and secret alone, without envelope", ISSUE, user, wantedKey, anyPair],
  [
    200,
    "evaluate: the decision with its reason",
    `POST ${EVALUATE}`,
    user,
    question,
    {
      ...ENVELOPE,
      result: { decision: "Deny", reason: "NoAllowingPolicy", matchedStatements: [] },
    },
  ],
];

test.each(ANSWERS)("answers %i to %s", async (status, _what, call, caller, body, json) => {
  const answer = await ask(call, caller, body);
  expect([answer.status, answer.json]).toEqual([status, json]);
});

type Listed = Readonly<Record<string, string>>;
const idOf = ({ id, actionId, namespace, name }: Listed) =>
  id ?? actionId ?? (namespace === undefined ? name : `${namespace}/${name}`);

/** What lists hold, by name. */
test.each<readonly [call: string, caller: Caller, names: readonly (string | undefined)[]]>([
  [`GET ${POLICIES}?status=inactive`, user, ["pol-retired"]],
  [`GET ${POLICIES}?search=P1`, user, ["pol-p1-admin", "pol-p1-member"]],
  [`GET ${POLICIES}?search=nothing-like-it`, user, []],
  [`GET ${INSTANCES}?page=3&pageSize=5`, key("pol-read"), ["vm-11", "vm-12"]],
  [
    `${CLUSTER_7}&namespace=team-c&namespace=kube-system&sortBy=name`,
    userOfOrg,
    ["team-c/unlimited", "kube-system/system-quota", "team-c/odd-text", "team-c/compute-quota"],
  ],
  [`${CLUSTER_7}&namespace=team`, userOfOrg, []],
  [
    `${CLUSTER_7}&filterName=gpu&filterName=object&sortOrder=asc`,
    userOfOrg,
    ["team-a/object-counts", "team-b/gpu-quota"],
  ],
  [`${CLUSTER_7}&page=9`, userOfOrg, []],
  [`GET ${QUOTAS}?clusterId=${SEEDED.emptyClusterId}`, userOfOrg, []],
  [
    `${FIND}=svc&app=svccontainer&actionClass=ADMIN`,
    user,
    ["svc:SvcContainer.Cluster.ReadKubeconfig"],
  ],
  [`${FIND}=svc&method=PUT`, user, ["svc:Iam.Bindings.SyncBindings"]],
  [`${FIND}=INSTANCES&actionClass=delete`, user, ["svc:Compute.Instances.DeleteInstance"]],
])("%s lists", async (call, caller, names) => {
  const { status, json } = await ask(call, caller);
  expect(status).toBe(200);
  expect(json).toMatchObject(ENVELOPE);
  expect(json.result.data.map(idOf)).toEqual(names);
});

test.each<readonly [call: string, caller: Caller, first: string | RegExp]>([
  [`${CLUSTER_7}&sortBy=name&sortOrder=asc`, userOfOrg, "team-b/best-effort"],
  [`${CLUSTER_7}&sortBy=namespace&sortOrder=asc`, userOfOrg, "kube-system/system-quota"],
  [`${CLUSTER_7}&sortBy=createdAt&sortOrder=asc`, userOfOrg, "team-a/compute-quota"],
  [`${CLUSTER_7}&sortBy=name`, userOfOrg, "team-c/unlimited"],
  [`${FIND}=svc&sort=alias&order=asc`, user, "svc:Compute.Instances.ActionInstance"],
  [`${FIND}=svc&sort=app&order=desc`, user, /^svc:SvcContainer/],
])("%s lists %3$s first", async (call, caller, first) => {
  expect(idOf((await ask(call, caller)).json.result.data[0])).toMatch(first);
});

test.each<readonly [call: string, caller: Caller, result: object]>([
  [`GET ${INSTANCES}`, key("pol-read"), { dataCount: 10, pagination }],
  [
    `GET ${INSTANCES}?page=3&pageSize=5`,
    key("pol-read"),
    { dataCount: 2, pagination: { hasNext: false, hasPrev: true } },
  ],
  [
    `GET ${INSTANCES}`,
    withHeader("x-partition-id", "p1", key("pol-p1-member")),
    { pagination: { totalCount: 8 } },
  ],
  [CLUSTER_7, userOfOrg, { dataCount: 10, pagination: { ...pagination, hasPrev: false } }],
  [CLUSTER_7, key("pol-read"), { dataCount: 10 }],
  [CLUSTER_7, key("pol-p1-member"), { dataCount: 10 }],
  [CLUSTER_7, withHeader("x-partition-id", "p2", key("pol-p1-member")), { dataCount: 10 }],
  [`${CLUSTER_7}&page=2`, userOfOrg, { dataCount: 2 }],
  [`${CLUSTER_7}&pageSize=100`, userOfOrg, { dataCount: 12 }],
  [
    `${CLUSTER_7}&page=0`,
    userOfOrg,
    { dataCount: 12, pagination: { page: 0, hasNext: false, hasPrev: false } },
  ],
  [`${CLUSTER_7}&page=9`, userOfOrg, { pagination: { hasNext: false } }],
  [`${FIND}=svc`, user, { pagination: { page: 1, pageSize: 20 } }],
  [`${FIND}=svc&page=2&pageSize=10`, user, { dataCount: 10 }],
  [`${FIND}=a`, key("pol-read"), {}],
])("%s is paged", async (call, caller, result) => {
  const { status, json } = await ask(call, caller);
  expect(status).toBe(200);
  expect(json.result).toMatchObject(result);
});

test.each<readonly [call: string, caller: Caller, record: object]>([
  [
    `GET ${POLICIES}?search=pol-scp-guardrail`,
    user,
    expect.objectContaining({ id: "pol-scp-guardrail", kind: "scp", status: "active" }),
  ],
  [
    `GET ${INSTANCES}`,
    key("pol-read"),
    {
      instanceId: "i-0001",
      name: "vm-1",
      status: "running",
      orgId: "org-1",
      projectId: "prj-1",
      partitionId: "p1",
    },
  ],
  [
    CLUSTER_7,
    userOfOrg,
    {
      status: "Active",
      name: "pods",
      namespace: "monitoring",
      displayRequest: "pods: 12/20",
      displayLimit: "",
      createdAt: "2026-01-12T00:00:00Z",
    },
  ],
  [`${CLUSTER_7}&filterName=object-counts`, userOfOrg, expect.objectContaining({ status: null })],
  [
    `${FIND}=svc:Compute.Instances.ListInstances`,
    user,
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
  ],
])("%s lists exactly the documented fields", async (call, caller, record) => {
  expect((await ask(call, caller)).json.result.data[0]).toEqual(record);
});

describe("sessions", () => {
  const status = async () => (await ask(`GET ${ACCOUNTS}`)).status;

  test("a token ends with its lifetime", async () => {
    server.world.clock.advance(HOUR - SECOND);
    expect(await status()).toBe(200);
    server.world.clock.advance(SECOND);
    expect(await status()).toBe(401);
  });

  test("a revoked token is refused", async () => {
    expect(server.world.revokeTokens(DEFAULT_CREDENTIALS.username)).toBeGreaterThan(0);
    expect(await status()).toBe(401);
  });
});

describe("service accounts", () => {
  test("creation is not idempotent, and finds its accounts again by their descriptions", async () => {
    const wanted = { ...wantedAccount, description: "k8s team-a/ci#1" };
    const ids = [await ask(CREATE, user, wanted), await ask(CREATE, user, wanted)].map(
      ({ json }) => json.saId,
    );
    expect(new Set(ids).size).toBe(2);
    const { data } = (await ask(`GET ${ACCOUNTS}?page=0`)).json.result;
    for (const saId of ids)
      expect(data).toContainEqual(
        expect.objectContaining({ saId, description: wanted.description }),
      );
  });

  test("a new one has no permission", async () => {
    const { json } = await ask(CREATE, user, wantedAccount);
    expect(server.world.boundTo(json.tpn)).toEqual([]);
  });

  test("the list is that of the caller's organization, in an envelope", async () => {
    const { world } = server;
    world.createAccount({ orgId: "org-2", projectId: "prj-9", name: "foreign", description: "" });
    const { account } = client.account();
    const { json } = await ask(`GET ${ACCOUNTS}?page=0`);
    expect(json).toMatchObject(ENVELOPE);
    expect(json.result.data.map(idOf)).not.toContain("foreign");
    expect(json.result.data.at(-1)).toMatchObject({ saId: account.saId, tpn: account.tpn });
    expect(json.result.dataCount).toBe(json.result.pagination.totalCount);
  });

  test("one is shown with its keys, never with their secrets", async () => {
    const { account, secret } = made;
    const { status, json, text } = await ask(`GET ${ACCOUNTS}/{saId}`);
    expect(status).toBe(200);
    expect(json).toMatchObject({ saId: account.saId, tpn: account.tpn, status: "active" });
    const { keyId } = made.key;
    expect(json.keys).toEqual([expect.objectContaining({ keyId, status: "active" })]);
    expect(text).not.toContain(secret);
  });
});

describe("keys", () => {
  const usable = async () => (await ask(`${FIND}=a`, () => made.headers)).status === 200;

  test("issuing is not idempotent, and keeps what was asked for", async () => {
    const { json } = await ask(ISSUE, user, wantedKey);
    await ask(ISSUE, user, wantedKey);
    const { saId } = made.account;
    expect(server.world.keysOf(saId)).toHaveLength(3);
    expect(server.world.isPair(json.keyId, json.secret)).toBe(true);
    expect(server.world.keys.get(json.keyId)).toMatchObject({ ...wantedKey, saId });
  });

  test("the check needs no authentication and says whether a pair is usable", async () => {
    const { keyId } = made.key;
    const check = async (secret: string) =>
      (await ask(`POST ${VALIDATE}`, anonymous, { keyId, secret })).json.result;
    expect(await check(made.secret)).toEqual({ valid: true });
    expect(await check("x".repeat(43))).toEqual({ valid: false });
    server.world.setKeyStatus(keyId, "inactive");
    expect(await check(made.secret)).toEqual({ valid: false });
  });

  test("one is refused while it or its account is inactive, and once it is deleted", async () => {
    const { world } = server;
    const { keyId } = made.key;
    const { saId } = made.account;
    const seen = [await usable()];
    for (const change of [
      () => world.setKeyStatus(keyId, "inactive"),
      () => world.setKeyStatus(keyId, "active"),
      () => world.setAccountStatus(saId, "inactive"),
      () => world.setAccountStatus(saId, "active"),
      () => world.deleteKey(keyId),
    ]) {
      change();
      seen.push(await usable());
    }
    expect(seen).toEqual([true, false, true, false, true, false]);
  });

  test("one expires after its days", async () => {
    server.world.clock.advance(90 * DAY - 10 * SECOND);
    const before = await usable();
    server.world.clock.advance(10 * SECOND);
    const after = await usable();
    server.world.clock.advance(-90 * DAY);
    expect([before, after]).toEqual([true, false]);
  });
});

describe("policies", () => {
  test("all are listed, and only active ones on request", async () => {
    const { json } = await ask(`GET ${POLICIES}?orgId=org-1`);
    expect(json.result.dataCount).toBe(server.world.policies.size);
    const active = (await ask(`GET ${POLICIES}?status=active`)).json.result.data.map(idOf);
    expect(active).toHaveLength(server.world.policies.size - 1);
    expect(active).not.toContain("pol-retired");
  });

  test("the submitted list replaces the whole set, and takes effect at once", async () => {
    const allowed = async () => (await ask(`${FIND}=a`, () => made.headers)).status;
    const seen: unknown[] = [];
    for (const policyIds of [["pol-deploy", "pol-read"], ["pol-read"], []]) {
      expect((await ask(BIND, user, { ...binding, policyIds })).status).toBe(200);
      const { result } = (await ask(`GET ${BY_TARGET}?targetType=tpn&targetId={tpn}`)).json;
      expect(result.dataCount).toBe(policyIds.length);
      seen.push([result.data.map(({ policyId }: Listed) => policyId), await allowed()]);
    }
    expect(seen).toEqual([
      [["pol-deploy", "pol-read"], 200],
      [["pol-read"], 200],
      [[], 403],
    ]);
  });

  test("a policy of kind scp is named as what cannot be bound", async () => {
    const { json } = await ask(BIND, user, { ...binding, policyIds: ["pol-scp-guardrail"] });
    expect(json.message).toContain("scp");
  });

  test.each([
    ["CreateInstance", "Allow", "Allowed", ["pol-deploy"]],
    ["DeleteInstance", "Deny", "ExplicitDeny", expect.any(Array)],
  ])("an evaluation of %s says %s", async (alias, decision, reason, matchedStatements) => {
    server.world.replaceBindings(made.account.tpn, ["pol-deploy", "pol-deny-delete"]);
    const action = `svc:Compute.Instances.${alias}`;
    const { json } = await ask(`POST ${EVALUATE}`, user, { ...question, action });
    expect(json.result).toEqual({ decision, reason, matchedStatements });
  });
});

test("the catalogue knows about thirty actions, among them all that this server checks", async () => {
  const { catalogue } = server.world;
  expect(catalogue.length).toBeGreaterThanOrEqual(28);
  expect(missingFromCatalogue(catalogue)).toEqual([]);
  for (const query of ["&page=0", "&pageSize=1000"])
    expect((await ask(`${FIND}=svc${query}`)).json.result.data).toHaveLength(catalogue.length);
});
