/** `wait`: waits until objects are ready. */
import type { Invocation } from "../cli/command.ts";
import type { ExitCode } from "../cli/errors.ts";
import { readinessMissing } from "../cluster/chain.ts";
import { openCluster } from "../cluster/cluster.ts";
import { namespacedKindNames } from "../cluster/kinds.ts";
import { parseNames, selectObjects } from "../cluster/resolve.ts";
import { waitForAll } from "../cluster/wait.ts";
import { printReadiness } from "../view/readiness.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const given = parseNames(args);
  await using cluster = await openCluster(io, options);
  const objects = await selectObjects(cluster, given, namespacedKindNames, options);
  return await waitForAll(invocation, cluster, objects, {
    findMissing: (object) => readinessMissing(cluster, object),
    done: (object) => printReadiness(io, object),
  });
}
