/** `listResourceQuotas`, all pages. */
import type { Invocation } from "../../cli/command.ts";
import { type ExitCode, exitCode, UsageError } from "../../cli/errors.ts";
import { openConsole } from "../../console/session.ts";
import { noteUnread } from "../../view/note-unread.ts";
import { isStructured, printTable, printValue } from "../../view/output.ts";
import { byShare, quotaColumns, toQuotaRows } from "../../view/quota-rows.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { options } = invocation;
  const { clusterId, quotaNamespace = [], quotaName = [], top } = options;
  if (clusterId === undefined)
    throw new UsageError("give --cluster-id: the number of the container cluster in the console");
  await using session = await openConsole(invocation, "either");
  const query = { clusterId, namespaces: quotaNamespace, filterNames: quotaName, key: session.key };
  const quotas = await session.client.listResourceQuotas(query);
  if (isStructured(invocation)) {
    await printValue(invocation, { items: quotas });
    return exitCode.ok;
  }
  const texts = quotas.map((quota) => ({
    ...quota,
    request: quota.displayRequest,
    limit: quota.displayLimit,
  }));
  const rows = toQuotaRows(clusterId, texts);
  await printTable(invocation, {
    rows: top === undefined ? rows : rows.toSorted(byShare).slice(0, top),
    columns: quotaColumns(rows),
    empty: "The console lists no quotas.",
  });
  noteUnread(invocation.io, texts);
  return exitCode.ok;
}
