/** Checks of the API server in CEL and of the operator in zod, side by side. */
import type { z } from "zod";

/** The key in a schema's metadata that carries its CEL rules into the CRD. */
export const VALIDATIONS = "x-kubernetes-validations";

/** One CEL rule in the format of a CRD. */
export interface Validation {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
}

export interface Rule<Value> {
  /** CEL about `self`, the value with the defaults that are stored. */
  readonly rule: string;
  /** Tells the user what to write instead. */
  readonly message: string;
  /** The same check as `rule`, in TypeScript. */
  readonly holds: (self: Value) => boolean;
  /** The property of `self` that the message is about. */
  readonly field?: string;
}

/** Adds a check to the schema, in zod and in the CRD, with the same message. */
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

/** Like `schema.regex(pattern)`, but with a message in words instead of the pattern. */
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

/** Converts the pattern to a CEL literal. */
export function celPattern({ source }: RegExp): string {
  if (source.includes("'")) throw new Error(`a raw literal of CEL cannot hold a quote: ${source}`);
  return `r'${source.replaceAll("\\/", "/")}'`;
}

function validationsOf(schema: z.ZodType): readonly Validation[] {
  return (schema.meta()?.[VALIDATIONS] ?? []) as readonly Validation[];
}
