/** Answers of any kind, through the whole client: what a console says can be refused, and nothing worse. */
import { inspect } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { serviceAccountKind } from "../../../src/api/service-account.ts";
import type { IamClient } from "../../../src/console/client/client.ts";
import { IamError } from "../../../src/console/errors.ts";
import { readServerText } from "../../../src/console/exchange/server-text.ts";
import type { Json } from "../../../src/console/model.ts";
import { readBindings } from "../../../src/console/wire/policy.ts";
import { readServiceAccountDetail } from "../../../src/console/wire/service-account.ts";
import { ShapeError } from "../../../src/console/wire/shape-error.ts";
import type { HttpRequest, HttpResponse } from "../../../src/http/http.ts";
import { parseRetryAfter } from "../../../src/http/retry-after.ts";
import { Redacted } from "../../../src/util/redacted.ts";
import { MINUTE } from "../../../src/util/time.ts";
import { effort } from "../../setup/effort.ts";
import { ACCOUNT, clientOf } from "./clients.ts";

/** Ours, and the quotes of what the console says about itself and its request. */
const LONGEST_MESSAGE = 1_000;
const KEY = { keyId: "sak_1", secret: new Redacted("the-secret-of-a-key-that-is-in-use") };
const CANARY = "canary-0123456789-canary-0123456789";

const calls: readonly ((client: IamClient) => Promise<unknown>)[] = [
  (client) => client.authenticate(),
  (client) => client.createServiceAccount(ACCOUNT),
  (client) => client.listServiceAccounts(),
  (client) => client.getServiceAccount("sa-1"),
  (client) => client.issueKey({ saId: "sa-1", description: "d", expiresInDays: 1 }),
  (client) => client.validateKey({ keyId: KEY.keyId, secret: KEY.secret.reveal() }),
  (client) => client.listPolicies({ orgId: "o" }),
  (client) => client.syncBindings({ tpn: "t", orgId: "o", policyIds: [] }),
  (client) => client.listBindings("t"),
  (client) => client.evaluatePolicy({}),
  (client) => client.listInstances({ page: 1, pageSize: 1, key: KEY }),
  (client) => client.listResourceQuotas({ clusterId: 1, namespaces: [], filterNames: [] }),
  (client) => client.searchActions({ q: "a", key: KEY }),
];

const fields = fc.constantFrom(
  ...["message", "requestId", "result", "detail", "error", "data", "items", "pagination", "page"],
  ...["dataCount", "totalCount", "totalPages", "hasNext", "keys", "keyId", "secret", "accessToken"],
  ...["mfaRequired", "saId", "tpn", "policyIds", "policies", "bindings", "policyId", "targetId"],
  ...["name", "namespace", "displayRequest", "displayLimit", "createdAt", "actionId"],
  ...["__proto__", "constructor", "toString", "hasOwnProperty", ""],
);
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 6 },
    fc.constantFrom<Json>(
      null,
      true,
      false,
      0,
      -1,
      1.5,
      1e308,
      "",
      "a",
      "\ud800",
      "\u0000",
      CANARY,
    ),
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.dictionary(fields, tie("json"), { maxKeys: 8, noNullPrototype: true }),
  ),
}));

/** Something like an answer: whole, cut off, nested without end, large, or no JSON at all. */
const bodies: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 6, arbitrary: json.map((value) => Buffer.from(JSON.stringify(value))) },
  {
    weight: 3,
    arbitrary: json
      .map((value) => Buffer.from(JSON.stringify(value)))
      .chain((whole) => fc.nat(whole.length).map((end) => whole.subarray(0, end))),
  },
  { weight: 2, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom("[", '{"result":', '{"data":[', '["'), fc.nat(20_000))
      .map(([opening, depth]) => Buffer.from(opening.repeat(depth))),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fields, fc.nat(60_000))
      .map(([field, size]) => Buffer.from(JSON.stringify({ [field]: "x".repeat(size) }))),
  },
);

const headers = fc.record(
  {
    "retry-after": fc.oneof(fc.string(), fc.nat().map(String), fc.constantFrom("1e9", "-1", "∞")),
    date: fc.oneof(fc.string(), fc.constant("Thu, 01 Jan 2026 00:00:00 GMT")),
    "x-request-id": fc.string({ unit: "binary", maxLength: 400 }),
  },
  { requiredKeys: [] },
);
const statuses = fc.oneof(
  fc.constantFrom(200, 201, 204, 401, 403, 404, 409, 422, 429, 500),
  fc.integer({ min: 200, max: 599 }),
);

test("for any answer of a console, a call returns a value or an IamError of bounded length", async () => {
  let answer: (request: HttpRequest) => Promise<HttpResponse> = () => Promise.reject();
  const client = () =>
    clientOf({ url: "http://console.test" }, { send: (request) => answer(request) });
  const one = client();
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...calls),
      statuses,
      headers,
      bodies,
      async (call, status, said, body) => {
        const isLogin = call === calls[0];
        answer = async ({ url }) =>
          !isLogin && url.endsWith("/login")
            ? { status: 200, headers: {}, body: Buffer.from('{"accessToken":"t"}') }
            : { status, headers: said, body: Buffer.from(body) };
        const failure: unknown = await call(isLogin ? client() : one).then(
          () => undefined,
          (error: unknown) => error,
        );
        if (failure === undefined) return;
        expect(failure).toBeInstanceOf(IamError);
        const { message, requestId = "" } = failure as IamError;
        expect(message.length).toBeLessThan(LONGEST_MESSAGE);
        expect(requestId.length).toBeLessThanOrEqual(128);
        expect(message).not.toMatch(/\p{Cc}/u);
        expect(message.isWellFormed()).toBe(true);
      },
    ),
    { numRuns: 1_500 * effort },
  );
});

