/** `reconcile`: requests a reconcile of objects now. */
import { annotations } from "../../api/meta.ts";
import { toMicroTime } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { reportedCauseOfDelay } from "../cluster/chain.ts";
import { changeOf } from "../cluster/change.ts";
import { type Cluster, openCluster } from "../cluster/cluster.ts";
import { type AnyObject, nameOf, namespacedKindNames } from "../cluster/kinds.ts";
import { parseNames, selectObjects } from "../cluster/resolve.ts";
import { changeAndWait, type Missing } from "../cluster/wait.ts";
import { blockBesideReady } from "../cluster/why-delayed.ts";
import { printReadiness } from "../view/readiness.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const given = parseNames(args);
  await using cluster = await openCluster(io, options);
  const objects = await selectObjects(cluster, given, namespacedKindNames, options);
  const token = toMicroTime(io.clock.now());
  const patch = { metadata: { annotations: { [annotations.reconcileRequestedAt]: token } } };
  const changes = objects.map((object) => changeOf(object, patch, "reconcile requested"));
  return await changeAndWait(invocation, cluster, changes, {
    findMissing: (now) =>
      now.status?.lastHandledReconcileAt === token ? undefined : delayOf(cluster, now),
    done: (object) => {
      const code = printReadiness(io, object);
      const block = code === exitCode.ok ? blockBesideReady(object) : undefined;
      if (block !== undefined)
        io.print(`${nameOf(object)} ${block.type}=False ${block.reason}: ${block.message}`);
      return code;
    },
  });
}

/** Never final: the request may be the way out of what the object reports. */
async function delayOf(cluster: Cluster, object: AnyObject): Promise<Missing> {
  const { text } = await reportedCauseOfDelay(cluster, object);
  return { text };
}
