import type { Options } from "../cli/options.ts";
import type { Column } from "./table.ts";

/** The first column, where rows are of several namespaces. */
export function namespaceColumn<Row extends { readonly namespace?: string | undefined }>({
  allNamespaces,
}: Options): readonly Column<Row>[] {
  return allNamespaces ? [{ title: "NAMESPACE", cell: ({ namespace }) => namespace ?? "" }] : [];
}
