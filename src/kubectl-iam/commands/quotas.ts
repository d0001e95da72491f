/** `quotas`: what ResourceQuotaExports have listed, as bars. */
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { openCluster, scopeOf } from "../cluster/cluster.ts";
import { readWorld } from "../cluster/read.ts";
import { printTable } from "../view/output.ts";
import { byShare, quotaColumns, toQuotaRows } from "../view/quota-rows.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options } = invocation;
  await using cluster = await openCluster(io, options);
  const { quotaExports } = await readWorld(cluster, scopeOf(cluster, options), options.selector);
  const rows = quotaExports.flatMap(({ spec, status }) =>
    toQuotaRows(spec.clusterId, status?.quotas ?? []),
  );
  await printTable(invocation, {
    rows: options.top === undefined ? rows : rows.toSorted(byShare).slice(0, options.top),
    columns: quotaColumns(rows),
    empty: "No ResourceQuotaExport here has listed any quota.",
  });
  const cutShort = quotaExports.filter(({ status }) => status?.truncated);
  for (const { metadata, status } of cutShort)
    io.note(
      `iamrq/${metadata.name} shows the first ${status?.quotas?.length} of ${status?.total} quotas; ` +
        "the metrics and kubectl iam console quotas have all of them.",
    );
  return exitCode.ok;
}
