import type { IncomingHttpHeaders } from "node:http";
import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { IamClient } from "../../../src/console/client/client.ts";
import { commitOutcome, IamError } from "../../../src/console/errors.ts";
import { spellings } from "../../../src/console/exchange/secret-spellings.ts";
import type { HttpRequest, HttpResponse } from "../../../src/http/http.ts";
import { HttpError } from "../../../src/http/http.ts";
import { Redacted } from "../../../src/util/redacted.ts";
import type { ConsoleFault } from "../../../tools/iam-server/faults.ts";
import { SEEDED } from "../../../tools/iam-server/seed.ts";
import { startWeb } from "../../support/local-server.ts";
import { ACCOUNT, clientOf, failureOf, LOGIN, startConsole } from "./clients.ts";

const KEY = { description: "d", expiresInDays: 1 };
const LIMITS = { requestsPerSecond: 1_000, burst: 1_000, concurrency: 8, timeoutMs: 400 };
const TPN = "tpn:r:org-1:prj-1:sa/sa-1";

const calls: Readonly<Record<string, (client: IamClient) => Promise<unknown>>> = {
  createServiceAccount: (client) => client.createServiceAccount(ACCOUNT),
  listServiceAccounts: (client) => client.listServiceAccounts(),
  getServiceAccount: (client) => client.getServiceAccount("sa-1"),
  issueKey: (client) => client.issueKey({ saId: "sa-1", ...KEY }),
  validateKey: (client) => client.validateKey({ keyId: "k", secret: "s" }),
  listPolicies: (client) => client.listPolicies({ orgId: SEEDED.orgId }),
  listBindings: (client) => client.listBindings(TPN),
  evaluatePolicy: (client) => client.evaluatePolicy({}),
  listResourceQuotas: (client) =>
    client.listResourceQuotas({ clusterId: 7, namespaces: [], filterNames: [] }),
  searchActions: (client) => client.searchActions({ q: "a" }),
};

const DEEP = "[".repeat(100_000) + "]".repeat(100_000);
const redirect = { status: 307, headers: { location: "/x" }, body: "" };
const faults: readonly { name: string; fault: ConsoleFault; code: string }[] = [
  { name: "reset", fault: { kind: "Reset", when: "BeforeCommit" }, code: "Unavailable" },
  { name: "silence", fault: { kind: "Silence", when: "BeforeCommit" }, code: "Timeout" },
  { name: "drip", fault: { kind: "Drip", intervalMs: 100 }, code: "Timeout" },
  { name: "truncated", fault: { kind: "Garble", how: "Truncated" }, code: "Unavailable" },
  { name: "a page", fault: { kind: "Garble", how: "NotJson" }, code: "MalformedResponse" },
  { name: "huge", fault: { kind: "Huge" }, code: "MalformedResponse" },
  { name: "nested", fault: { kind: "Answer", body: DEEP }, code: "MalformedResponse" },
  { name: "redirect", fault: { kind: "Answer", ...redirect }, code: "MalformedResponse" },
  { name: "no body", fault: { kind: "Garble", how: "Empty" }, code: "MalformedResponse" },
  { name: "502", fault: { kind: "Refuse", status: 502 }, code: "Unavailable" },
  { name: "429", fault: { kind: "Refuse", status: 429, retryAfter: 9 }, code: "RateLimited" },
];

describe.each(faults)("$name", ({ name, fault, code }) => {
  test("is a typed error of every call, made once", { timeout: 20_000 }, async () => {
    const server = await startConsole();
    // Only what never ends is to be cut off.
    const timeoutMs = code === "Timeout" ? LIMITS.timeoutMs : 15_000;
    const client = clientOf(server, { limits: { ...LIMITS, timeoutMs } });
    await client.authenticate();
    const failed = Object.entries(calls).map(async ([operation, call]) => {
      const isOpaque = operation === "validateKey" || operation === "evaluatePolicy";
      if (isOpaque && name === "no body") return;
      server.faults.add({ operation: operation as never, fault });
      // A Retry-After would hold the others back.
      const failure = await failureOf(call(client.urgent));
      expect(failure).toMatchObject({ code, operation, sent: true });
      expect(commitOutcome(failure)).toBe("Unknown");
      expect(server.requests.count(operation as never)).toBe(1);
    });
    await Promise.all(failed);
    expect(server.requests.unknownCalls).toEqual([]);
  });
});

