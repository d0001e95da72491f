/** Removes the values of a Secret from the server's messages about it. */
import { isRecord } from "./status.ts";

/** Replacing shorter values would hide ordinary words. */
const MIN_LENGTH = 6;

/**
 * Replaces every value of `data` and `stringData` of `body` in `message`. Validation errors quote the refused value,
 * and admission plugins may quote anything.
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

/** The strings at any depth, because the server also quotes values of the wrong type. */
function valuesOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(valuesOf) : [];
}

const decode = (value: string) => Buffer.from(value, "base64").toString("utf8");
const encode = (value: string) => Buffer.from(value, "utf8").toString("base64");
