/** What gateways, queues and replicas do to a call, on its way between a process and a server. */
import { beforeEach, expect, test } from "vitest";
import type { HttpRequest } from "../../src/http/http.ts";
import { objectPath } from "../../src/kube/client/api-path.ts";
import { apiKeyType } from "../../src/resources/resource-types.ts";
import { SECOND } from "../../src/util/time.ts";
import { DEFAULT_CREDENTIALS, SEEDED } from "../iam-server/seed.ts";
import { INTERCEPTIONS } from "../server-fault.ts";
import { iamEndpoint, kubeEndpoint } from "./endpoints.ts";
import { type CallFault, FaultPlan } from "./faults.ts";
import { createSend, type Endpoint } from "./network.ts";
import { NAMESPACE } from "./places.ts";
import { SimProcess } from "./sim-process.ts";
import { SimWorld } from "./sim-world.ts";

const TIMEOUT_MS = 5 * SECOND;
const ACCOUNTS = "https://console.example.com/api/v1/iam/authn/service-accounts";
const headers = { "x-domain-id": SEEDED.orgId, "x-domain-name": SEEDED.orgName };

let world: SimWorld;
let process: SimProcess;
let saId: string;

beforeEach(() => {
  world = new SimWorld({ seed: 1, plan: { name: "", faults: [] } });
  process = new SimProcess(world.kernel, "a-1", () => undefined);
  const account = { orgId: SEEDED.orgId, projectId: SEEDED.projectId, name: "a", description: "" };
  ({ saId } = world.console.world.createAccount(account));
});

/** Sends one call that a fault befalls, and answers with its status, or why there is none, once time has passed. */
async function send(endpoint: Endpoint, request: HttpRequest, fault?: CallFault) {
  const struck = { on: "call", select: { nth: 1 }, fault } as const;
  const faults = new FaultPlan({ name: "", faults: fault === undefined ? [] : [struck as never] });
  const { kernel, journal } = world;
  let outcome = "";
  let body = "";
  const call = createSend(
    { kernel, journal, faults },
    process,
    endpoint,
  )(request).then(
    (response) => {
      outcome = String(response.status);
      body = Buffer.from(response.body).toString();
    },
    (error: { failure: string }) => {
      outcome = error.failure;
    },
  );
  await kernel.advance(2 * TIMEOUT_MS);
  await call;
  return { outcome, body, faults };
}

function toConsole(method: string, path: string, body?: object): HttpRequest {
  const token = world.console.world.openSession(DEFAULT_CREDENTIALS.username);
  return {
    method,
    url: `${ACCOUNTS}/${saId}${path}`,
    headers: { ...headers, "content-type": "application/json", authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
    timeoutMs: TIMEOUT_MS,
    maxBytes: 1_000_000,
  } as HttpRequest;
}

const issue = (fault: CallFault) =>
  send(
    iamEndpoint(world.console),
    toConsole("POST", "/keys", { description: "", expiresInDays: 9 }),
    fault,
  );
const keys = () => world.console.world.keysOf(saId);

test("a call commits after its caller gave up, though its token has been revoked meanwhile", async () => {
  const { outcome, faults } = await issue({ kind: "LateCommit", ms: 60 * SECOND });
  expect([outcome, keys().length, faults.pending]).toEqual(["timeout", 0, 1]);
  world.console.world.revokeTokens();
  await world.kernel.advance(60 * SECOND);
  expect([keys().length, faults.pending, faults.ended]).toEqual([1, 0, 1]);
});

test("a gateway answers 504 and passes the call on", async () => {
  const { outcome } = await issue({ kind: "LateCommit", ms: 60 * SECOND, status: 504 });
  expect([outcome, keys().length]).toEqual(["504", 0]);
  await world.kernel.advance(60 * SECOND);
  expect(keys()).toHaveLength(1);
});

test.each(INTERCEPTIONS)(
  "a gateway answers 200 (%s) and does not pass the call on",
  async (how) => {
    expect((await issue({ kind: "Intercept", how })).outcome).toBe("200");
    await world.kernel.advance(60 * SECOND);
    expect(keys()).toEqual([]);
  },
);

test("a gateway answers 502 to a call that it has passed on", async () => {
  const { outcome } = await issue({ kind: "LateCommit", ms: 0, status: 502 });
  expect([outcome, keys().length]).toEqual(["502", 1]);
});

test.each([
  ["First", 0],
  ["Second", 1],
] as const)("of two commits the %s is answered", async (answer, index) => {
  const { body } = await issue({ kind: "DoubleCommit", answer, ms: SECOND });
  expect(keys()).toHaveLength(2);
  expect(JSON.parse(body).keyId).toBe(keys()[index]?.keyId);
});

test("a read is answered by a replica that is behind, and the next one is not", async () => {
  await world.kernel.advance(60 * SECOND);
  world.console.world.issueKey(saId, { description: "", expiresInDays: 1 });
  const read = async (fault?: CallFault) => {
    const { body } = await send(iamEndpoint(world.console), toConsole("GET", ""), fault);
    return JSON.parse(body).keys.length as number;
  };
  expect([await read(), await read({ kind: "Behind", ms: 30 * SECOND }), await read()]).toEqual([
    1, 0, 1,
  ]);
});

test("lists that lag catch up", async () => {
  await world.kernel.advance(60 * SECOND);
  world.console.world.issueKey(saId, { description: "", expiresInDays: 1 });
  world.putListsBehind(30 * SECOND, 15 * SECOND);
  const read = async () => {
    const { body } = await send(iamEndpoint(world.console), toConsole("GET", ""));
    return JSON.parse(body).keys.length as number;
  };
  expect(await read()).toBe(0);
  expect(world.faults.pending).toBe(1);
  await world.kernel.advance(15 * SECOND);
  expect([await read(), world.faults.pending]).toEqual([1, 0]);
});

test("a write that arrives late is refused by its precondition", async () => {
  const metadata = { namespace: NAMESPACE, name: "ci" };
  const spec = { serviceAccountRef: { name: "a" } };
  const created = world.create(apiKeyType, { metadata, spec });
  const request = {
    method: "PUT",
    url: `https://kube${objectPath(apiKeyType, metadata)}`,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...created, spec: { ...spec, suspend: true } }),
    timeoutMs: TIMEOUT_MS,
    maxBytes: 1_000_000,
  } as HttpRequest;
  const late = { kind: "LateCommit", ms: 60 * SECOND } as const;
  expect((await send(kubeEndpoint(world.kube), request, late)).outcome).toBe("timeout");
  world.patch(apiKeyType, "ci", { metadata: { labels: { a: "b" } } });
  await world.kernel.advance(60 * SECOND);
  expect(world.get(apiKeyType, "ci")).not.toHaveProperty("spec.suspend", true);
});
