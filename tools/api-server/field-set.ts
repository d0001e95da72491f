/** Which fields an object has, as server-side apply sees them. */
import type { Schema } from "./schema.ts";
import { canonical, isTree, type Json, type Tree } from "./tree.ts";

/** Names one field: its elements, joined. */
export type FieldPath = string;
export type FieldSet = ReadonlySet<FieldPath>;

const SEPARATOR = "\u0001";
/** Metadata that belong to the server, or name the object. */
export const SYSTEM_METADATA = [
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
];
const UNOWNED = new Set(["apiVersion", "kind"]);
const UNOWNED_METADATA = new Set([...SYSTEM_METADATA, "managedFields", "selfLink"]);

/** What there is of each field. */
export type Fields = ReadonlyMap<FieldPath, string>;

/** Trees are not changed once they are stored, and asked about more than once. */
const known = new WeakMap<Tree, { readonly schema: Schema | undefined; readonly fields: Fields }>();

/** Every leaf, every item of a keyed list, every object that is empty or owned as a whole. */
export function fieldsOf(schema: Schema, object: Tree): Fields {
  return remembered(object, schema, () => {
    const fields = new Map<FieldPath, string>();
    for (const [name, value] of Object.entries(object)) {
      if (UNOWNED.has(name) || value === undefined) continue;
      const part = name === "metadata" && isTree(value) ? ownableMetadata(value) : value;
      const inner = fieldsOfPart(schema.properties?.[name], part, `f:${name}`);
      for (const [path, text] of inner) fields.set(path, text);
    }
    fields.delete("f:metadata");
    return fields;
  });
}

/** Of a property, which mostly is the same in the next version. */
function fieldsOfPart(schema: Schema | undefined, value: Json, path: FieldPath): Fields {
  const read = () => {
    const fields = new Map<FieldPath, string>();
    collect(schema, value, path, fields);
    return fields;
  };
  return isTree(value) ? remembered(value, schema, read) : read();
}

function remembered(tree: Tree, schema: Schema | undefined, read: () => Fields): Fields {
  const found = known.get(tree);
  if (found !== undefined && found.schema === schema) return found.fields;
  const fields = read();
  known.set(tree, { schema, fields });
  return fields;
}

function ownableMetadata(metadata: Tree): Tree {
  const result: Tree = {};
  for (const name in metadata) if (!UNOWNED_METADATA.has(name)) result[name] = metadata[name];
  return result;
}

function collect(
  schema: Schema | undefined,
  value: Json,
  path: FieldPath,
  fields: Map<FieldPath, string>,
): void {
  if (isTree(value) && !isAtomic(schema)) {
    let isEmpty = true;
    for (const name in value) {
      isEmpty = false;
      const part = value[name];
      if (part === undefined) continue;
      const inner = schema?.properties?.[name] ?? schema?.additionalProperties;
      collect(inner, part, `${path}${SEPARATOR}f:${name}`, fields);
    }
    if (isEmpty) fields.set(path, "{}");
    return;
  }
  if (!Array.isArray(value) || !isGranular(schema)) {
    fields.set(path, canonical(value));
    return;
  }
  for (const item of value) {
    const inner = `${path}${SEPARATOR}${elementOf(schema, item)}`;
    fields.set(inner, "");
    if (isTree(item)) collect(schema.items, item, inner, fields);
  }
}

/** Such an object is owned as a whole. */
export function isAtomic(schema: Schema | undefined): boolean {
  return schema?.["x-kubernetes-map-type"] === "atomic";
}

/** The items of such a list are owned one by one. */
export function isGranular(schema: Schema | undefined): schema is Schema {
  const type = schema?.["x-kubernetes-list-type"];
  return type === "map" || type === "set";
}

export function elementOf(schema: Schema, item: Json): string {
  const keys = schema["x-kubernetes-list-map-keys"];
  if (keys === undefined || !isTree(item)) return `v:${canonical(item)}`;
  return `k:${canonical(keys.map((key) => item[key] ?? null))}`;
}

/** Drops one field; and what it leaves empty behind, but never the root. */
export function removeField(schema: Schema, object: Tree, path: FieldPath): void {
  removeAt(schema, object, path.split(SEPARATOR));
}

function removeAt(schema: Schema | undefined, tree: Tree, path: readonly string[]): void {
  const [head = "", ...rest] = path;
  const name = head.slice(2);
  const value = tree[name];
  if (value === undefined) return;
  const known = schema?.properties?.[name] ?? schema?.additionalProperties;
  if (rest.length === 0) delete tree[name];
  else if (Array.isArray(value) && known !== undefined) {
    const left = removeItem(known, value, rest);
    if (left.length > 0) tree[name] = left;
    else delete tree[name];
  } else if (isTree(value)) {
    removeAt(known, value, rest);
    if (Object.keys(value).length === 0 && name !== "metadata") delete tree[name];
  }
}

function removeItem(schema: Schema, list: readonly Json[], path: readonly string[]): Json[] {
  const [element, ...rest] = path;
  return list.flatMap((item) => {
    if (elementOf(schema, item) !== element) return [item];
    if (rest.length === 0) return [];
    if (isTree(item)) removeAt(schema.items, item, rest);
    return [item];
  });
}

/** Whether a field is the other one or lies within it. */
export function isWithinField(path: FieldPath, outer: FieldPath): boolean {
  return path === outer || path.startsWith(`${outer}${SEPARATOR}`);
}
