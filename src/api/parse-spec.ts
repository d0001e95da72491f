import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { ownEntry } from "../util/own-entry.ts";
import type { Kind } from "./kind.ts";

export type ParsedSpec<Spec> =
  | { readonly ok: true; readonly spec: Spec }
  /** Says where the problem is and what is wrong, without values; short enough for a condition. */
  | { readonly ok: false; readonly message: string };

/** Results by stored spec, which never changes: each ApiKey also parses the spec of its account. */
const found = new WeakMap<object, { readonly kind: Kind; readonly parsed: ParsedSpec<unknown> }>();

const MAX_ISSUES = 5;
const MAX_MESSAGE = 1_000;

/**
 * Validates a stored object as the API server would, and fills in its defaults. A stored object may be older than the
 * API server's current schema, so a controller validates every spec before use.
 */
export function parseSpec<Spec extends z.ZodType>(
  kind: Kind<Spec>,
  object: { readonly metadata?: { readonly name?: string }; readonly spec?: unknown },
): ParsedSpec<z.output<Spec>> {
  const { spec } = object;
  if (spec === undefined || spec === null) {
    return { ok: false, message: "spec: is required" };
  }
  const name = object.metadata?.name;
  if (name !== undefined && kind.maxNameLength !== undefined && name.length > kind.maxNameLength) {
    return {
      ok: false,
      message: `metadata.name: must have at most ${kind.maxNameLength} characters`,
    };
  }
  if (typeof spec !== "object") return judge(kind.spec, spec);
  const known = found.get(spec);
  if (known?.kind === kind) return known.parsed as ParsedSpec<z.output<Spec>>;
  const parsed = judge(kind.spec, spec);
  found.set(spec, { kind, parsed });
  return parsed;
}

/**
 * The same; but of an object that is being deleted, rules do not count, because a rule that became stricter must not
 * keep a deletion from cleaning up: a default replaces an optional part that is not valid, and a required field counts
 * as it is. Not valid only if a required field is missing or has another type.
 */
export function parseStoredSpec<Spec extends z.ZodType>(
  kind: Kind<Spec>,
  object: {
    readonly metadata: { readonly name?: string; readonly deletionTimestamp?: string | undefined };
    readonly spec?: unknown;
  },
): ParsedSpec<z.output<Spec>> {
  const parsed = parseSpec(kind, object);
  if (parsed.ok || object.metadata.deletionTimestamp === undefined) return parsed;
  const read = readLeniently(kind.spec, object.spec);
  return read === undefined ? parsed : { ok: true, spec: read.value as z.output<Spec> };
}

/** `undefined` if the value is missing or has another type. */
function readLeniently(schema: z.ZodType, value: unknown): { readonly value: unknown } | undefined {
  const { success, data, error } = schema.safeParse(value);
  if (success) return { value: data };
  const inner = unwrapped(schema);
  if (inner instanceof z.ZodObject && typeof value === "object" && value !== null) {
    const fields = Object.entries(inner.shape).map(([name, field]) => {
      const read = readLeniently(field as z.ZodType, ownEntry(value as Fields, name));
      return read && ([name, read.value] as const);
    });
    const isWhole = fields.every((field) => field !== undefined);
    if (isWhole)
      return { value: Object.fromEntries(fields.filter(([, part]) => part !== undefined)) };
  }
  const absent = schema.safeParse(undefined);
  if (absent.success) return { value: absent.data };
  const isOfType = error.issues.every(({ code }) => code !== "invalid_type");
  return isOfType ? { value } : undefined;
}

type Fields = Readonly<Record<string, unknown>>;

function unwrapped(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
    ? unwrapped(schema.def.innerType as z.ZodType)
    : schema;
}

function judge<Spec extends z.ZodType>(schema: Spec, stored: unknown): ParsedSpec<z.output<Spec>> {
  const parsed = schema.safeParse(stored, {
    error: ({ code, input }) =>
      code === "invalid_type" && input === undefined ? "is required" : undefined,
  });
  if (!parsed.success) return { ok: false, message: describe(parsed.error.issues) };
  // If the API server has filled in every default, keep only one copy of the spec in memory.
  const spec = isDeepStrictEqual(parsed.data, stored)
    ? (stored as typeof parsed.data)
    : parsed.data;
  return { ok: true, spec };
}

function describe(issues: readonly z.core.$ZodIssue[]): string {
  const texts = issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => `${toFieldPath(path)}: ${message}`);
  const more = issues.length > MAX_ISSUES ? [`and ${issues.length - MAX_ISSUES} more`] : [];
  return [...texts, ...more].join("; ").slice(0, MAX_MESSAGE);
}

/** `spec.grants[0].policyIds[1]`, in the API server's notation. */
function toFieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, step) => (typeof step === "number" ? `${text}[${step}]` : `${text}.${String(step)}`),
    "spec",
  );
}
