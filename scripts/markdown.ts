/** Markdown of the generated pages. */

export type Row = readonly string[];

export function table(head: Row, rows: readonly Row[]): string {
  return [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");
}

export function code(text: string): string {
  return `\`${text}\``;
}
