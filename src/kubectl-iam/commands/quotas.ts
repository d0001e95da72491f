/** `quotas`: prints the quotas of ResourceQuotaExports as bars. */
import type { Invocation } from "../cli/command.ts";
import { openCluster, scopeOf } from "../cluster/cluster.ts";
import { readWorld } from "../cluster/read.ts";
import { isStructured } from "../view/output.ts";
import { printQuotas } from "../view/print-quotas.ts";
import { toQuotaRows } from "../view/quota-rows.ts";

export async function run(invocation: Invocation): Promise<void> {
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
  const texts = quotaExports.flatMap(({ status }) => status?.quotas ?? []);
  const empty = "No ResourceQuotaExport here has listed any quota.";
  await printQuotas(invocation, { rows, texts, empty });
  const [only, ...others] = quotaExports;
  const isListed = only?.status?.lastSuccessTime !== undefined;
  if (isListed && others.length === 0 && !isStructured(invocation))
    io.note(`Listed by iamrq/${only.metadata.name} of cluster ${only.spec.clusterId}.`);
  const truncated = quotaExports.filter(({ status }) => status?.truncated);
  for (const { metadata, status } of truncated)
    io.note(
      `iamrq/${metadata.name} shows the first ${status?.quotas?.length} of ${status?.total} quotas; ` +
        "the metrics and kubectl iam console quotas have all of them.",
    );
}
