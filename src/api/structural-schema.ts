/** Converts zod to the structural OpenAPI v3 schema of a CRD. */
import * as z from "zod";
import { VALIDATIONS, type Validation } from "./rule.ts";

/** The part of apiextensions.k8s.io/v1 JSONSchemaProps that the operator's CRDs use. */
export interface StructuralSchema {
  readonly description?: string;
  readonly type?: "object" | "array" | "string" | "integer" | "boolean";
  readonly format?: "date-time";
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic";
  readonly "x-kubernetes-validations"?: readonly Validation[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly additionalProperties?: StructuralSchema;
  readonly items?: StructuralSchema;
}

/** In the order of the generated files. */
const KEYWORDS: readonly (keyof StructuralSchema)[] = [
  "description",
  "type",
  "format",
  "default",
  "enum",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "minItems",
  "maxItems",
  "maxProperties",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-map-type",
  VALIDATIONS,
  "required",
  "properties",
  "additionalProperties",
  "items",
];

/**
 * Returns the schema in the API server's format. Throws if zod produces anything that is not in {@link
 * StructuralSchema}, so that nothing is lost silently, except `.refine()`, whose CEL equivalent `withRule` writes, and
 * the checks of a record's keys.
 */
export function toStructuralSchema(schema: z.ZodType): StructuralSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    target: "openapi-3.0",
    io: "input",
    unrepresentable: "throw",
    reused: "inline",
    cycles: "throw",
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === "pipe") throw new Error("a CRD cannot transform values");
      dropAdditions(jsonSchema);
    },
  });
  return ordered(json as StructuralSchema, "");
}

/** Removes zod's additions, and restrictions that the API server applies anyway. */
function dropAdditions(node: z.core.JSONSchema.BaseSchema): void {
  if (node.format === "date-time") delete node.pattern;
  if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
  if (node.additionalProperties === false) delete node.additionalProperties;
}

/** Returns the schema with each schema directly below it changed. `step` is how the child's path continues. */
export function mapChildren(
  node: StructuralSchema,
  change: (child: StructuralSchema, step: string) => StructuralSchema,
): StructuralSchema {
  const { properties, additionalProperties, items } = node;
  return {
    ...node,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, child]) => [name, change(child, `.${name}`)]),
      ),
    }),
    ...(additionalProperties && { additionalProperties: change(additionalProperties, ".*") }),
    ...(items && { items: change(items, "[]") }),
  };
}

/**
 * Returns the schema with its keywords in a fixed order, so that generated files are stable. Throws on unknown
 * keywords.
 */
function ordered(node: StructuralSchema, path: string): StructuralSchema {
  assertKnown(node, path);
  const all = mapChildren(node, (child, step) => ordered(child, `${path}${step}`));
  return Object.fromEntries(
    KEYWORDS.filter((key) => all[key] !== undefined).map((key) => [key, all[key]]),
  );
}

function assertKnown(node: StructuralSchema, path: string): void {
  const names: readonly string[] = KEYWORDS;
  const unknown = Object.keys(node).find((key) => !names.includes(key));
  if (unknown !== undefined) throw new Error(`${path}: our CRDs do not use ${unknown}`);
  if (node.type === undefined) throw new Error(`${path}: lacks a type`);
  if (node.type === "array" && node["x-kubernetes-list-type"] === undefined)
    throw new Error(`${path}: write the list with src/api/lists.ts`);
}
