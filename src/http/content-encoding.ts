import { brotliDecompressSync, gunzipSync, inflateSync, type ZlibOptions } from "node:zlib";
import type { HttpResponse } from "./http.ts";

type Decode = (body: Buffer, options: ZlibOptions) => Buffer;

const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ["gzip", gunzipSync],
  ["x-gzip", gunzipSync],
  ["deflate", inflateSync],
  ["br", brotliDecompressSync],
]);

/**
 * The response with its decoded body, even if the request asked for no encoding. A body that cannot be decoded, or that
 * would have more than `maxBytes`, stays encoded, and so does its `content-encoding`.
 *
 * Synchronous: a thread for each body would let the server of one connection occupy the threads of the process.
 */
export function decoded(response: HttpResponse, maxBytes: number): HttpResponse {
  const { "content-encoding": encoding = "", ...headers } = response.headers;
  const decode = DECODERS.get(encoding.trim().toLowerCase());
  if (decode === undefined || response.body.length === 0) return response;
  try {
    const body = decode(response.body, { maxOutputLength: maxBytes });
    // The body may contain a secret that its reader wipes.
    response.body.fill(0);
    return { ...response, headers, body };
  } catch {
    return response;
  }
}
