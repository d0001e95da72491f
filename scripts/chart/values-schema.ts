/** The parts of the values' schema that follow from the API and from the values: a ClusterConnection's spec, and null. */
import type { Kind } from "../../src/api/kind.ts";
import { VALIDATIONS } from "../../src/api/rule.ts";
import { type StructuralSchema, toStructuralSchema } from "../../src/api/structural-schema.ts";
import { documentedValues } from "./readme.ts";

/** Of JSON Schema, draft 7. */
export interface JsonSchema {
  type?: string | readonly string[];
  enum?: readonly unknown[];
  required?: readonly string[];
  readonly minItems?: number;
  readonly properties?: Record<string, JsonSchema>;
  readonly then?: { readonly properties: Record<string, unknown> };
}

/** The schema's text, in which `clusterConnection.spec` allows what the kind's own schema allows, and null is decided. */
export function toValuesSchema(text: string, valuesYaml: string, kind: Kind): string {
  const schema = JSON.parse(text) as JsonSchema;
  const connection = schema.properties?.clusterConnection?.then?.properties;
  if (connection === undefined) throw new Error("the schema lacks clusterConnection");
  connection.spec = toJsonSchema(toStructuralSchema(kind.spec));
  for (const { path, default: value } of documentedValues(valuesYaml))
    decideNull(schema, path.split("."), value);
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/**
 * Helm takes a value that is null out of the values. A list, an object or a text that may be empty may be null, which
 * means empty; everything else is required, so that helm says what is missing.
 */
function decideNull(
  group: JsonSchema,
  [name = "", ...rest]: readonly string[],
  value: unknown,
): void {
  const child = group.properties?.[name];
  if (child === undefined) throw new Error(`the schema lacks ${name}`);
  const isNullable = rest.length === 0 && isEmptyAllowed(child, value);
  if (rest.length > 0) decideNull(child, rest, value);
  if (!isNullable) {
    group.required = [...new Set([...(group.required ?? []), name])];
    return;
  }
  if (child.type !== undefined) child.type = [...new Set([child.type, "null"].flat())];
  if (child.enum !== undefined) child.enum = [...new Set([...child.enum, null])];
}

function isEmptyAllowed({ minItems = 0 }: JsonSchema, value: unknown): boolean {
  return value === "" || (typeof value === "object" && minItems === 0);
}

/** As draft 7, where a property that is not there is refused instead of dropped. */
function toJsonSchema(schema: StructuralSchema): Record<string, unknown> {
  const { type, required, properties, items, additionalProperties } = schema;
  const bounds = { minimum: schema.minimum, maximum: schema.maximum, maxLength: schema.maxLength };
  return {
    type,
    ...bounds,
    ...(schema.enum === undefined ? {} : { enum: schema.enum }),
    ...patternOf(schema),
    ...(required === undefined ? {} : { required }),
    ...(properties === undefined
      ? {}
      : {
          additionalProperties: false,
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, child]) => [name, toJsonSchema(child)]),
          ),
        }),
    ...(additionalProperties === undefined
      ? {}
      : { additionalProperties: toJsonSchema(additionalProperties) }),
    ...(items === undefined ? {} : { items: toJsonSchema(items) }),
  };
}

/** A CEL rule that is nothing but a pattern. */
function patternOf(schema: StructuralSchema): { readonly pattern?: string } {
  const patterns = (schema[VALIDATIONS] ?? []).flatMap(({ rule }) => {
    const [, pattern] = /^self\.matches\(r'([^']*)'\)$/.exec(rule) ?? [];
    return pattern === undefined ? [] : [pattern];
  });
  return patterns[0] === undefined ? {} : { pattern: patterns[0] };
}
