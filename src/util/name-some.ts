/** Names as a sentence lists them, the first `limit` of them: `a, b and 3 more`. */
export function nameSome(names: readonly string[], limit: number): string {
  const shown = names.slice(0, limit).join(", ");
  return names.length > limit ? `${shown} and ${names.length - limit} more` : shown;
}
