import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import type { Kind } from "./kind.ts";

export type ParsedSpec<Spec> =
  | { readonly ok: true; readonly spec: Spec }
  /** The message says where and what, without values; it fits into a condition. */
  | { readonly ok: false; readonly message: string };

/** What was found of a stored spec, which nobody changes: an account's is asked for with each of its ApiKeys. */
const found = new WeakMap<object, { readonly kind: Kind; readonly parsed: ParsedSpec<unknown> }>();

const MAX_ISSUES = 5;
const MAX_MESSAGE = 1_000;

/**
 * Judges a stored object as the API server would and fills in its defaults. Stored objects may be older
 * than the schema that the server has now, so a controller asks before it believes a spec.
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

function judge<Spec extends z.ZodType>(schema: Spec, stored: unknown): ParsedSpec<z.output<Spec>> {
  const parsed = schema.safeParse(stored, {
    error: ({ code, input }) =>
      code === "invalid_type" && input === undefined ? "is required" : undefined,
  });
  if (!parsed.success) return { ok: false, message: describe(parsed.error.issues) };
  // Mostly the API server has filled in every default, and one copy of the spec in memory is enough.
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

/** `spec.grants[0].policyIds[1]`, as the API server writes it. */
function toFieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, step) => (typeof step === "number" ? `${text}[${step}]` : `${text}.${String(step)}`),
    "spec",
  );
}
