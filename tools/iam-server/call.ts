import type { IncomingHttpHeaders } from "node:http";
import type { z } from "zod";
import { invalid } from "./api-error.ts";
import type { Principal } from "./authentication.ts";
import type { ListResult } from "./pagination.ts";
import type { Query } from "./query.ts";
import type { Shapes } from "./shapes.ts";
import type { World } from "./world.ts";

/** One request after routing and authentication. */
export interface Call {
  readonly world: World;
  readonly shapes: Readonly<Shapes>;
  readonly principal: Principal;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON; `undefined` without a body. */
  readonly body: unknown;
  /** How long a key issued by this call stays unknown. */
  readonly keyPropagationMs: number;
}

/** What an endpoint answers; the server adds envelope, requestId and timestamp where asked. */
export type Answer =
  | { readonly kind: "envelope"; readonly result: object }
  | { readonly kind: "record"; readonly status: number; readonly record: unknown }
  | { readonly kind: "nothing"; readonly status: number };

/** Reads and commits in one synchronous go; throws an `ApiError` for every other answer. */
export type Endpoint = (call: Call) => Answer;

export const envelope = (result: object): Answer => ({ kind: "envelope", result });
export const list = (result: ListResult<unknown>): Answer => ({ kind: "envelope", result });
export const record = (status: number, body: unknown): Answer => ({
  kind: "record",
  status,
  record: body,
});
export const nothing = (status: number): Answer => ({ kind: "nothing", status });

/** The body by its schema, or 422. */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = (issue?.path ?? []).map((part) => (typeof part === "number" ? part : String(part)));
  throw invalid(["body", ...path], issue?.message ?? "is invalid");
}
