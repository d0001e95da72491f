/** RFC 7386: `null` takes a field away, lists are replaced as a whole. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const fields: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch))
    if (value === null) delete fields[name];
    else fields[name] = mergePatch(fields[name], value);
  return fields;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
