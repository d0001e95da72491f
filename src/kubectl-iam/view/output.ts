/** Prints rows in the format that was asked for. */
import type { Invocation } from "../cli/command.ts";
import { UsageError } from "../cli/errors.ts";
import { compileJsonPath } from "./json-path.ts";
import { screenOf } from "./screen.ts";
import { type Column, renderTable } from "./table.ts";

interface Table<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** Said, and not printed, where a table would be empty. */
  readonly empty: string;
  /** For `-o name`; absent if the rows are no objects of the cluster. */
  readonly nameOf?: (row: Row) => string;
}

/** Rows are printed as they are with `-o json` and `-o yaml`, under `items`. */
export async function printTable<Row>(
  invocation: Invocation,
  { rows, columns, empty, nameOf }: Table<Row>,
): Promise<void> {
  const { io, options } = invocation;
  if (options.output === "name") {
    if (nameOf === undefined) throw noNames();
    for (const row of rows) io.print(nameOf(row));
    return;
  }
  if (isStructured(invocation)) return printValue(invocation, { items: rows });
  if (rows.length === 0) return io.note(empty);
  const isWide = options.output === "wide";
  const shown = columns.filter(({ wide }) => isWide || !wide);
  io.print(renderTable(rows, shown, screenOf(io)));
}

function noNames(): UsageError {
  return new UsageError("-o name is for objects of the cluster, which this command does not print");
}

/** Whether a program will read the output. */
export function isStructured({ options: { output } }: Pick<Invocation, "options">): boolean {
  return output !== undefined && output !== "table" && output !== "wide";
}

/** The value as JSON, or in the form that was asked for. `name` is for `-o name`. */
export async function printValue(
  { io, options: { output } }: Invocation,
  value: unknown,
  name?: string,
): Promise<void> {
  if (output === "name") {
    if (name === undefined) throw noNames();
    io.print(name);
  } else if (output?.startsWith(JSON_PATH)) {
    // What JSON leaves out a path does not find either.
    const plain: unknown = JSON.parse(JSON.stringify(value));
    io.print(compileJsonPath(output.slice(JSON_PATH.length))(plain));
  } else io.print(output === "yaml" ? await toYaml(value) : JSON.stringify(value, null, 2));
}

const JSON_PATH = "jsonpath=";

export async function toYaml(value: unknown): Promise<string> {
  const { dump } = await import("js-yaml");
  // What JSON leaves out YAML leaves out as well.
  return dump(JSON.parse(JSON.stringify(value)), { lineWidth: -1, noRefs: true }).trimEnd();
}
