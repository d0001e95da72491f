/** `quotas`: prints the quotas of ResourceQuotaExports as bars. */
import type { ResourceQuotaExport } from "../../api/resource-quota-export.ts";
import { type Instant, parseDuration, parseInstant } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { openCluster, scopeOf } from "../cluster/cluster.ts";
import { type AnyObject, commandAbout, nameOf } from "../cluster/kinds.ts";
import { readWorld } from "../cluster/read.ts";
import { isStructured } from "../view/output.ts";
import { printQuotas } from "../view/print-quotas.ts";
import { toQuotaRows } from "../view/quota-rows.ts";
import { readinessOf } from "../view/readiness.ts";
import { relative } from "../view/time.ts";

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
  for (const each of quotaExports) {
    const note = oldListing(each, cluster.now());
    if (note !== undefined) io.note(note);
  }
  const truncated = quotaExports.filter(({ status }) => status?.truncated);
  for (const { metadata, status } of truncated)
    io.note(
      `iamrq/${metadata.name} shows the first ${status?.quotas?.length} of ${status?.total} quotas; ` +
        "the metrics and kubectl iam console quotas have all of them.",
    );
}

/** The age of a listing that is older than two intervals, or after which the export was not Ready. Pure. */
export function oldListing(quotaExport: ResourceQuotaExport, now: Instant): string | undefined {
  const { spec, status } = quotaExport;
  const listedAt = parseInstant(status?.lastSuccessTime);
  if (listedAt === undefined) return undefined;
  const { ready, reason, message } = readinessOf(quotaExport as AnyObject);
  const isOld = now - listedAt > 2 * (parseDuration(spec.interval) ?? 0);
  if (ready === "True" && !isOld) return undefined;
  const what = `warning: ${nameOf(quotaExport)} listed its quotas ${relative(status?.lastSuccessTime, now)}`;
  if (ready !== "True") return `${what}. ${reason}: ${message}`;
  return spec.suspend === true
    ? `${what} and is suspended: ${commandAbout("resume", quotaExport)}`
    : `${what}, although its interval is ${spec.interval}.`;
}
