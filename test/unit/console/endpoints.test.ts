import { describe, expect, test } from "vitest";
import { isIamError } from "../../../src/console/errors.ts";
import { Redacted } from "../../../src/util/redacted.ts";
import { SEEDED } from "../../../tools/iam-server/seed.ts";
import { SHAPE_VARIANTS, type Shapes } from "../../../tools/iam-server/shapes.ts";
import { ACCOUNT, clientOf, failureOf, startConsole } from "./clients.ts";

const READ_KEY = { description: "test", expiresInDays: 30 };
/** What the key list must be read as, where the variant does not show the key. */
const hiddenKeys: Readonly<Record<string, readonly string[] | undefined>> = {
  omitted: undefined,
  empty: [],
};

/** Every variant of every open answer, one at a time. */
const variants = (Object.keys(SHAPE_VARIANTS) as (keyof Shapes)[]).flatMap((name) =>
  SHAPE_VARIANTS[name].map((variant) => ({ name, variant })),
);

describe.each(variants)("if $name is $variant", ({ name, variant }) => {
  const bound = (policyIds: readonly string[]) =>
    variant === "unreadable"
      ? { readable: false }
      : { readable: true, policyIds: policyIds.map(spelled) };
  const spelled = (policyId: string) => (variant === "upper" ? policyId.toUpperCase() : policyId);
  const listed = (keyId: string) =>
    name === "keyRecords" && variant in hiddenKeys ? hiddenKeys[variant] : [keyId];

  test("all thirteen calls work, with no call and no parameter that is not documented", async () => {
    const server = await startConsole({ shapes: { [name]: variant } });
    const client = clientOf(server);

    await client.authenticate();
    const account = await client.createServiceAccount(ACCOUNT);
    const { description, ...place } = ACCOUNT;
    const shown = name === "accountDescriptions" && variant === "omitted" ? {} : { description };
    expect(account).toMatchObject({ ...place, ...shown, status: "active" });
    expect(await client.listServiceAccounts()).toEqual([account]);
    const { saId, tpn = "" } = account;

    const pair = await client.issueKey({ saId, ...READ_KEY });
    expect(server.world.isPair(pair.keyId, pair.secret.reveal())).toBe(true);
    const detail = await client.getServiceAccount(saId);
    expect(detail).toMatchObject(account);
    expect(detail?.keyIds).toEqual(listed(pair.keyId));
    expect(await client.getServiceAccount("sa-unknown")).toBeUndefined();

    const policies = await client.listPolicies({ orgId: SEEDED.orgId, status: "active" });
    expect(policies).toContainEqual({
      policyId: spelled("pol-read"),
      name: "read",
      kind: "custom",
    });
    const guardrail = policies.find(({ kind }) => kind === "scp");
    expect(guardrail?.policyId).toBe(spelled("pol-scp-guardrail"));

    await client.syncBindings({ tpn, orgId: SEEDED.orgId, policyIds: [] });
    expect(await client.listBindings(tpn)).toEqual(bound([]));
    const policyIds = ["pol-p1-member", "pol-read"];
    await client.syncBindings({ tpn, orgId: SEEDED.orgId, policyIds });
    expect(server.world.boundTo(tpn)).toEqual(policyIds);
    expect(await client.listBindings(tpn)).toEqual(bound(policyIds));

    const validity = await client.validateKey({
      keyId: pair.keyId,
      secret: pair.secret.reveal(),
    });
    expect(JSON.stringify(validity)).toMatch(/"valid":true|null/);
    const decision = await client.evaluatePolicy({
      targetId: tpn,
      action: "svc:Compute.Instances.ListInstances",
      resource: `trn:p1:compute:${SEEDED.orgId}:r:${SEEDED.projectId}:instance/x`,
    });
    expect(JSON.stringify(decision)).toMatch(/Allow|true/);

    expect(await client.listInstances({ page: 1, pageSize: 5, key: pair })).not.toEqual([]);
    const quotas = { clusterId: SEEDED.clusterId, namespaces: [], filterNames: [] };
    expect(await client.listResourceQuotas(quotas)).toHaveLength(12);
    expect(await client.listResourceQuotas({ ...quotas, key: pair })).toHaveLength(12);
    expect(await client.searchActions({ q: "a", pageSize: 1, key: pair })).toHaveLength(1);
    expect(await client.searchActions({ q: "a" })).not.toHaveLength(0);

    expect(server.requests.unknownCalls).toEqual([]);
    expect(server.requests.all.flatMap((seen) => seen.undocumentedParameters)).toEqual([]);
    expect(server.requests.count("login")).toBe(1);
  });
});

test("a partial list of accounts does not count as complete", async () => {
  const server = await startConsole();
  const client = clientOf(server);
  for (let n = 0; n < 21; n += 1) server.world.createAccount({ ...ACCOUNT, name: `sa-${n}` });
  const failure = await failureOf(client.listServiceAccounts());
  expect(failure).toMatchObject({
    code: "MalformedResponse",
    message:
      "listServiceAccounts was answered with status 200 (application/json), but the answer cannot be understood: the list continues after this page. Ask the connection's administrator to name the console's query parameters in spec.accountListPages.",
  });
});

