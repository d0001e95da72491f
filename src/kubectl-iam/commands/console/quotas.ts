/** `listResourceQuotas`, all pages. */
import type { Invocation } from "../../cli/command.ts";
import { UsageError } from "../../cli/errors.ts";
import { openConsole } from "../../console/session.ts";
import { isStructured, printValue } from "../../view/output.ts";
import { printQuotas } from "../../view/print-quotas.ts";
import { toQuotaRows } from "../../view/quota-rows.ts";

export async function run(invocation: Invocation): Promise<void> {
  const { options } = invocation;
  const { clusterId, quotaNamespace = [], quotaName = [] } = options;
  if (clusterId === undefined)
    throw new UsageError("give --cluster-id: the number of the container cluster in the console");
  await using session = await openConsole(invocation, "either");
  const query = { clusterId, namespaces: quotaNamespace, filterNames: quotaName, key: session.key };
  const quotas = await session.client.listResourceQuotas(query);
  if (isStructured(invocation)) return await printValue(invocation, { items: quotas });
  const texts = quotas.map((quota) => ({
    ...quota,
    request: quota.displayRequest,
    limit: quota.displayLimit,
  }));
  const rows = toQuotaRows(clusterId, texts);
  await printQuotas(invocation, { rows, texts, empty: "The console lists no quotas." });
}