test("a key whose answer is lost was issued once, and is Unknown", async () => {
  const server = await startConsole();
  const client = clientOf(server);
  const { saId } = await client.createServiceAccount(ACCOUNT);
  server.faults.add({ operation: "issueKey", fault: { kind: "Reset", when: "AfterCommit" } });
  const failure = await failureOf(client.issueKey({ saId, ...KEY }));
  expect(commitOutcome(failure)).toBe("Unknown");
  expect((await client.getServiceAccount(saId))?.keyIds).toHaveLength(1);
});

test("a console that is down leaves nothing unknown", async () => {
  const server = await startConsole();
  const client = clientOf(server);
  await client.authenticate();
  await server.faults.setListening(false);
  const failure = await failureOf(client.issueKey({ saId: "sa-1", ...KEY }));
  expect(failure).toMatchObject({ code: "Unavailable", sent: false });
  expect(commitOutcome(failure)).toBe("NotCommitted");
});

describe("the fence", () => {
  test("is passed before each call that changes something and again as it leaves, with its deadline", async () => {
    const server = await startConsole();
    const asked: number[] = [];
    const beforeMutation = (timeoutMs: number) => void asked.push(timeoutMs);
    const limits = { ...LIMITS, timeoutMs: 15_000 };
    const client = clientOf(server, { limits, beforeMutation });
    const { saId, tpn = "" } = await client.createServiceAccount(ACCOUNT);
    server.world.revokeTokens();
    await client.issueKey({ saId, ...KEY });
    await client.getServiceAccount(saId);
    await client.syncBindings({ tpn, orgId: SEEDED.orgId, policyIds: [] });
    // Call 5 was made twice: its first token had been revoked.
    expect(asked).toEqual(Array.from({ length: 2 * 4 }, () => 5_000));
  });

  test("that is closed leaves the call unsent", async () => {
    const server = await startConsole();
    const beforeMutation = () => {
      throw new Error("the lease may be lost");
    };
    const client = clientOf(server, { beforeMutation });
    const failure = await failureOf(client.issueKey({ saId: "sa-1", ...KEY }));
    expect(failure).toMatchObject({ code: "Unavailable", operation: "issueKey", sent: false });
    expect(server.requests.count("issueKey")).toBe(0);
    expect(await client.listServiceAccounts()).toEqual([]);
  });

  test("that closes while a call waits for its connection leaves the call unsent", async () => {
    const server = await startConsole();
    let asked = 0;
    const beforeMutation = () => {
      asked += 1;
      if (asked === 2) throw new Error("the lease may be lost");
    };
    const client = clientOf(server, { beforeMutation });
    const failure = await failureOf(client.issueKey({ saId: "sa-1", ...KEY }));
    expect(failure).toMatchObject({ code: "Unavailable", operation: "issueKey", sent: false });
    expect(server.requests.count("issueKey")).toBe(0);
  });
});

test("closing the client ends running calls, and waiting calls are not sent", async () => {
  const server = await startConsole();
  const limits = { ...LIMITS, concurrency: 1, timeoutMs: 5_000 };
  const client = clientOf(server, { limits });
  await client.authenticate();
  const held = server.faults.add({
    operation: "issueKey",
    fault: { kind: "Hold", when: "AfterCommit" },
  });
  const { saId } = await client.createServiceAccount(ACCOUNT);
  const running = failureOf(client.issueKey({ saId, ...KEY }));
  await held.reached;
  const waiting = failureOf(client.createServiceAccount(ACCOUNT));
  await client.close();
  expect(commitOutcome(await running)).toBe("Unknown");
  expect(await waiting).toMatchObject({ sent: false });
  expect(await failureOf(client.listServiceAccounts())).toMatchObject({ sent: false });
});

