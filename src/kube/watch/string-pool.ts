/** Maximum number of strings in the pool. When it is full, the pool is emptied. */
const MOST_STRINGS = 2_048;
/** Longer strings are rarely equal. */
const LONGEST = 100;

/**
 * Keeps one copy of equal strings. Objects from the API server contain many equal strings: types, reasons, messages,
 * times. After parsing, each of them is a separate string.
 */
export class StringPool {
  readonly #strings = new Map<string, string>();

  /** Replaces strings in `value` itself with equal strings that were seen recently. */
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
