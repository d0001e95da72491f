/** Consoles can trim names and IDs, and ignore their case: what they list is another spelling then. Pure. */

/** Whether a console that trims texts or ignores their case could have made one text of the other. */
export function isSpelledLike(text: string, other: string): boolean {
  return fold(text) === fold(other);
}

/**
 * The listed IDs that the console spells in another way, each with the submitted ID that it stands for. `exact` are
 * further IDs that stand for themselves. An ID has no other spelling if there is a choice: if two listed or two
 * submitted IDs are alike, or if the submitted ID is listed as it was submitted.
 */
export function otherSpellings(
  listed: readonly string[],
  submitted: readonly string[],
  exact: readonly string[] = [],
): ReadonlyMap<string, string> {
  const known = new Set([...submitted, ...exact]);
  const strange = listed.filter((id) => !known.has(id));
  if (strange.length === 0) return new Map();
  const shown = new Set(listed);
  const missing = [...new Set(submitted)].filter((id) => !shown.has(id));
  const [unknown, possible] = [strange, missing].map((ids) => Map.groupBy(ids, fold));
  const pairs = [...(unknown ?? [])].flatMap(([folded, [id, ...others]]) => {
    const [own, ...more] = possible?.get(folded) ?? [];
    const isChoice = others.length + more.length > 0;
    return id === undefined || own === undefined || isChoice ? [] : [[id, own] as const];
  });
  return new Map(pairs);
}

/** The listed IDs as they were submitted. */
export function asSubmitted(
  listed: readonly string[],
  ...submitted: readonly [readonly string[], exact?: readonly string[]]
): readonly string[] {
  const spellings = otherSpellings(listed, ...submitted);
  return listed.map((id) => spellings.get(id) ?? id);
}

function fold(text: string): string {
  return text.normalize("NFKC").trim().toLowerCase();
}
