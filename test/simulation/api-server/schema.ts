/** Structural schemas: what the server drops, fills in, and refuses. CEL rules are left to the real server. */
import { clone, isTree, type Json, type Tree } from "./tree.ts";

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
  for (const name in value) {
    const part = value[name];
    const known = schema.properties?.[name] ?? schema.additionalProperties;
    if (known === undefined) return `${path}.${name}: field not declared in schema`;
    const problem = part === undefined ? undefined : untyped(known, part, `${path}.${name}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

export function withDefaults(schema: Schema, value: Json): Json {
  if (!hasDefaults(schema)) return value;
  if (Array.isArray(value)) {
    return value.map((item) => (schema.items ? withDefaults(schema.items, item) : item));
  }
  if (!isTree(value)) return value;
  const filled: Tree = { ...value };
  for (const [name, part] of Object.entries(schema.properties ?? {})) {
    if (filled[name] === undefined && part.default !== undefined)
      filled[name] = clone(part.default);
  }
  return mapProperties(filled, (name, part) => {
    const known = schema.properties?.[name] ?? schema.additionalProperties;
    return known === undefined ? part : withDefaults(known, part);
  });
}

const defaulted = new WeakMap<Schema, boolean>();

/** Whether anything in it can be filled in. Most of a schema has nothing of that. */
function hasDefaults(schema: Schema): boolean {
  const known = defaulted.get(schema);
  if (known !== undefined) return known;
  const parts = [
    ...Object.values(schema.properties ?? {}),
    schema.additionalProperties,
    schema.items,
  ];
  const found = parts.some(
    (part) => part !== undefined && (part.default !== undefined || hasDefaults(part)),
  );
  defaulted.set(schema, found);
  return found;
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
  for (const name in value) {
    const part = value[name];
    const known = schema.properties?.[name] ?? schema.additionalProperties;
    if (known === undefined || part === undefined) continue;
    const problem = problemOf(known, part, `${path}.${name}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
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
  const { minLength, maxLength } = schema;
  const isBounded = minLength !== undefined || maxLength !== undefined;
  // In characters, not in halves of them.
  if (isBounded && !isWithin([...value].length, minLength, maxLength)) return "has a wrong length";
  if (schema.pattern !== undefined && !patternOf(schema.pattern).test(value)) {
    return "does not match the pattern";
  }
  return undefined;
}

const patterns = new Map<string, RegExp>();

function patternOf(text: string): RegExp {
  const known = patterns.get(text) ?? new RegExp(text);
  patterns.set(text, known);
  return known;
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
  for (const name in tree) {
    const part = tree[name];
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
