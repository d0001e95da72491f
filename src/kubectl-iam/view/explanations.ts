/** Reads the explanation of a reason from the troubleshooting page. Pure. */

export interface Explanation {
  readonly reason: string;
  /** Paragraphs and list entries, as text without markup. */
  readonly lines: readonly string[];
}

/** Reads the page: a section of level 3 for each reason, and a table for reasons that require no action. */
export function readExplanations(page: string): readonly Explanation[] {
  const sections = page.split(/^### /m).slice(1).map(readSection);
  const rows = [...page.matchAll(/^\| (`[^|]+) \| ([^|]+) \|$/gm)].flatMap(
    ([, names = "", text = ""]) =>
      [...names.matchAll(/`([A-Za-z]+)`/g)].map(([, reason = ""]) => ({
        reason,
        lines: [`${capitalized(plain(text))}.`, "- Do: nothing."],
      })),
  );
  return [...sections, ...rows].sort((a, b) => a.reason.localeCompare(b.reason));
}

function readSection(text: string): Explanation {
  const [reason = "", ...rest] = text.split("\n");
  const end = rest.findIndex((line) => line.startsWith("## "));
  const body = (end < 0 ? rest : rest.slice(0, end)).join("\n").trim();
  return { reason: reason.trim(), lines: toLines(body) };
}

/** One line for each paragraph, list entry, and line of code. */
function toLines(body: string): readonly string[] {
  // Text and code alternate between the fences.
  return body
    .split(/^ *```.*$/m)
    .flatMap((part, index) => (index % 2 === 0 ? paragraphs(part) : codeLines(part)));
}

function paragraphs(text: string): readonly string[] {
  return text
    .split(/\n\s*\n|\n(?=- )/)
    .map((paragraph) => plain(paragraph).replaceAll(/\s+/g, " ").trim())
    .filter((paragraph) => paragraph !== "");
}

function codeLines(text: string): readonly string[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => `  ${line.trim()}`);
}

function plain(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll("`", "")
    .replaceAll("**", "");
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
