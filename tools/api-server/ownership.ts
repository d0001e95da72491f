/** Who owns which field, and what an apply or an update does to that. */
import {
  elementOf,
  type FieldPath,
  type FieldSet,
  fieldsOf,
  isAtomic,
  isGranular,
  isWithinField,
  removeField,
} from "./field-set.ts";
import { mergedOrder } from "./merge-list.ts";
import type { Schema } from "./schema.ts";
import { clone, isTree, type Json, type Tree } from "./tree.ts";

/** `Apply:iam-operator`, `Update:kubectl:status`: one owner each. */
export type Owners = ReadonlyMap<string, FieldSet>;

export interface Owned {
  readonly object: Tree;
  readonly owners: Owners;
}

/** What nobody owns when the first apply comes is taken for somebody's. */
export function withUnknownOwner(schema: Schema, { object, owners }: Owned): Owned {
  if (owners.size > 0) return { object, owners };
  const all = new Set(fieldsOf(schema, object).keys());
  return { object, owners: new Map([["Update:before-first-apply", all]]) };
}

export function applied(schema: Schema, live: Owned, wanted: Tree, owner: string): Owned {
  const wantedFields = fieldsOf(schema, wanted);
  const others = new Map([...live.owners].filter(([name]) => name !== owner));
  const isKept = (path: FieldPath) =>
    wantedFields.has(path) ||
    [wantedFields.keys(), ...others.values()].some((set) => holds(set, path));
  const dropped = [...(live.owners.get(owner) ?? [])].filter((path) => !isKept(path));
  const object = withoutFields(schema, merged(schema, live.object, wanted) as Tree, dropped);
  const own = new Set(wantedFields.keys());
  return { object, owners: settled(schema, live.object, object, others, owner, own) };
}

/** In a copy: what is removed must not vanish from the past. */
function withoutFields(schema: Schema, object: Tree, paths: readonly FieldPath[]): Tree {
  if (paths.length === 0) return object;
  const copy = clone(object);
  for (const path of paths) removeField(schema, copy, path);
  return copy;
}

/** An update owns what it changed, besides what it owned and left. */
export function updated(schema: Schema, live: Owned, object: Tree, owner: string): Owned {
  const before = fieldsOf(schema, live.object);
  const after = fieldsOf(schema, object);
  const changed = [...after].filter(([path, value]) => before.get(path) !== value);
  const own = new Set([...(live.owners.get(owner) ?? []), ...changed.map(([path]) => path)]);
  const others = new Map([...live.owners].filter(([name]) => name !== owner));
  return { object, owners: settled(schema, live.object, object, others, owner, own) };
}

/** What changed is no longer the others', and nobody owns what is gone. */
function settled(
  schema: Schema,
  old: Tree,
  object: Tree,
  others: Owners,
  owner: string,
  own: FieldSet,
): Owners {
  const before = fieldsOf(schema, old);
  const after = fieldsOf(schema, object);
  const owners = new Map<string, FieldSet>();
  for (const [name, set] of others) {
    const left = [...set].filter((path) => after.get(path) === before.get(path));
    // One that owned nothing to begin with, by an empty apply, stays.
    if (left.length > 0 || set.size === 0) owners.set(name, new Set(left));
  }
  // Fields that are written under another name, such as stringData, are owned without being there.
  const mine = [...own].filter((path) => after.has(path) || !before.has(path));
  if (mine.length > 0 || owner.startsWith("Apply:")) owners.set(owner, new Set(mine));
  return owners;
}

function holds(set: Iterable<FieldPath>, path: FieldPath): boolean {
  for (const each of set) if (isWithinField(each, path)) return true;
  return false;
}

function merged(schema: Schema | undefined, live: Json | undefined, wanted: Json): Json {
  if (isTree(wanted) && !isAtomic(schema)) {
    const result: Tree = isTree(live) ? { ...live } : {};
    for (const [name, part] of Object.entries(wanted)) {
      const known = schema?.properties?.[name] ?? schema?.additionalProperties;
      if (part !== undefined) result[name] = merged(known, result[name], part);
    }
    return result;
  }
  if (!Array.isArray(wanted) || !Array.isArray(live) || !isGranular(schema)) return clone(wanted);
  return mergedList(schema, live, wanted);
}

function mergedList(schema: Schema, live: readonly Json[], wanted: readonly Json[]): Json {
  const before = new Map(live.map((item) => [elementOf(schema, item), item]));
  const after = new Map(wanted.map((item) => [elementOf(schema, item), item]));
  return mergedOrder([...before.keys()], [...after.keys()]).map((element) => {
    const item = after.get(element);
    const old = before.get(element);
    return item === undefined ? (old ?? null) : merged(schema.items, old, item);
  });
}

export function isSameOwners(a: Owners, b: Owners): boolean {
  if (a.size !== b.size) return false;
  return [...a].every(([name, set]) => {
    const other = b.get(name);
    return (
      other !== undefined && other.size === set.size && [...set].every((path) => other.has(path))
    );
  });
}
