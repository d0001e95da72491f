import type { Json } from "../model.ts";

/** How deep an answer may nest before it is refused unparsed. */
const MAX_DEPTH = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/**
 * The value of a JSON body; `undefined` where it is none, or nests deeper than 64 levels. Never throws:
 * the parser's own errors quote the text, which may be a secret.
 */
export function parseJson(body: Buffer): Json | undefined {
  if (nestsTooDeep(body)) return undefined;
  try {
    return JSON.parse(body.toString("utf8").replace(/^\uFEFF/, "")) as Json;
  } catch {
    return undefined;
  }
}

/** Counts brackets outside of strings; exact for everything that is JSON. */
function nestsTooDeep(body: Buffer): boolean {
  let depth = 0;
  for (let at = 0; at < body.length && depth <= MAX_DEPTH; at += 1) {
    const byte = body[at] ?? 0;
    if (byte === QUOTE) at = endOfString(body, at + 1);
    else if (OPENING.has(byte)) depth += 1;
    else if (CLOSING.has(byte)) depth -= 1;
  }
  return depth > MAX_DEPTH;
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
