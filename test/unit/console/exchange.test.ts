import { expect, test } from "vitest";
import type { HttpRequest, HttpResponse } from "../../../src/http/http.ts";
import { startTracing } from "../../../src/observability/tracing.ts";
import { silentLog } from "../../../src/util/log.ts";
import { noTracer, type Tracer } from "../../../src/util/trace.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { collectSpans, type SeenSpan } from "../../support/spans.ts";
import { ACCOUNT, clientOf, failureOf } from "./clients.ts";

const URL_ = "http://console.test";
const KEY = { description: "d", expiresInDays: 1 };
const settle = () => new Promise((resolve) => setImmediate(resolve));

const json = (value: unknown, status = 200, headers = {}): HttpResponse => ({
  status,
  headers,
  body: Buffer.from(JSON.stringify(value)),
});

const nameOf = ({ method, url }: HttpRequest) => `${method} ${url.replace(/^.*\/|\?.*$/g, "")}`;

test("records and lists have their bounds, changes their deadline", async () => {
  const seen: string[] = [];
  const send = async (request: HttpRequest) => {
    seen.push(`${nameOf(request)}: ${request.maxBytes / 2 ** 20} MiB, ${request.timeoutMs} ms`);
    return json({ accessToken: "the-token", saId: "sa-1", keyId: "k", secret: "s" });
  };
  const limits = { requestsPerSecond: 100, burst: 100, concurrency: 8, timeoutMs: 15_000 };
  const client = clientOf({ url: URL_ }, { send, limits });
  await client.createServiceAccount(ACCOUNT);
  await client.issueKey({ saId: "sa-1", ...KEY });
  await client.syncBindings({ tpn: "t", orgId: "o", policyIds: [] });
  await failureOf(client.listServiceAccounts());
  const small = clientOf({ url: URL_ }, { send, limits: { ...limits, timeoutMs: 2_000 } });
  await small.issueKey({ saId: "sa-1", ...KEY });
  expect(seen).toEqual([
    "POST login: 1 MiB, 15000 ms",
    "POST service-accounts: 1 MiB, 5000 ms",
    "POST keys: 1 MiB, 5000 ms",
    "PUT sync: 1 MiB, 5000 ms",
    "GET service-accounts: 8 MiB, 15000 ms",
    "POST login: 1 MiB, 2000 ms",
    "POST keys: 1 MiB, 2000 ms",
  ]);
});

test("answers that hold a secret are wiped once read", async () => {
  const bodies: Buffer[] = [];
  const send = async () => {
    const answer = json({ accessToken: "the-token", keyId: "k", secret: "the-secret" });
    bodies.push(answer.body);
    return answer;
  };
  const { secret } = await clientOf({ url: URL_ }, { send }).issueKey({ saId: "sa-1", ...KEY });
  expect(secret.reveal()).toBe("the-secret");
  expect(bodies.map((body) => body.every((byte) => byte === 0))).toEqual([true, true]);
});

test("calls keep to the rate of the connection", async () => {
  const clock = createFakeClock();
  let sent = 0;
  const send = async () => {
    sent += 1;
    return json({ accessToken: "the-token", saId: "sa-1" });
  };
  const limits = { requestsPerSecond: 10, burst: 4, concurrency: 8, timeoutMs: 1_000 };
  const client = clientOf({ url: URL_ }, { send, limits, clock });
  await client.authenticate();
  const all = Promise.all(Array.from({ length: 6 }, () => client.evaluatePolicy({})));
  await settle();
  expect(sent).toBe(4);
  for (const expected of [5, 6, 7]) {
    await clock.advance(100);
    await settle();
    expect(sent).toBe(expected);
  }
  await all;
});

test("an answer without a date leaves the clock skew as it was", async () => {
  const clock = createFakeClock();
  const date = "Thu, 01 Jan 2026 00:01:00 GMT";
  const send = async ({ url }: HttpRequest) =>
    url.endsWith("login") ? json({ accessToken: "t" }, 200, { date }) : json({ saId: "sa-1" });
  const client = clientOf({ url: URL_ }, { send, clock });
  await client.getServiceAccount("sa-1");
  expect(client.clockSkew()).toBe(60.5);
});

test("a call that is refused late finds the token that others have got meanwhile", async () => {
  const late = Promise.withResolvers<void>();
  let logins = 0;
  const send = async ({ url, headers }: HttpRequest) => {
    if (url.endsWith("login")) return json({ accessToken: `token-${++logins}` });
    if (headers.authorization === "Bearer token-2") return json({ saId: url.split("/").at(-1) });
    if (url.endsWith("late")) await late.promise;
    return json({}, 401);
  };
  const client = clientOf({ url: URL_ }, { send });
  const refusedLate = client.getServiceAccount("late");
  await client.getServiceAccount("early");
  late.resolve();
  expect(await refusedLate).toMatchObject({ saId: "late" });
  expect(logins).toBe(2);
});

test("a tracer that breaks costs no answer", async () => {
  const broken = () => {
    throw new Error("broken");
  };
  const tracer: Tracer = {
    span: (_name, _fields, work) =>
      work({
        isRecording: true,
        set: ({ waitedMs }) => waitedMs === undefined && broken(),
        fail: broken,
      }),
    childSpan: noTracer.childSpan,
  };
  const send = async () => json({ accessToken: "the-token", keyId: "k", secret: "the-secret" });
  const { keyId } = await clientOf({ url: URL_ }, { send, tracer }).issueKey({
    saId: "sa-1",
    ...KEY,
  });
  expect(keyId).toBe("k");
});

test("every call is a span with its request ID and without its content", async () => {
  const spans: SeenSpan[] = [];
  const tracing = startTracing({
    version: "0",
    instance: "i",
    sampler: { name: "always_on", ratio: 1 },
    log: silentLog,
    exporter: collectSpans(spans),
  });
  const send = async ({ url }: HttpRequest) => {
    if (url.endsWith("/login")) return json({ accessToken: "the-token" });
    if (url.includes("/actions/")) return json({ requestId: "req-2", message: "no" }, 403);
    return json({ keyId: "k-1", secret: "the-secret" }, 201, {
      "x-request-id": "req-1 the-secret",
    });
  };
  const client = clientOf({ url: URL_ }, { send, tracer: tracing.tracer });
  const { secret } = await client.issueKey({ saId: "sa-1", ...KEY });
  const key = { keyId: "k-1", secret };
  await failureOf(client.searchActions({ q: "the-word", key }));
  await tracing.close();
  expect(spans.map(({ name, failed, fields }) => ({ name, failed, ...fields }))).toMatchObject([
    { name: "console login", failed: false, "http.response.status_code": 200 },
    {
      name: "console issueKey",
      failed: false,
      operation: "issueKey",
      "http.request.method": "POST",
      "server.address": "console.test",
      "http.response.status_code": 201,
      requestId: "req-1 <redacted>",
      waitedMs: expect.any(Number),
    },
    {
      name: "console searchActions",
      failed: true,
      requestId: "req-2",
      "error.type": "PermissionDenied",
    },
  ]);
  const told = JSON.stringify(spans);
  for (const hidden of ["the-secret", "the-token", "the-word", "?"])
    expect(told).not.toContain(hidden);
});
