/** Lists the first `limit` names in a sentence: `a, b and 3 more`. */
export function truncateList(names: readonly string[], limit: number): string {
  const shown = names.slice(0, limit).join(", ");
  return names.length > limit ? `${shown} and ${names.length - limit} more` : shown;
}
