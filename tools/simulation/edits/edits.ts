/** Everything that an edit can do to one field of a status: remove it, or give it the value that another object has. */
import { DAY, toIso8601 } from "../../../src/util/time.ts";
import { isTree, type Json, type Tree } from "../../api-server/tree.ts";

export type Path = readonly (string | number)[];

export interface Edit {
  readonly path: Path;
  /** Absent: the field is removed. */
  readonly value?: Json;
}

/** Longer than a key lives. */
const SHIFTS_MS = [-100 * DAY, 100 * DAY];
const TIME = /^\d{4}-\d\d-\d\dT[\d:]+Z$/;

/** `others`: the statuses that the values come from. */
export function editsOf(status: Tree, others: readonly Tree[]): readonly Edit[] {
  return nodesOf(status).flatMap(({ path, value }) => [
    { path },
    ...replacements(path, value, others).map((each) => ({ path, value: each })),
  ]);
}

export function edited(status: Tree, { path, value }: Edit): Tree {
  return changed(status, path, value) as Tree;
}

interface Node {
  readonly path: Path;
  readonly value: Json;
}

/** Every field and list item, at any depth. */
function nodesOf(value: Json, path: Path = []): readonly Node[] {
  const own = path.length === 0 ? [] : [{ path, value }];
  return [...own, ...partsOf(value).flatMap(([key, part]) => nodesOf(part, [...path, key]))];
}

function partsOf(value: Json): readonly (readonly [string | number, Json])[] {
  if (Array.isArray(value)) return value.map((part: Json, index) => [index, part] as const);
  if (!isTree(value)) return [];
  return Object.entries(value).flatMap(([key, part]) =>
    part === undefined ? [] : [[key, part] as const],
  );
}

function replacements(path: Path, value: Json, others: readonly Tree[]): readonly Json[] {
  if (typeof value === "number") return [value + 1, value - 1];
  if (typeof value === "boolean") return [!value];
  if (typeof value !== "string") return [];
  if (TIME.test(value)) return SHIFTS_MS.map((ms) => toIso8601(Date.parse(value) + ms));
  const found = others.flatMap((other) => valueNamed(fieldOf(path), other, value));
  return [...new Set(found)];
}

/** The first other value that a status has in a field of that name. */
function valueNamed(field: string, status: Tree, value: Json): readonly Json[] {
  return nodesOf(status)
    .filter((node) => fieldOf(node.path) === field && typeof node.value === "string")
    .map((node) => node.value)
    .filter((each) => each !== value)
    .slice(0, 1);
}

/** Of an item, the list's name. */
function fieldOf(path: Path): string {
  return String(path.findLast((key) => typeof key === "string"));
}

function changed(
  value: Json | undefined,
  [key, ...rest]: Path,
  to: Json | undefined,
): Json | undefined {
  if (key === undefined) return to;
  if (Array.isArray(value)) {
    const items = value.map((item: Json, index) =>
      index === key ? changed(item, rest, to) : item,
    );
    return items.filter((item) => item !== undefined);
  }
  if (!isTree(value)) return value;
  const { [key]: old, ...others } = value;
  const part = changed(old, rest, to);
  return part === undefined ? others : { ...others, [key]: part };
}
