/** `quotas`: prints the quotas of ResourceQuotaExports as bars. */
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { openCluster, scopeOf } from "../cluster/cluster.ts";
import { readWorld } from "../cluster/read.ts";
import { noteUnread } from "../view/note-unread.ts";
import { isStructured, printTable } from "../view/output.ts";
import { byShare, quotaColumns, toQuotaRows } from "../view/quota-rows.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options } = invocation;
  await using cluster = await openCluster(io, options);
  const { world } = await readWorld(cluster, scopeOf(cluster, options), {
    kinds: ["ResourceQuotaExport"],
    labelSelector: options.selector,
  });
  const { quotaExports } = world;
  const rows = quotaExports.flatMap(({ metadata, spec, status }) =>
    toQuotaRows(spec.clusterId, status?.quotas ?? [], metadata.name),
  );
  await printTable(invocation, {
    rows: options.top === undefined ? rows : rows.toSorted(byShare).slice(0, options.top),
    columns: quotaColumns(rows),
    empty: "No ResourceQuotaExport here has listed any quota.",
  });
  const [only, ...others] = quotaExports;
  if (only !== undefined && others.length === 0 && !isStructured(invocation))
    io.note(`Listed by iamrq/${only.metadata.name} of cluster ${only.spec.clusterId}.`);
  noteUnread(
    io,
    quotaExports.flatMap(({ status }) => status?.quotas ?? []),
  );
  const truncated = quotaExports.filter(({ status }) => status?.truncated);
  for (const { metadata, status } of truncated)
    io.note(
      `iamrq/${metadata.name} shows the first ${status?.quotas?.length} of ${status?.total} quotas; ` +
        "the metrics and kubectl iam console quotas have all of them.",
    );
  return exitCode.ok;
}
