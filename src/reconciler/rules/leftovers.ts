/** Finds what an apply cannot remove, because another field manager wrote it too. Pure. */

/** The merge patch that removes from `stored` what `wanted` does not have; `undefined` if there is nothing. */
export function removalOf(stored: object, wanted: object): object | undefined {
  const known = new Map<string, unknown>(Object.entries(wanted));
  const removed = Object.entries(stored).flatMap(([name, value]) => {
    const part = known.has(name) ? removalIn(value, known.get(name)) : null;
    return part === undefined ? [] : [[name, part] as const];
  });
  return removed.length === 0 ? undefined : Object.fromEntries(removed);
}

/** A list is replaced as a whole. */
function removalIn(stored: unknown, wanted: unknown): unknown {
  if (Array.isArray(stored) && Array.isArray(wanted))
    return stored.length > wanted.length ? wanted : undefined;
  return isObject(stored) && isObject(wanted) ? removalOf(stored, wanted) : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
