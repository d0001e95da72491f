/** Structural schemas: what the server drops, fills in, and refuses. CEL rules are left to the real server. */
import { isTree, type Json, type Tree } from "./tree.ts";

export interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly default?: Json;
  readonly enum?: readonly Json[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly "x-kubernetes-list-type"?: "atomic" | "map" | "set";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
}

/** Without what the schema does not know. Metadata of the object itself is not looked at. */
export function prune(schema: Schema, value: Json): Json {
  if (Array.isArray(value)) {
    return schema.items === undefined
      ? value
      : value.map((item) => prune(schema.items ?? {}, item));
  }
  if (!isTree(value) || schema["x-kubernetes-preserve-unknown-fields"]) return value;
  return mapProperties(value, (name, part) => {
    const known = schema.properties?.[name] ?? schema.additionalProperties;
    return known === undefined ? undefined : prune(known, part);
  });
}

/** Why an applied object has no type: a field that the schema does not know, or of another type. */
export function untyped(schema: Schema, value: Json, path = ""): string | undefined {
  const { type } = schema;
  if (type !== undefined && !hasType(type === "integer" ? "number" : type, value)) {
    return `${path}: expected ${type}`;
  }
  if (Array.isArray(value)) {
    return first(value, (item) => untyped(schema.items ?? {}, item, path));
  }
  if (!isTree(value) || schema["x-kubernetes-preserve-unknown-fields"]) return undefined;
  return first(Object.entries(value), ([name, part]) => {
    const known = schema.properties?.[name] ?? schema.additionalProperties;
    if (known === undefined) return `${path}.${name}: field not declared in schema`;
    return part === undefined ? undefined : untyped(known, part, `${path}.${name}`);
  });
}

export function withDefaults(schema: Schema, value: Json): Json {
  if (Array.isArray(value)) {
    return value.map((item) => (schema.items ? withDefaults(schema.items, item) : item));
  }
  if (!isTree(value)) return value;
  const filled: Tree = { ...value };
  for (const [name, part] of Object.entries(schema.properties ?? {})) {
    if (filled[name] === undefined && part.default !== undefined) {
      filled[name] = structuredClone(part.default) as Json;
    }
  }
  return mapProperties(filled, (name, part) => {
    const known = schema.properties?.[name] ?? schema.additionalProperties;
    return known === undefined ? part : withDefaults(known, part);
  });
}

/** What is wrong with a value; `undefined` where nothing is. */
export function problemOf(schema: Schema, value: Json, path = ""): string | undefined {
  const wrong = ownProblem(schema, value);
  if (wrong !== undefined) return `${path || "<root>"}: ${wrong}`;
  if (Array.isArray(value)) {
    return first(value, (item, index) => problemOf(schema.items ?? {}, item, `${path}[${index}]`));
  }
  if (!isTree(value)) return undefined;
  const missing = schema.required?.find((name) => value[name] === undefined);
  if (missing !== undefined) return `${path}.${missing}: Required value`;
  return first(Object.entries(value), ([name, part]) => {
    const known = schema.properties?.[name] ?? schema.additionalProperties;
    return known === undefined || part === undefined
      ? undefined
      : problemOf(known, part, `${path}.${name}`);
  });
}

function ownProblem(schema: Schema, value: Json): string | undefined {
  if (schema.type !== undefined && !hasType(schema.type, value)) return `must be ${schema.type}`;
  if (schema.enum !== undefined && !schema.enum.includes(value)) return "Unsupported value";
  if (typeof value === "string") return textProblem(schema, value);
  if (typeof value === "number") {
    return isWithin(value, schema.minimum, schema.maximum) ? undefined : "is out of range";
  }
  if (Array.isArray(value)) {
    return isWithin(value.length, schema.minItems, schema.maxItems) ? undefined : "too many items";
  }
  if (!isTree(value)) return undefined;
  const { minProperties, maxProperties } = schema;
  return isWithin(Object.keys(value).length, minProperties, maxProperties)
    ? undefined
    : "has a wrong number of properties";
}

function textProblem(schema: Schema, value: string): string | undefined {
  if (!isWithin([...value].length, schema.minLength, schema.maxLength)) return "has a wrong length";
  if (schema.pattern !== undefined && !new RegExp(schema.pattern).test(value)) {
    return "does not match the pattern";
  }
  return undefined;
}

function hasType(type: string, value: Json): boolean {
  switch (type) {
    case "object":
      return isTree(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function isWithin(value: number, least = -Infinity, most = Infinity): boolean {
  return value >= least && value <= most;
}

function mapProperties(tree: Tree, change: (name: string, part: Json) => Json | undefined): Tree {
  const result: Tree = {};
  for (const [name, part] of Object.entries(tree)) {
    const changed = part === undefined ? undefined : change(name, part);
    if (changed !== undefined) result[name] = changed;
  }
  return result;
}

function first<T, R>(
  items: readonly T[],
  find: (item: T, index: number) => R | undefined,
): R | undefined {
  for (const [index, item] of items.entries()) {
    const found = find(item, index);
    if (found !== undefined) return found;
  }
  return undefined;
}
