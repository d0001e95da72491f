/** Converts log fields into bounded plain values. Only the types and properties listed here appear in a line. */
import type { LogFields } from "../util/log.ts";

const MAX_TEXT = 2_048;
const MAX_STACK = 4_096;
const MAX_ITEMS = 50;
const MAX_FIELDS = 40;
const MAX_CAUSES = 3;

/** Properties of errors that never contain bodies or secrets. */
const errorFields = ["code", "reason", "status", "requestId", "operation"] as const;

type PlainValue = string | number | boolean | readonly string[] | PlainError;

export interface PlainError {
  readonly type: string;
  readonly message?: string;
  readonly stack?: string;
  readonly cause?: PlainError;
  readonly [field: string]: string | number | PlainError | undefined;
}

export function plainFields(fields: LogFields): Readonly<Record<string, PlainValue>> {
  const plain = Object.entries(fields)
    .slice(0, MAX_FIELDS)
    .flatMap(([name, value]) => {
      const kept = plainValue(value);
      return kept === undefined ? [] : [[name, kept] as const];
    });
  return Object.fromEntries(plain);
}

/** Types are not checked at run time: an unexpected object is logged as its type, without its values. */
function plainValue(value: unknown): PlainValue | undefined {
  if (value === undefined || value === null) return undefined;
  if (value instanceof Error) return plainError(value);
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map(plainItem);
  if (typeof value === "number" || typeof value === "boolean") return value;
  return plainItem(value);
}

function plainItem(item: unknown): string {
  if (typeof item === "string") return bounded(item, MAX_TEXT);
  return typeof item === "number" ? String(item) : `<${typeof item}>`;
}

/** The allow-listed part of an error. Only unexpected errors include stack frames. */
function plainError(error: Error, depth = 0, isForeseen = false): PlainError {
  const message = messageOf(error);
  const stack = isForeseen || !isBug(error) ? "" : framesOf(error);
  const { cause } = error;
  const isTranslated = isForeseen || hasCode(error);
  return {
    type: bounded(error.name, MAX_TEXT),
    ...(message === undefined ? {} : { message }),
    ...allowed(error),
    ...(stack === "" ? {} : { stack }),
    ...(cause instanceof Error && depth < MAX_CAUSES
      ? { cause: plainError(cause, depth + 1, isTranslated) }
      : {}),
  };
}

/** Errors of the language itself and plain Errors are unexpected; expected failures have their own classes. */
const unexpected: ReadonlySet<string> = new Set([
  "Error",
  "TypeError",
  "RangeError",
  "ReferenceError",
  "SyntaxError",
]);

function isBug(error: Error): boolean {
  return unexpected.has(error.name) && !hasCode(error);
}

/**
 * Whether a code names the failure, such as ECONNREFUSED. Node's ERR_ codes indicate wrong calls, so they do not count.
 */
function hasCode(error: Error): boolean {
  return "code" in error && typeof error.code === "string" && !error.code.startsWith("ERR_");
}

/** A SyntaxError quotes the invalid text, which may be a body with a secret. */
function messageOf(error: Error): string | undefined {
  return error instanceof SyntaxError ? undefined : bounded(error.message, MAX_TEXT);
}

/** A stack begins with the message; keeps only the frames. */
function framesOf({ stack }: Error): string {
  const frames = (stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return bounded(frames.map((line) => line.trim()).join("\n"), MAX_STACK);
}

function allowed(error: Error): Readonly<Record<string, string | number>> {
  const kept: Record<string, string | number> = {};
  for (const field of errorFields) {
    const value: unknown = Reflect.get(error, field);
    if (typeof value === "number") kept[field] = value;
    if (typeof value === "string") kept[field] = bounded(value, MAX_TEXT);
  }
  return kept;
}

function bounded(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}…`;
}
