import { randomUUID } from "node:crypto";
import type { ApiError } from "./api-error.ts";
import type { Answer } from "./call.ts";
import type { Shapes } from "./shapes.ts";

/** Bytes as they go over the wire. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const JSON_TYPE = { "content-type": "application/json" };

/** An answer with its envelope where it has one. */
export function toReply(answer: Answer, shapes: Readonly<Shapes>, now: number): Reply {
  switch (answer.kind) {
    case "envelope":
      return json(200, wrap(null, withNovelty(answer.result, shapes), now));
    case "record":
      return json(answer.status, withNovelty(answer.record, shapes));
    case "nothing":
      return { status: answer.status, headers: {}, body: "" };
  }
}

/** An error in the chosen shape; the description shows none. */
export function toErrorReply(
  error: ApiError,
  shapes: Readonly<Shapes>,
  now: number,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  const reply = errorBody(error, shapes, now);
  return { ...reply, headers: { ...reply.headers, ...headers } };
}

function errorBody(error: ApiError, shapes: Readonly<Shapes>, now: number): Reply {
  switch (shapes.errorBody) {
    case "envelope":
      return json(error.status, wrap(error.message, {}, now));
    case "detail":
      return json(error.status, { detail: detail(error) });
    case "text":
      return {
        status: error.status,
        headers: { "content-type": "text/plain; charset=utf-8" },
        body: error.message,
      };
    case "empty":
      return { status: error.status, headers: {}, body: "" };
  }
}

function detail({ message, problems }: ApiError): unknown {
  if (problems.length === 0) return message;
  return problems.map(({ where, what }) => ({ loc: where, msg: what, type: "value_error" }));
}

function wrap(message: string | null, result: object, now: number): object {
  return { message, timestamp: new Date(now).toISOString(), requestId: randomUUID(), result };
}

/** Adds a field that no caller knows, where that shape is chosen. */
function withNovelty<T>(body: T, shapes: Readonly<Shapes>): T {
  if (shapes.unknownFields === "none" || Array.isArray(body)) return body;
  return { ...body, novelty: { since: "2026.9" } };
}

function json(status: number, body: unknown): Reply {
  return { status, headers: JSON_TYPE, body: JSON.stringify(body) };
}
