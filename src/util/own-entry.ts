/**
 * The record's own value under an external name. A plain lookup also finds `constructor`, `toString` and the like,
 * which every object inherits.
 */
export function ownEntry<T>(
  record: Readonly<Record<string, T>> | undefined,
  name: string,
): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