test("quotas of many pages are read whole, filtered, without the partition", async () => {
  const server = await startConsole();
  const cluster = server.world.clusters.get(SEEDED.clusterId)!;
  const [sample] = cluster.quotas;
  cluster.quotas = Array.from({ length: 250 }, (_, n) => ({
    ...sample!,
    name: `quota-${n % 50}`,
    namespace: `team-${Math.floor(n / 50)}`,
  }));
  const client = clientOf(server);
  const { clusterId } = SEEDED;
  const all = await client.listResourceQuotas({ clusterId, namespaces: [], filterNames: [] });
  expect(new Set(all.map(({ namespace, name }) => `${namespace}/${name}`)).size).toBe(250);
  const some = await client.listResourceQuotas({
    clusterId,
    namespaces: ["team-1", "team-2"],
    filterNames: ["quota-4"],
  });
  expect(some).toHaveLength(22);
  expect(server.requests.all.at(-1)?.query).toEqual({
    clusterId: ["7"],
    namespace: ["team-1", "team-2"],
    filterName: ["quota-4"],
    page: ["1"],
    pageSize: ["100"],
    sortBy: ["name"],
  });
});

test("extra calls exist if the connection names them, and use its paths", async () => {
  const extraCalls = {
    disableKey: { method: "POST", path: "/api/v1/x/{saId}/keys/{keyId}/disable" },
    deleteServiceAccount: { method: "DELETE", path: "/api/v1/x/{saId}" },
  } as const;
  const server = await startConsole({ extraCalls });
  const client = clientOf(server, { extraCalls });
  const { saId } = await client.createServiceAccount(ACCOUNT);
  const { keyId } = await client.issueKey({ saId, ...READ_KEY });
  await client.disableKey?.({ saId, keyId });
  expect(server.world.keys.get(keyId)?.status).toBe("inactive");
  await client.deleteServiceAccount?.(saId);
  expect(server.world.accounts.size).toBe(0);
  expect(client.deleteKey).toBeUndefined();
  await expect(client.deleteServiceAccount?.(saId)).rejects.toSatisfy((error) =>
    isIamError(error, "NotFound"),
  );
});

test.each(["", ".", "..", "\ud800"])(
  "an id that would name another path (%j) is never sent",
  async (id) => {
    const server = await startConsole();
    const client = clientOf(server);
    const failures = [
      await failureOf(client.getServiceAccount(id)),
      await failureOf(client.issueKey({ saId: id, ...READ_KEY })),
    ];
    for (const failure of failures) {
      expect(failure).toMatchObject({ code: "InvalidArgument", sent: false });
    }
    expect(server.requests.all).toEqual([]);
  },
);

test("an ID with path characters stays one segment", async () => {
  const server = await startConsole();
  expect(await clientOf(server).getServiceAccount("../a/b?c#d%2e")).toBeUndefined();
  expect(server.requests.unknownCalls).toEqual([]);
  expect(server.requests.all.at(-1)?.path).toBe(
    "/api/v1/iam/authn/service-accounts/..%2Fa%2Fb%3Fc%23d%252e",
  );
});

test("the clock skew is learned from the answers", async () => {
  const server = await startConsole();
  server.faults.dateSkewMs = 600_000;
  const client = clientOf(server);
  expect(client.clockSkew()).toBeUndefined();
  await client.authenticate();
  expect(client.clockSkew()).toBeGreaterThan(598);
  expect(client.clockSkew()).toBeLessThan(602);
});

test("a key that is unknown to the console is Unauthenticated, without a login", async () => {
  const server = await startConsole();
  const key = { keyId: "sak_unknown", secret: new Redacted("x".repeat(43)) };
  const failure = await failureOf(clientOf(server).searchActions({ q: "a", key }));
  expect(failure).toMatchObject({ code: "Unauthenticated", status: 401, sent: true });
  expect(server.requests.count("login")).toBe(0);
});

test("with the parameters of pages, one list reads all of them, and callers share it", async () => {
  const server = await startConsole();
  const pages = { pageParameter: "page", pageSizeParameter: "pageSize", pageSize: 2, firstPage: 1 };
  const client = clientOf(server, { accountListPages: pages });
  for (const name of ["a", "b", "c"]) server.world.createAccount({ ...ACCOUNT, name });
  const lists = await Promise.all([client.listServiceAccounts(), client.listServiceAccounts()]);
  expect(lists.map((list) => list.map(({ name }) => name))).toEqual([
    ["a", "b", "c"],
    ["a", "b", "c"],
  ]);
  const sent = server.requests.all.filter(({ operation }) => operation === "listServiceAccounts");
  expect(sent.map(({ query }) => query)).toEqual([
    { page: ["1"], pageSize: ["2"] },
    { page: ["2"], pageSize: ["2"] },
  ]);
});