test("every request is counted by its outcome", async () => {
  const server = await startConsole();
  const seen: string[] = [];
  const observer = {
    onRequest: (operation: string, code: string, seconds: number) => {
      expect(seconds).toBeGreaterThanOrEqual(0);
      seen.push(`${operation} ${code}`);
    },
    onLogin: (result: string) => void seen.push(result),
  };
  const client = clientOf(server, { observer });
  await client.getServiceAccount("sa-1");
  server.faults.add({
    operation: "listServiceAccounts",
    fault: { kind: "Reset", when: "BeforeCommit" },
  });
  await failureOf(client.listServiceAccounts());
  const page = { kind: "Answer", status: 200, body: () => "\n<html></html>" } as const;
  server.faults.add({ operation: "listServiceAccounts", fault: page });
  expect(await failureOf(client.listServiceAccounts())).toMatchObject({
    code: "MalformedResponse",
  });
  expect(seen).toEqual([
    "login 200",
    "success",
    "getServiceAccount 404",
    "listServiceAccounts Unavailable",
    "listServiceAccounts WebPage",
  ]);
});

test("each kind of call carries its own headers and no others' credentials", async () => {
  const seen = new Map<string, IncomingHttpHeaders>();
  const { url } = await startWeb((request, response) => {
    seen.set(`${request.method} ${request.url?.replace(/\?.*/, "")}`, request.headers);
    response.end('{"accessToken":"the-token"}');
  });
  const client = clientOf({ url: `${url}/console/` }, { domainName: "Müller 조직" });
  const key = { keyId: "sak_1", secret: new Redacted("the-secret") };
  await client.validateKey({});
  await failureOf(client.listPolicies({ orgId: "o" }));
  await failureOf(client.listInstances({ page: 1, pageSize: 1, key }));
  await failureOf(
    client.listResourceQuotas({ clusterId: 1, namespaces: [], filterNames: [], key }),
  );
  await client.close();
  const names = ["authorization", "svc-api-key", "svc-api-secret", "x-domain-id", "x-partition-id"];
  const shown = [...seen].map(([call, headers]) => [call, ...names.map((name) => headers[name])]);
  const [key1, secret] = ["sak_1", "the-secret"];
  expect(shown).toEqual([
    ["POST /console/api/v1/iam/authn/public/api-keys/validate", ...Array(5)],
    ["POST /console/api/v1/iam/authn/public/login", ...Array(5)],
    ["GET /console/api/v1/iam/authz/policies", "Bearer the-token", ...Array(2), "org-1", "p1"],
    ["GET /console/api/v1/compute/instances", undefined, key1, secret, "org-1", "p1"],
    [
      "GET /console/api/v1/container/policy/resource-quota",
      undefined,
      key1,
      secret,
      "org-1",
      undefined,
    ],
  ]);
  const name = seen.get("GET /console/api/v1/iam/authz/policies")?.["x-domain-name"];
  expect(Buffer.from(String(name), "latin1").toString("utf8")).toBe("Müller 조직");
});

/** A console that answers everything with what a test says, and hands out one token. */
function echoing(token: string, answer: (request: HttpRequest) => HttpResponse) {
  return async (request: HttpRequest): Promise<HttpResponse> =>
    request.url.endsWith("/login")
      ? { status: 200, headers: {}, body: Buffer.from(JSON.stringify({ accessToken: token })) }
      : answer(request);
}

