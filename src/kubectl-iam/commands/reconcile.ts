/** `reconcile`: requests a reconcile of objects now. */
import { annotations } from "../../api/meta.ts";
import { toMicroTime } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { makeChanges } from "../cluster/change.ts";
import { openCluster } from "../cluster/cluster.ts";
import { type KindName, kindNames, parseObjectName, toText } from "../cluster/kinds.ts";
import { changeOf } from "../cluster/our-change.ts";
import { selectObjects } from "../cluster/read.ts";
import { waitFor } from "../cluster/wait.ts";
import { readinessOf } from "../view/readiness.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const names = args.map((arg) => parseObjectName(arg));
  await using cluster = await openCluster(io, options);
  const namespaced = kindNames.filter((kind) => kind !== "ClusterConnection");
  const objects = await selectObjects(cluster, names, namespaced, options);
  const token = toMicroTime(io.clock.now());
  const patch = { metadata: { annotations: { [annotations.reconcileRequestedAt]: token } } };
  const changes = objects.map((object) => changeOf(object, patch, "reconcile requested"));
  await makeChanges(invocation, cluster, changes);
  if (options.dryRun || !options.wait) return exitCode.ok;
  let code: ExitCode = exitCode.ok;
  for (const object of objects) {
    const now = await waitFor(invocation, cluster, object, ({ status }) =>
      status?.lastHandledReconcileAt === token ? undefined : "waiting for the operator",
    );
    const { ready, reason, message } = readinessOf(now);
    const about = toText({ kind: now.kind as KindName, name: now.metadata.name });
    io.print(`${about} Ready=${ready} ${reason}: ${message}`);
    if (ready !== "True") code = exitCode.problem;
  }
  return code;
}
