import { Redacted } from "../../util/redacted.ts";

/**
 * Every form in which a peer may quote a secret: raw, URL- or JSON-escaped, base64, base64url and hex, each also with
 * its whitespace joined or trimmed. All forms stay wrapped.
 */
export function spellings(secret: Redacted): readonly Redacted[] {
  const raw = secret.reveal();
  const bytes = Buffer.from(raw, "utf8");
  const encoded = [
    raw,
    encodeURIComponent(raw.toWellFormed()),
    new URLSearchParams([["", raw]]).toString().slice(1),
    JSON.stringify(raw).slice(1, -1),
    JSON.stringify(raw).slice(1, -1).replaceAll("/", "\\/"),
    JSON.stringify(raw)
      .slice(1, -1)
      .replace(/[^\x20-\x7e]/g, toUnicodeEscape),
    bytes.toString("base64"),
    bytes.toString("base64").replace(/=+$/, ""),
    bytes.toString("base64url"),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
  ];
  const all = encoded.flatMap((text) => [text, text.replace(/[\s\p{Cc}]+/gu, " ").trim()]);
  return [...new Set(all)].map((spelling) => new Redacted(spelling));
}

function toUnicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
