/** The part of the values' schema that follows from the API: the spec of a ClusterConnection. */
import type { Kind } from "../../src/api/kind.ts";
import { VALIDATIONS } from "../../src/api/rule.ts";
import { type StructuralSchema, toStructuralSchema } from "../../src/api/structural-schema.ts";

interface ValuesSchema {
  readonly properties: {
    readonly clusterConnection: { then: { properties: Record<string, unknown> } };
  };
}

/** The schema's text, in which `clusterConnection.spec` allows what the kind's own schema allows. */
export function withConnectionSpec(text: string, kind: Kind): string {
  const schema = JSON.parse(text) as ValuesSchema;
  schema.properties.clusterConnection.then.properties.spec = toJsonSchema(
    toStructuralSchema(kind.spec),
  );
  return `${JSON.stringify(schema, null, 2)}\n`;
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
