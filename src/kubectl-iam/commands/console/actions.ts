/** `searchActions`. */

import { readListing } from "../../../console/wire/listing.ts";
import type { Invocation } from "../../cli/command.ts";
import { openConsole } from "../../console/session.ts";
import { isStructured, printTable, printValue } from "../../view/output.ts";

/** The largest page that the console's documentation allows. */
const PAGE_SIZE = 1_000;

export async function run(invocation: Invocation): Promise<void> {
  const { io, options, args } = invocation;
  await using session = await openConsole(invocation, "either");
  const found = await session.client.searchActions({
    q: args[0] ?? "",
    pageSize: PAGE_SIZE,
    key: session.key,
  });
  const wanted = options.actionClass?.toLowerCase();
  const rows = found.filter(
    ({ actionClass }) => wanted === undefined || actionClass?.toLowerCase() === wanted,
  );
  if (isStructured(invocation)) {
    const ids = new Set(rows.map(({ actionId }) => actionId));
    const { records } = readListing(session.answers.at(-1)?.json ?? null);
    const items = records.filter((each) =>
      ids.has((each as { readonly actionId: string }).actionId),
    );
    await printValue(invocation, { items });
  } else
    await printTable(invocation, {
      rows,
      columns: [
        { title: "ACTION", cell: ({ actionId }) => actionId },
        { title: "CLASS", cell: ({ actionClass }) => actionClass ?? "" },
      ],
      empty: `No action of the catalogue matches "${args[0]}".`,
    });
  if (found.length === PAGE_SIZE)
    io.note(
      `These are the first ${PAGE_SIZE} that the console found: search for something longer.`,
    );
}
