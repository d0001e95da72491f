/** Compressed and unreadable responses, from a real server behind a real connection. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { isUnreadable } from "../../../src/console/errors.ts";
import { Redacted } from "../../../src/util/redacted.ts";
import { clientOf, failureOf } from "./clients.ts";

const SECRET = "s".repeat(43);
const PAIR = JSON.stringify({ keyId: "sak_1", secret: SECRET });
const KEY = { saId: "sa-1", description: "", expiresInDays: 1 };
const token = { kind: "token", token: new Redacted("t") } as const;

async function answering(status: number, headers: Record<string, string>, body: Buffer | string) {
  const server = createServer((_, response) => response.writeHead(status, headers).end(body));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return clientOf({ url: `http://127.0.0.1:${port}` }, { credentials: token });
}

test.each([
  ["gzip", gzipSync(PAIR)],
  ["deflate", deflateSync(PAIR)],
  ["br", brotliCompressSync(PAIR)],
] as const)("a key pair compressed with %s is read", async (encoding, body) => {
  const client = await answering(201, { "content-encoding": encoding }, body);
  expect(await client.issueKey(KEY)).toMatchObject({ keyId: "sak_1" });
});

test("a list of accounts compressed with gzip is read", async () => {
  const list = gzipSync(JSON.stringify({ result: { data: [{ saId: "sa-1" }], dataCount: 1 } }));
  const client = await answering(200, { "content-encoding": "gzip" }, list);
  expect(await client.listServiceAccounts()).toEqual([{ saId: "sa-1" }]);
});

test.each([
  ["its envelope", { requestId: "r", result: JSON.parse(PAIR) }],
  ["the only member of the payload", { requestId: "r", result: { apiKey: JSON.parse(PAIR) } }],
  ["the only member of the answer", { apiKey: JSON.parse(PAIR) }],
])("a key pair in %s is read", async (_, body) => {
  const client = await answering(201, {}, JSON.stringify(body));
  expect(await client.issueKey(KEY)).toMatchObject({ keyId: "sak_1" });
});

const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };

test.each<[string, number, Record<string, string>, Buffer | string, string]>([
  [
    "one of two members",
    201,
    JSON_TYPE,
    `{"result":{"a":${PAIR},"b":${PAIR}}}`,
    "application/json",
  ],
  ["two levels deeper", 201, JSON_TYPE, `{"result":{"a":{"b":${PAIR}}}}`, "lacks"],
  ["a page", 201, { "content-type": "text/html" }, `<html>${SECRET}</html>`, "text/html"],
  ["an empty body", 204, {}, "", "status 204"],
  ["202", 202, {}, "", "status 202"],
  ["a line break", 201, {}, PAIR.replace("sss", "s\\ns"), "not a single line"],
  ["no secret", 201, {}, '{"keyId":"sak_1","secret":7}', "lacks a"],
  ["a number as keyId", 201, {}, `{"keyId":1,"secret":"${SECRET}"}`, "lacks a usable keyId"],
  ["zstd", 201, { ...JSON_TYPE, "content-encoding": "zstd" }, "any", "content encoding zstd"],
  ["half a gzip", 201, { "content-encoding": "gzip" }, gzipSync(PAIR).subarray(0, 30), "gzip"],
  ["a bomb", 201, { "content-encoding": "gzip" }, gzipSync(Buffer.alloc(2 ** 24)), "gzip"],
  ["a secret as type", 201, { "content-type": `a/${SECRET}` }, "no", "status 201"],
  ["a large body", 201, {}, " ".repeat(2 ** 21), "larger than"],
  ["a redirect", 302, { location: "/" }, "", "a redirect"],
])("%s is told without a secret", async (_, status, headers, body, says) => {
  const client = await answering(status, headers, body);
  const failure = await failureOf(client.issueKey(KEY));
  expect(isUnreadable(failure)).toBe(true);
  expect(failure.message).toContain(says);
  expect(failure.message).not.toContain("ssss");
});
