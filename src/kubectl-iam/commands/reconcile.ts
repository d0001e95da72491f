/** `reconcile`: requests a reconcile of objects now. */
import { annotations } from "../../api/meta.ts";
import { toMicroTime } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { isToWait, makeChanges } from "../cluster/change.ts";
import { openCluster } from "../cluster/cluster.ts";
import { namespacedKindNames } from "../cluster/kinds.ts";
import { changeOf } from "../cluster/our-change.ts";
import { selectObjects } from "../cluster/read.ts";
import { parseNames, resolveNames } from "../cluster/resolve.ts";
import { waitForAll } from "../cluster/wait.ts";
import { printReadiness } from "../view/print-readiness.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const given = parseNames(args);
  await using cluster = await openCluster(io, options);
  const names = await resolveNames(cluster, given);
  const objects = await selectObjects(cluster, names, namespacedKindNames, options);
  const token = toMicroTime(io.clock.now());
  const patch = { metadata: { annotations: { [annotations.reconcileRequestedAt]: token } } };
  const changes = objects.map((object) => changeOf(object, patch, "reconcile requested"));
  await makeChanges(invocation, cluster, changes);
  if (!isToWait(options)) return exitCode.ok;
  return await waitForAll(invocation, cluster, objects, {
    findMissing: ({ status }) =>
      status?.lastHandledReconcileAt === token ? undefined : { text: "waiting for the operator" },
    done: (object) => printReadiness(io, object),
  });
}
