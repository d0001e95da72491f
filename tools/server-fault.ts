/**
 * What can go wrong with a call between its caller and a server, as plain data: the same words in the reference console
 * and in the simulation.
 */
import { z } from "zod";

const Milliseconds = z.number().min(0);
const Status = z.int().min(200).max(599);
/** Nothing has happened yet, or everything but the answer. */
export const Moment = z.enum(["BeforeCommit", "AfterCommit"]);
export type Moment = z.infer<typeof Moment>;

/** What a gateway answers with a status of success: a block page, errors as JSON, JSON of its own, an empty body. */
export const INTERCEPTIONS = ["Page", "JsonError", "ErrorEnvelope", "OtherForm", "Empty"] as const;

export const SERVER_FAULTS = [
  /** Answered instead of being done; `retryAfter` in seconds. */
  z.strictObject({
    kind: z.literal("Refuse"),
    status: Status,
    retryAfter: z.number().optional(),
    message: z.string().optional(),
  }),
  /** No answer: the connection is reset. */
  z.strictObject({ kind: z.literal("Reset"), when: Moment }),
  /** No answer, ever: the caller's deadline ends it. */
  z.strictObject({ kind: z.literal("Silence"), when: Moment }),
  /** Done, but the answer cannot be read, or its lists lack what they should hold. */
  z.strictObject({
    kind: z.literal("Garble"),
    how: z.enum(["Truncated", "NotJson", "WrongType", "Nested", "Empty", "EmptyObject"]),
  }),
  /** Done, and the answer is larger than anybody should read. */
  z.strictObject({ kind: z.literal("Huge") }),
  /** Takes so much longer each way. */
  z.strictObject({ kind: z.literal("Slow"), ms: Milliseconds }),
  /**
   * Done `ms` after it arrived: by a queue, or by a gateway that has given up on it. The caller hears nothing, or at
   * once that the gateway failed.
   */
  z.strictObject({
    kind: z.literal("LateCommit"),
    ms: Milliseconds,
    status: z.literal([502, 504]).optional(),
  }),
  /** Done, and done again `ms` later: a gateway that tries again. The caller gets the response to either. */
  z.strictObject({
    kind: z.literal("DoubleCommit"),
    answer: z.enum(["First", "Second"]),
    ms: Milliseconds,
  }),
  /** Done, and the response is another one: by default a success. */
  z.strictObject({
    kind: z.literal("Answer"),
    status: Status.optional(),
    headers: z.record(z.string(), z.string()).optional(),
    body: z.union([
      z.string(),
      z.custom<(body: string) => string>((value) => typeof value === "function"),
    ]),
  }),
  /** Not done: a gateway answers in the server's place, with a status of success. */
  z.strictObject({
    kind: z.literal("Intercept"),
    how: z.enum(INTERCEPTIONS),
    /** 200 by default. */
    status: z.int().min(200).max(299).optional(),
  }),
  /** Answered by a replica that is `ms` behind. */
  z.strictObject({ kind: z.literal("Behind"), ms: Milliseconds }),
] as const;
export type ServerFault = z.infer<(typeof SERVER_FAULTS)[number]>;

type Intercept = Extract<ServerFault, { kind: "Intercept" }>;
export type Refusal = Extract<ServerFault, { kind: "Refuse" }>;

/** Answers that fit no call. */
export const GARBLED = {
  NotJson: "<html>",
  WrongType: '{"result":7,"metadata":[],"keyId":{},"secret":9}',
  Nested: "[".repeat(5_000) + "]".repeat(5_000),
  Empty: "",
  EmptyObject: "{}",
} as const;

const JSON_TYPE = { "content-type": "application/json" };
const WORDS = "Your request was blocked. Support ID 4711";

const INTERCEPTED: Readonly<Record<Intercept["how"], Omit<Answered, "status">>> = {
  Page: {
    headers: { "content-type": "text/html; charset=utf-8" },
    body: `<!doctype html>\n<html><head><title>Request blocked</title></head><body>${WORDS}</body></html>\n`,
  },
  JsonError: { headers: JSON_TYPE, body: JSON.stringify({ error: "Forbidden", message: WORDS }) },
  ErrorEnvelope: {
    headers: JSON_TYPE,
    body: JSON.stringify({ message: WORDS, requestId: "request-0", result: {} }),
  },
  OtherForm: { headers: JSON_TYPE, body: JSON.stringify({ service: "gateway", uptime: 4711 }) },
  Empty: { headers: {}, body: "" },
};

/** The answer of a gateway that does not pass a call on. */
export function intercepted({ how, status = 200 }: Intercept): Answered {
  return { status, ...INTERCEPTED[how] };
}

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What the caller gets in place of an answer. */
export function altered(
  { status, headers, body }: Extract<ServerFault, { kind: "Answer" }>,
  answer: Answered,
): Answered {
  return {
    status: status ?? (answer.status < 300 ? answer.status : 200),
    headers: { ...answer.headers, ...headers },
    body: typeof body === "string" ? body : body(answer.body),
  };
}
