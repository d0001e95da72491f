import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { decoded } from "../../../src/http/content-encoding.ts";

const TEXT = '{"keyId":"sak_1"}';
const response = (encoding: string, body: Buffer) => ({
  status: 201,
  headers: { "content-encoding": encoding, "content-type": "application/json" },
  body,
});

test.each([
  ["gzip", gzipSync],
  ["x-gzip", gzipSync],
  [" GZIP ", gzipSync],
  ["deflate", deflateSync],
  ["br", brotliCompressSync],
] as const)(
  "a body that is encoded with %j is decoded, and the encoded bytes are wiped",
  (name, encode) => {
    const body = encode(TEXT);
    const { body: plain, headers, status } = decoded(response(name, body), 1_000);
    expect(plain.toString()).toBe(TEXT);
    expect(headers).toEqual({ "content-type": "application/json" });
    expect(status).toBe(201);
    expect(body.every((byte) => byte === 0)).toBe(true);
  },
);

test.each([
  ["an unknown encoding", "zstd", Buffer.from("any")],
  ["two encodings", "gzip, gzip", gzipSync(gzipSync(TEXT))],
  ["another encoding than announced", "gzip", Buffer.from(TEXT)],
  ["half a body", "gzip", gzipSync(TEXT).subarray(0, 15)],
  ["no body", "gzip", Buffer.alloc(0)],
  ["more than the limit", "gzip", gzipSync("x".repeat(1_001))],
  ["far more than the limit", "br", brotliCompressSync(Buffer.alloc(5_000_000))],
] as const)("a body with %s stays as it is", (_, encoding, body) => {
  const given = response(encoding, body);
  expect(decoded(given, 1_000)).toBe(given);
});

test("a body as large as the limit is decoded", () => {
  const { body } = decoded(response("gzip", gzipSync("x".repeat(1_000))), 1_000);
  expect(body).toHaveLength(1_000);
});
