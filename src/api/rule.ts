/** Checks that the API server makes by CEL and we make by zod, written side by side. */
import type { z } from "zod";

/** The key under which a schema's metadata carries its CEL rules into the CRD. */
export const VALIDATIONS = "x-kubernetes-validations";

/** One CEL rule as a CRD spells it. */
export interface Validation {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
}

export interface Rule<Value> {
  /** CEL over `self`, the value with its defaults. */
  readonly rule: string;
  /** Tells a person what to write instead. */
  readonly message: string;
  /** The same judgement as `rule`. */
  readonly holds: (self: Value) => boolean;
  /** The property of `self` that the message is about. */
  readonly field?: string;
}

/** The schema with one more check, in zod as well as in the CRD, with the same message. */
export function withRule<Schema extends z.ZodType>(
  schema: Schema,
  { rule, message, holds, field }: Rule<z.output<Schema>>,
): Schema {
  const validation: Validation =
    field === undefined ? { rule, message } : { rule, message, fieldPath: `.${field}` };
  return schema
    .refine(holds, { error: message, ...(field === undefined ? {} : { path: [field] }) })
    .meta({ ...schema.meta(), [VALIDATIONS]: [...validationsOf(schema), validation] }) as Schema;
}

/** As `schema.regex(pattern)`, but with words instead of the pattern where a text does not match. */
export function matching<Schema extends z.ZodType<string>>(
  schema: Schema,
  pattern: RegExp,
  message: string,
): Schema {
  return withRule(schema, {
    rule: `self.matches(${celPattern(pattern)})`,
    message,
    holds: (text) => pattern.test(text),
  });
}

/** The pattern as a CEL literal. */
export function celPattern({ source }: RegExp): string {
  if (source.includes("'")) throw new Error(`a raw literal of CEL cannot hold a quote: ${source}`);
  return `r'${source.replaceAll("\\/", "/")}'`;
}

function validationsOf(schema: z.ZodType): readonly Validation[] {
  return (schema.meta()?.[VALIDATIONS] ?? []) as readonly Validation[];
}