test("no value of a field named like a secret is quoted, wherever it stands", async () => {
  const place = fc.constantFrom(
    "secret",
    "clientSecret",
    "accessToken",
    "password",
    "refresh_token",
  );
  const around = fc.constantFrom<(inner: Json) => Json>(
    (inner) => inner,
    (inner) => ({ result: inner }),
    (inner) => ({ error: { detail: [inner] } }),
    (inner) => [inner, inner],
  );
  await fc.assert(
    fc.asyncProperty(
      place,
      around,
      fc.constantFrom(200, 400, 403, 500),
      async (field, wrap, status) => {
        const body = {
          ...Object(wrap({ [field]: CANARY })),
          message: `refused: ${CANARY}`,
          requestId: CANARY,
        };
        const client = clientOf(
          { url: "http://console.test" },
          {
            credentials: { kind: "token", token: new Redacted("t") },
            send: async () => ({ status, headers: {}, body: Buffer.from(JSON.stringify(body)) }),
          },
        );
        const failure: unknown = await client
          .listPolicies({ orgId: "o" })
          .catch((error: unknown) => error);
        expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(CANARY);
      },
    ),
    { numRuns: 100 * effort },
  );
});

test("a body full of secrets, or with an endless message, is not searched but passed over", () => {
  const secrets = Array.from({ length: 1_000 }, (_, index) => ({ token: `token-${index}` }));
  const read = (body: Json) => readServerText(Buffer.from(JSON.stringify(body)));
  const unread = { message: undefined, requestId: "", secrets: [] };
  expect(read({ message: "m", secrets })).toEqual(unread);
  expect(read({ message: "m".repeat(70_000), requestId: "r" })).toEqual(unread);
  expect(read({ message: "m".repeat(20_000), requestId: "r" })).toMatchObject({
    message: undefined,
    requestId: "r",
  });
});

test("accounts and bindings are read only if they fit into a status", () => {
  const odd = fc.constantFrom(
    "a",
    "",
    "x".repeat(257),
    "x".repeat(256),
    "\ud800",
    "😀".repeat(200),
    7,
  );
  const id = fc.oneof(
    { weight: 3, arbitrary: fc.string({ maxLength: 9 }) },
    { weight: 1, arbitrary: odd },
  );
  const record = fc.record(
    {
      saId: id,
      tpn: id,
      orgId: id,
      projectId: id,
      keys: fc.array(fc.oneof(id, fc.record({ keyId: id }), fc.record({ id })), { maxLength: 3 }),
      policyIds: fc.array(id, { maxLength: 3 }),
    },
    { requiredKeys: ["saId", "keys", "policyIds"] },
  );
  const values = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      if (error instanceof ShapeError) return undefined;
      throw error;
    }
  };
  fc.assert(
    fc.property(record, (json) => {
      const account = values(() => readServiceAccountDetail(json, String(json.saId)));
      const bound = values(() => readBindings(json, "tpn"));
      const policyIds = bound?.readable ? bound.policyIds : [];
      const { keyIds, saId, tpn, orgId, projectId } = account ?? {};
      const policies = policyIds.map((policyId) => ({ policyId, state: "Foreign" }));
      const status = { saId, tpn, orgId, projectId, liveKeyIds: keyIds, bindings: { policies } };
      expect(serviceAccountKind.status.safeParse(status).success).toBe(true);
      const stored = JSON.parse(Buffer.from(JSON.stringify(status)).toString("utf8"));
      expect(stored).toEqual(JSON.parse(JSON.stringify(status)));
    }),
    { numRuns: 1_000 * effort },
  );
  const many = { saId: "a", keys: Array.from({ length: 10_001 }, (_, index) => `sak_${index}`) };
  expect(readServiceAccountDetail(many, "a")).toEqual({ saId: "a", keyIds: undefined });
});

test("Retry-After is a moment within five minutes, or nothing", () => {
  const now = Date.UTC(2026, 0, 1);
  const date = fc
    .date({ noInvalidDate: true, min: new Date(0), max: new Date(8.64e15) })
    .map((moment) => moment.toUTCString());
  const text = fc.oneof(
    fc.string(),
    fc.bigInt({ min: 0n }).map(String),
    date,
    fc.integer().map(String),
  );
  fc.assert(
    fc.property(text, fc.option(fc.oneof(date, fc.string()), { nil: undefined }), (after, said) => {
      const moment = parseRetryAfter(
        { "retry-after": after, ...(said === undefined ? {} : { date: said }) },
        now,
      );
      if (moment === undefined) return;
      expect(moment).toBeGreaterThan(now);
      expect(moment).toBeLessThanOrEqual(now + 5 * MINUTE);
    }),
    { numRuns: 2_000 * effort },
  );
});
