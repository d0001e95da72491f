/** Finds the console's message about a failure in any part of the answer, because the spec shows no error body. */
import { Redacted } from "../../util/redacted.ts";
import type { Json } from "../model.ts";
import { isJsonObject, parseJson } from "../wire/json.ts";

interface ServerText {
  readonly message: string | undefined;
  readonly requestId: string | undefined;
  /** Values in the body that must not be quoted. */
  readonly secrets: readonly Redacted[];
}

/** No error message is longer. The search for secrets takes time proportional to the product of both limits. */
const MAX_TEXT = 16_384;
const MAX_SECRETS = 32;

/** No error answer is larger. Larger bodies are not read at all. */
const MAX_BODY_BYTES = 64 * 1_024;

/** Nothing is quoted, not even a header, because it might contain a secret from the body. */
const UNREAD: ServerText = { message: undefined, requestId: "", secrets: [] };

/** Reads a body of any kind. Never throws. Omits texts that are too long to search for secrets. */
export function readServerText(body: Buffer): ServerText {
  if (body.length > MAX_BODY_BYTES) return UNREAD;
  const json = parseJson(body);
  if (json === undefined) {
    return { message: bounded(plainText(body)), requestId: undefined, secrets: [] };
  }
  const secrets = secretsIn(json);
  if (secrets.length > MAX_SECRETS) return UNREAD;
  const requestId = isJsonObject(json) ? textOf(json.requestId) : undefined;
  return { message: bounded(messageOf(json)), requestId: bounded(requestId), secrets };
}

function bounded(text: string | undefined): string | undefined {
  return text === undefined || text.length > MAX_TEXT ? undefined : text;
}

/** The body as text, unless it looks like a page or broken JSON, which might contain anything. */
function plainText(body: Buffer): string | undefined {
  const text = body.toString("utf8").trim();
  return text === "" || /^[<{["]/.test(text) || text.includes("\uFFFD") ? undefined : text;
}

const MESSAGE_FIELDS = ["message", "detail", "error", "msg", "title", "reason", "result"] as const;

function messageOf(json: Json): string | undefined {
  if (typeof json === "string") return textOf(json);
  if (Array.isArray(json)) {
    const texts = json.flatMap((entry: Json) => messageOf(entry) ?? []);
    return textOf(texts.join("; "));
  }
  if (!isJsonObject(json)) return undefined;
  for (const field of MESSAGE_FIELDS) {
    const text = messageOf(json[field] ?? null);
    if (text !== undefined) return text;
  }
  return undefined;
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

const SECRET_FIELD = /secret|password|token/i;

function secretsIn(json: Json): readonly Redacted[] {
  if (Array.isArray(json)) return json.flatMap(secretsIn);
  if (!isJsonObject(json)) return [];
  return Object.entries(json).flatMap(([field, value]) =>
    typeof value === "string" && value.length <= MAX_TEXT && SECRET_FIELD.test(field)
      ? [new Redacted(value)]
      : secretsIn(value),
  );
}
