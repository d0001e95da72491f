/** Keeps what a Secret holds out of what the server says about it. */
import { isRecord } from "./status.ts";

/** Shorter ones would blank out ordinary words. */
const MIN_LENGTH = 6;

/**
 * Replaces every value of `body`'s `data` and `stringData` in `message`. Validation errors quote the value
 * they refuse, and admission plugins may say anything.
 */
export function withoutSecretValues(message: string, body: object | undefined): string {
  if (!isRecord(body)) return message;
  const plain = valuesOf(body.stringData);
  const encoded = valuesOf(body.data);
  const all = [...plain, ...encoded, ...encoded.map(decode), ...plain.map(encode)];
  return all
    .filter((value) => value.length >= MIN_LENGTH)
    .sort((a, b) => b.length - a.length)
    .reduce((text, value) => text.replaceAll(value, "<redacted>"), message);
}

/** At any depth: a value of the wrong type is quoted as well. */
function valuesOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(valuesOf) : [];
}

const decode = (value: string) => Buffer.from(value, "base64").toString("utf8");
const encode = (value: string) => Buffer.from(value, "utf8").toString("base64");
