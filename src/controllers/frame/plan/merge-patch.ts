/** RFC 7386: `null` removes a field, lists are replaced as a whole. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const fields = new Map(Object.entries(isRecord(target) ? target : {}));
  for (const [name, value] of Object.entries(patch))
    if (value === null) fields.delete(name);
    else fields.set(name, mergePatch(fields.get(name), value));
  return Object.fromEntries(fields);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
