import { Redacted } from "../util/redacted.ts";

/**
 * A secret in every spelling in which a peer may quote it: raw, URL- or JSON-escaped, base64, base64url,
 * hex. All stay wrapped.
 */
export function spellings(secret: Redacted): readonly Redacted[] {
  const raw = secret.reveal();
  const bytes = Buffer.from(raw, "utf8");
  const all = [
    raw,
    raw.replace(/[\s\p{Cc}]+/gu, " ").trim(),
    encodeURIComponent(raw.toWellFormed()),
    new URLSearchParams([["", raw]]).toString().slice(1),
    JSON.stringify(raw).slice(1, -1),
    bytes.toString("base64"),
    bytes.toString("base64").replace(/=+$/, ""),
    bytes.toString("base64url"),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
  ];
  return [...new Set(all)].map((spelling) => new Redacted(spelling));
}
