import type { Options } from "../cli/options.ts";
import type { Column } from "./table.ts";

/** The first column, if rows are from several namespaces. */
export function namespaceColumn<Row extends { readonly namespace?: string | undefined }>({
  allNamespaces,
}: Options): readonly Column<Row>[] {
  return allNamespaces ? [{ title: "NAMESPACE", cell: ({ namespace }) => namespace ?? "" }] : [];
}
