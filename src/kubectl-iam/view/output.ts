/** Prints rows in the format that was asked for. */
import type { Invocation } from "../cli/command.ts";
import { screenOf } from "./screen.ts";
import { type Column, renderTable } from "./table.ts";

interface Table<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** Said, and not printed, where a table would be empty. */
  readonly empty: string;
}

/** Rows are printed as they are with `-o json` and `-o yaml`, under `items`. */
export async function printTable<Row>(
  invocation: Invocation,
  { rows, columns, empty }: Table<Row>,
): Promise<void> {
  const { io, options } = invocation;
  if (isStructured(invocation)) return printValue(invocation, { items: rows });
  if (rows.length === 0) return io.note(empty);
  const isWide = options.output === "wide";
  const shown = columns.filter(({ wide }) => isWide || !wide);
  io.print(renderTable(rows, shown, screenOf(io)));
}

/** Whether a program will read the output. */
export function isStructured({ options: { output } }: Pick<Invocation, "options">): boolean {
  return output === "json" || output === "yaml";
}

/** The value as JSON, or as YAML where that was asked for. */
export async function printValue({ io, options }: Invocation, value: unknown): Promise<void> {
  io.print(options.output === "yaml" ? await toYaml(value) : JSON.stringify(value, null, 2));
}

export async function toYaml(value: unknown): Promise<string> {
  const { dump } = await import("js-yaml");
  // What JSON leaves out YAML leaves out as well.
  return dump(JSON.parse(JSON.stringify(value)), { lineWidth: -1, noRefs: true }).trimEnd();
}