test("no error shows a secret, however the console throws it back", async () => {
  const secretText = fc.string({
    unit: fc.constantFrom(...Array.from('abcXYZ019+/=_-"\\ %&é')),
    minLength: 12,
    maxLength: 43,
  });
  const tokenText = fc.string({
    unit: fc.constantFrom(...Array.from("abcXYZ019+/=_-.")),
    minLength: 12,
    maxLength: 64,
  });
  const place = fc.constantFrom(
    "message",
    "detail",
    "requestId",
    "text",
    "header",
    "nested",
    "thrown",
  );
  const status = fc.constantFrom(200, 201, 302, 401, 403, 404, 409, 422, 429, 500, 502);
  await fc.assert(
    fc.asyncProperty(
      tokenText,
      secretText,
      place,
      status,
      fc.nat(12),
      async (token, secret, where, code, way) => {
        const hidden = [token, secret].map((text) => new Redacted(text));
        const all = hidden.flatMap((one) => spellings(one).map((spelling) => spelling.reveal()));
        const echo = hidden
          .map((one) => spellings(one)[way % spellings(one).length]?.reveal() ?? "")
          .join(" and ");
        const send = echoing(token, () => {
          if (where === "thrown") throw new HttpError("network", "the connection failed");
          const json = {
            message: { [where]: echo, message: where === "nested" ? { detail: [echo] } : echo },
            detail: [{ msg: echo }],
            requestId: echo,
          };
          const body = Buffer.from(where === "text" ? echo : JSON.stringify(json));
          return { status: code, headers: { "x-request-id": echo }, body };
        });
        const client = clientOfSend(send);
        const key = { keyId: "sak_1", secret: new Redacted(secret) };
        const failed = [
          client.listPolicies({ orgId: "o" }),
          client.issueKey({ saId: "sa-1", ...KEY }),
          client.searchActions({ q: "a", key }),
          client.listInstances({ page: 1, pageSize: 1, key }),
          client.validateKey({ keyId: "sak_1", secret }),
        ];
        for (const result of await Promise.allSettled(failed)) {
          if (result.status === "fulfilled") continue;
          const error: unknown = result.reason;
          expect(error).toBeInstanceOf(IamError);
          const { message, stack = "" } = error as IamError;
          const shown = [
            message,
            stack,
            inspect(error, { depth: 9, showHidden: true }),
            JSON.stringify(error),
          ];
          // Only what belongs to this call can be known to it.
          for (const text of shown)
            expect(
              leaks(
                text,
                all.filter((one) => one.length >= 8),
                error as IamError,
                token,
              ),
            ).toEqual([]);
        }
      },
    ),
    { numRuns: 300 },
  );
});

const KEYED: ReadonlySet<string> = new Set(["searchActions", "listInstances", "validateKey"]);

function leaks(text: string, secrets: readonly string[], { operation }: IamError, token: string) {
  const own = spellings(new Redacted(token)).map((one) => one.reveal());
  const isKeyed = KEYED.has(operation);
  return secrets.filter((secret) => own.includes(secret) !== isKeyed && text.includes(secret));
}

function clientOfSend(send: (request: HttpRequest) => Promise<HttpResponse>): IamClient {
  return clientOf({ url: "http://console.test" }, { send, credentials: LOGIN });
}

test("the password of a refused login is covered, and no token outlives its use in an inspection", async () => {
  const password = "pass word+/?é";
  const client = clientOf(
    { url: "http://console.test" },
    {
      credentials: { kind: "login", username: "u", password: new Redacted(password), domain: "d" },
      send: async (request) => ({
        status: 422,
        headers: {},
        body: Buffer.from(
          JSON.stringify({ message: `bad body ${String(request.body)} ${password}` }),
        ),
      }),
    },
  );
  const failure = await failureOf(client.authenticate());
  expect(failure.message).toContain("<redacted>");
  for (const spelling of spellings(new Redacted(password))) {
    expect(inspect(failure, { depth: 9 })).not.toContain(spelling.reveal());
  }
  expect(inspect(client, { depth: 9, showHidden: true })).not.toContain(password);
});
