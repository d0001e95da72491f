/** `suspend` and `resume` are one change with two values. */
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode, UsageError } from "../cli/errors.ts";
import { makeChanges } from "./change.ts";
import { openCluster } from "./cluster.ts";
import { type KindName, kindNames, parseObjectName } from "./kinds.ts";
import { changeOf } from "./our-change.ts";
import { selectObjects } from "./read.ts";

const suspendable = kindNames.filter((kind) => !isConnection(kind));

export async function setSuspend(invocation: Invocation, suspend: boolean): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const names = args.map((arg) => parseObjectName(arg));
  if (names.some(({ kind }) => isConnection(kind)))
    throw new UsageError("a connection cannot be suspended: suspend the objects that use it");
  await using cluster = await openCluster(io, options);
  const objects = await selectObjects(cluster, names, suspendable, options);
  const done = suspend ? "suspended" : "resumed";
  const changes = objects.map((object) => changeOf(object, { spec: { suspend } }, done));
  await makeChanges(invocation, cluster, changes);
  return exitCode.ok;
}

function isConnection(kind: KindName): boolean {
  return kind === "Connection" || kind === "ClusterConnection";
}
