/** `listServiceAccounts`. */
import type { Invocation } from "../../cli/command.ts";
import { openConsole } from "../../console/session.ts";
import { printTable } from "../../view/output.ts";

export async function run(invocation: Invocation): Promise<void> {
  await using session = await openConsole(invocation, "user");
  await printTable(invocation, {
    rows: await session.client.listServiceAccounts(),
    columns: [
      { title: "SA-ID", cell: ({ saId }) => saId },
      { title: "NAME", cell: ({ name }) => name ?? "" },
      { title: "STATUS", cell: ({ status }) => status ?? "" },
      { title: "PROJECT", cell: ({ projectId }) => projectId ?? "" },
      { title: "TPN", cell: ({ tpn }) => tpn ?? "", wide: true },
      { title: "DESCRIPTION", cell: ({ description }) => description ?? "", flexible: true },
    ],
    empty: "The console lists no service accounts.",
  });
}
