import type { Json } from "../model.ts";

/** Maximum nesting depth; deeper answers are refused without parsing. */
const MAX_DEPTH = 64;
/** Enough for 10,000 records with 20 fields. Every value costs memory, whatever its size. */
const MAX_VALUES = 200_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The change of the depth, and of the number of values, for each byte outside strings. */
const DEPTH = new Int8Array(256);
const VALUES = new Int8Array(256);
for (const byte of Buffer.from("[{")) DEPTH[byte] = 1;
for (const byte of Buffer.from("]}")) DEPTH[byte] = -1;
for (const byte of Buffer.from("[{,")) VALUES[byte] = 1;

/**
 * The value of a JSON body; `undefined` if it is not JSON, is nested deeper than 64 levels, or has more than 200,000
 * values. Never throws: the parser's errors quote the text, which may be a secret.
 */
export function parseJson(body: Buffer): Json | undefined {
  if (!isWithinBounds(body)) return undefined;
  try {
    return JSON.parse(body.toString("utf8").replace(/^\uFEFF/, "")) as Json;
  } catch {
    return undefined;
  }
}

/** Counts brackets and commas outside strings; exact for valid JSON. */
function isWithinBounds(body: Buffer): boolean {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at] ?? 0;
    if (byte === QUOTE) at = endOfString(body, at + 1);
    depth += DEPTH[byte] ?? 0;
    values += VALUES[byte] ?? 0;
    if (depth > MAX_DEPTH || values > MAX_VALUES) return false;
  }
  return true;
}

function endOfString(body: Buffer, start: number): number {
  let at = start;
  while (at < body.length && body[at] !== QUOTE) at += body[at] === BACKSLASH ? 2 : 1;
  return at;
}

export type JsonObject = { readonly [key: string]: Json };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
