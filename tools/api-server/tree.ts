/** JSON as it travels. */
export type Json = null | boolean | number | string | readonly Json[] | Tree;
export interface Tree {
  [name: string]: Json | undefined;
}

export function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The tree at a property, or an empty one. */
export function treeAt(tree: Tree, name: string): Tree {
  const value = tree[name];
  return isTree(value) ? value : {};
}

export function textAt(tree: Tree, name: string): string | undefined {
  const value = tree[name];
  return typeof value === "string" ? value : undefined;
}

export function listAt(tree: Tree, name: string): readonly Json[] {
  const value = tree[name];
  return Array.isArray(value) ? value : [];
}

/** Of JSON only. */
export function clone<T>(value: T): T;
export function clone(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(clone);
  if (!isTree(value)) return value;
  const copy: Tree = {};
  for (const name in value) copy[name] = clone(value[name]);
  return copy;
}

/** Equal whatever the order of properties is; what is `undefined` is not there. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && isSameList(a, b);
  if (!isTree(a) || !isTree(b)) return false;
  return isPartOf(a, b) && Object.keys(b).every((name) => name in a || b[name] === undefined);
}

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => isSame(item, b[index]));
}

function isPartOf(a: Tree, b: Tree): boolean {
  for (const name in a) if (!isSame(a[name], b[name])) return false;
  return true;
}

export function canonical(value: unknown): string {
  if (typeof value !== "object") return JSON.stringify(value) ?? "";
  return (
    JSON.stringify(value, (_name, part: unknown) => (isTree(part) ? sorted(part) : part)) ?? ""
  );
}

function sorted(tree: Tree): Tree {
  return Object.fromEntries(Object.entries(tree).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}
