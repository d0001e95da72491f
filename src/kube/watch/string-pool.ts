/** Strings held to find their equals; then the pool is emptied. */
const MOST_STRINGS = 2_048;
/** Longer ones are seldom the same. */
const LONGEST = 100;

/**
 * One copy of equal strings. What the API server sends says much the same of every object: types, reasons, messages,
 * times. After parsing, each is a string of its own.
 */
export class StringPool {
  readonly #strings = new Map<string, string>();

  /** Replaces, in `value` itself, strings by equal ones that were seen lately. */
  share(value: object): void {
    const entries = value as Record<string, unknown>;
    for (const key of Object.keys(entries)) {
      const entry = entries[key];
      if (typeof entry === "string") entries[key] = this.#sharedOf(entry);
      else if (typeof entry === "object" && entry !== null) this.share(entry);
    }
  }

  #sharedOf(text: string): string {
    if (text.length > LONGEST) return text;
    const known = this.#strings.get(text);
    if (known !== undefined) return known;
    if (this.#strings.size >= MOST_STRINGS) this.#strings.clear();
    this.#strings.set(text, text);
    return text;
  }
}
