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
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
}

/** Without what the schema does not know; itself where there is nothing of that. The object's metadata stays as it is. */
export function prune(schema: Schema, value: Json): Json {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? value : mapItems(value, (item) => prune(items, item));
  }
  if (!isTree(value) || schema["x-kubernetes-preserve-unknown-fields"]) return value;
  if (isSound(schema, value)) return value;
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

/** Itself where nothing is to be filled in. */
export function withDefaults(schema: Schema, value: Json): Json {
  if (!hasDefaults(schema)) return value;
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? value : mapItems(value, (item) => withDefaults(items, item));
  }
  return isTree(value) && !isSound(schema, value) ? treeWithDefaults(schema, value) : value;
}

function treeWithDefaults(schema: Schema, value: Tree): Tree {
  let filled = value;
  for (const [name, part] of Object.entries(schema.properties ?? {})) {
    if (value[name] === undefined && part.default !== undefined)
      filled = { ...filled, [name]: clone(part.default) };
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

/** What is wrong with a pruned and filled-in value; `undefined` where nothing is. It must not be changed any more. */
export function problemOf(schema: Schema, value: Json, path = ""): string | undefined {
  if (!isTree(value)) return problemIn(schema, value, path);
  if (isSound(schema, value)) return undefined;
  const problem = problemIn(schema, value, path);
  if (problem === undefined) sound.set(value, schema);
  return problem;
}

/** Most of an object is the same in its next version. */
const sound = new WeakMap<Tree, Schema>();

/** Whether it is known that there is nothing to prune, to fill in, or to complain about. */
function isSound(schema: Schema, value: Tree): boolean {
  return sound.get(value) === schema;
}

function problemIn(schema: Schema, value: Json, path: string): string | undefined {
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

/** The tree itself where no property changes. */
function mapProperties(tree: Tree, change: (name: string, part: Json) => Json | undefined): Tree {
  const result: Tree = {};
  let isSame = true;
  for (const name in tree) {
    const part = tree[name];
    const changed = part === undefined ? undefined : change(name, part);
    if (changed !== part || part === undefined) isSame = false;
    if (changed !== undefined) result[name] = changed;
  }
  return isSame ? tree : result;
}

function mapItems(items: readonly Json[], change: (item: Json) => Json): readonly Json[] {
  const changed = items.map(change);
  return changed.every((item, index) => item === items[index]) ? items : changed;
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
