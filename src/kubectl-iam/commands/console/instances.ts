/** `listInstances`, all pages. */

import type { Json } from "../../../console/model.ts";
import { isJsonObject } from "../../../console/wire/json.ts";
import { ownEntry } from "../../../util/own-entry.ts";
import type { Invocation } from "../../cli/command.ts";
import { UsageError } from "../../cli/errors.ts";
import { type ConsoleSession, openConsole } from "../../console/session.ts";
import { printTable } from "../../view/output.ts";

const PAGE_SIZE = 100;
const MOST_PAGES = 1_000;

export async function run(invocation: Invocation): Promise<void> {
  await using session = await openConsole(invocation, "key");
  await printTable(invocation, {
    rows: await readInstances(session),
    columns: [
      { title: "INSTANCE", cell: (record) => text(record, ["instanceId", "id"]) },
      { title: "NAME", cell: (record) => text(record, ["name"]) },
      { title: "STATUS", cell: (record) => text(record, ["status"]) },
      { title: "PROJECT", cell: (record) => text(record, ["projectId"]) },
      { title: "PARTITION", cell: (record) => text(record, ["partitionId"]) },
    ],
    empty: "The console lists no instances for this key.",
  });
}

/** The documentation does not show the response, so a page that is not full counts as the last page. */
async function readInstances({ client, key }: ConsoleSession): Promise<readonly Json[]> {
  if (key === undefined) throw new UsageError("an API key is needed");
  const all: Json[] = [];
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const records = await client.listInstances({ page, pageSize: PAGE_SIZE, key });
    all.push(...records);
    if (records.length < PAGE_SIZE) break;
  }
  return all;
}

function text(record: Json, names: readonly string[]): string {
  if (!isJsonObject(record)) return "";
  const value = names
    .map((name) => ownEntry(record, name))
    .find((each) => typeof each === "string");
  return typeof value === "string" ? value : "";
}
