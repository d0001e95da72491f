/** What a reason of a condition or an event means, and what to do about it. */

/** The texts are Markdown, with links that start in docs/. */
export interface Reason {
  readonly meaning: string;
  /** Where the cause can be found. */
  readonly check?: string;
  /** The action; absent if none is required. */
  readonly fix?: string;
  /** Commands for the action. */
  readonly commands?: readonly string[];
}

export interface Section {
  readonly title: string;
  readonly intro?: string;
  readonly reasons: Readonly<Record<string, Reason>>;
}

/** The text without markup, for a terminal. */
export function withoutMarkup(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll("`", "")
    .replaceAll("**", "");
}
