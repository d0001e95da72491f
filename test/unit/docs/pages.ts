/** The pages of the repository, as text without code blocks. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../../..");
export const read = (path: string) => readFileSync(join(root, path), "utf8");
export const find = (...patterns: readonly string[]) =>
  globSync(patterns, { cwd: root, exclude: ["**/node_modules"] }).toSorted();

export interface Page {
  readonly path: string;
  readonly text: string;
}

export const pages: readonly Page[] = find(
  "*.md",
  "docs/**/*.md",
  "{charts,tools,test}/**/*.md",
  ".github/**/*.md",
).map((path) => ({ path, text: read(path) }));

const BLOCK = /^( *)```[^\n]*\n[\s\S]*?^\1```$/gm;

export const withoutBlocks = (text: string) => text.replaceAll(BLOCK, "");
export const blocksOf = (text: string) => text.match(BLOCK) ?? [];

/** What is in backticks. In a table, a pipe is escaped. */
export const spansOf = (text: string): readonly string[] =>
  [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) =>
    span.replaceAll("\\|", "|"),
  );

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(text: string): readonly string[] {
  const titles = [...withoutBlocks(text).matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\s-]/gu, "")
      .replaceAll(" ", "-"),
  );
  return titles.map((title, index) => {
    const before = titles.slice(0, index).filter((other) => other === title).length;
    return before === 0 ? title : `${title}-${before}`;
  });
}
