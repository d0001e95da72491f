/** Prints rows in the requested format. */
import type { Invocation } from "../cli/command.ts";
import { UsageError } from "../cli/errors.ts";
import { compileJsonPath } from "./json-path.ts";
import { screenOf } from "./screen.ts";
import { type Column, renderTable } from "./table.ts";

interface Table<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** The note that replaces an empty table. */
  readonly empty: string;
  /** For `-o name`; absent if the rows are not objects in the cluster. */
  readonly nameOf?: (row: Row) => string;
}

/** `-o json` and `-o yaml` print the rows unchanged, under `items`. */
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

/** Whether the output is for a program. */
export function isStructured({ options: { output } }: Pick<Invocation, "options">): boolean {
  return output !== undefined && output !== "table" && output !== "wide";
}

/** Prints the value as JSON, or in the requested format. `name` is for `-o name`. */
export async function printValue(
  { io, options: { output } }: Invocation,
  value: unknown,
  name?: string,
): Promise<void> {
  if (output === "name") {
    if (name === undefined) throw noNames();
    io.print(name);
  } else if (output?.startsWith(JSON_PATH)) {
    // A path must not find what JSON leaves out.
    const plain: unknown = JSON.parse(JSON.stringify(value));
    io.print(compileJsonPath(output.slice(JSON_PATH.length))(plain));
  } else io.print(output === "yaml" ? await toYaml(value) : JSON.stringify(value, null, 2));
}

const JSON_PATH = "jsonpath=";

export async function toYaml(value: unknown): Promise<string> {
  const { dump } = await import("js-yaml");
  // YAML must leave out what JSON leaves out.
  return dump(JSON.parse(JSON.stringify(value)), { lineWidth: -1, noRefs: true }).trimEnd();
}
