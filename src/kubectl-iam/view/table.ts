/** Renders tables in kubectl's format. Pure. */
import type { Options } from "../cli/options.ts";
import { clean, cut, lengthOf, type Screen, type Style } from "./screen.ts";

export type Cell = string | { readonly text: string; readonly style: Style | undefined };

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => Cell;
  /** Only with `-o wide`. */
  readonly wide?: true;
  /** Cut if the terminal is too narrow, but never below this number of characters (default 12). */
  readonly flexible?: true | number;
}

const GAP = 3;
const NARROWEST = 12;

/** One line for each row, without trailing spaces. */
export function renderTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  screen: Screen,
): string {
  const cells = rows.map((row) => columns.map(({ cell }) => toCell(cell(row))));
  const natural = columns.map(({ title }, index) =>
    Math.max(title.length, ...cells.map((line) => lengthOf(line[index]?.text ?? ""))),
  );
  const widths = fitted(natural, columns, screen.width);
  const header = columns.map(({ title }) => ({ text: title, style: undefined }));
  return [header, ...cells].map((line) => renderLine(line, widths, screen)).join("\n");
}

function toCell(cell: Cell): Exclude<Cell, string> {
  return typeof cell === "string"
    ? { text: clean(cell), style: undefined }
    : { ...cell, text: clean(cell.text) };
}

/** Shortens the flexible columns until the table fits, starting with the last one. */
function fitted<Row>(
  natural: readonly number[],
  columns: readonly Column<Row>[],
  width: number | undefined,
): readonly number[] {
  const widths = [...natural];
  const total = widths.reduce((sum, each) => sum + each, GAP * (widths.length - 1));
  let excess = width === undefined ? 0 : total - width;
  for (let index = columns.length - 1; index >= 0 && excess > 0; index -= 1) {
    const has = widths[index] ?? 0;
    const { flexible } = columns[index] ?? {};
    const least = flexible === true ? NARROWEST : (flexible ?? has);
    const gives = Math.min(excess, Math.max(0, has - least));
    widths[index] = has - gives;
    excess -= gives;
  }
  return widths;
}

function renderLine(
  line: readonly Exclude<Cell, string>[],
  widths: readonly number[],
  { paint }: Screen,
): string {
  const parts = line.map(({ text, style }, index) => {
    const width = widths[index] ?? 0;
    const shown = cut(text, width);
    const isLast = index === line.length - 1;
    const padding = isLast ? "" : " ".repeat(width - lengthOf(shown) + GAP);
    return `${paint(style, shown)}${padding}`;
  });
  return parts.join("").trimEnd();
}

/** The first column, if rows are from several namespaces. */
export function namespaceColumn<Row extends { readonly namespace?: string | undefined }>({
  allNamespaces,
}: Options): readonly Column<Row>[] {
  return allNamespaces ? [{ title: "NAMESPACE", cell: ({ namespace }) => namespace ?? "" }] : [];
}
