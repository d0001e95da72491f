/** `suspend` and `resume` make the same change with different values. */
import type { ApiKey } from "../../api/api-key.ts";
import { isConnectionKind } from "../../api/fields.ts";
import type { KindName } from "../../api/kinds.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { printReadiness } from "../view/readiness.ts";
import { changeOf, isToWait, makeChanges } from "./change.ts";
import { type Cluster, openCluster } from "./cluster.ts";
import { type AnyObject, kindNames, nameOf } from "./kinds.ts";
import { parseNames, selectObjects } from "./resolve.ts";
import { pendingRotation, rotationMissing } from "./rotation.ts";
import { type Missing, unobserved, waitForAll } from "./wait.ts";

/** Connections are suspended by name only, because a suspended connection also prevents revoking access. */
const selectable = kindNames.filter((kind) => !isConnectionKind(kind));

export async function setSuspend(invocation: Invocation, suspend: boolean): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const given = parseNames(args);
  await using cluster = await openCluster(io, options);
  const objects = await selectObjects(cluster, given, selectable, options);
  const done = suspend ? "suspended" : "resumed";
  const changes = objects.map((object) => changeOf(object, { spec: { suspend } }, done));
  const changed = await makeChanges(invocation, cluster, changes);
  for (const object of changed) {
    const warning = warningFor(object, suspend);
    if (warning !== undefined) io.note(warning);
  }
  if (!isToWait(options)) return exitCode.ok;
  const leaving = changed.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  if (!suspend)
    for (const object of leaving)
      io.note(`${nameOf(object)} is being deleted; its deletion goes on.`);
  const staying = changed.filter((object) => !leaving.includes(object));
  return await waitForAll(invocation, cluster, staying, {
    findMissing: (object, before) =>
      unobserved(object, before) ?? (suspend ? undefined : resumedMissing(cluster, object)),
    done: (object) => (suspend ? exitCode.ok : printReadiness(io, object)),
  });
}

/** After `resume`, the command also waits for a rotation that was requested in the meantime. */
function resumedMissing(
  cluster: Cluster,
  object: AnyObject,
): Promise<Missing | undefined> | undefined {
  return object.kind === "ApiKey" ? rotationMissing(cluster, object as ApiKey) : undefined;
}

const suspendWarnings: Partial<Record<KindName, (name: string) => string>> = {
  ServiceAccount: (name) =>
    `The ApiKeys of ${name} are not suspended: their keys are still issued and rotated.`,
  Connection: withoutCalls,
  ClusterConnection: withoutCalls,
};

function withoutCalls(name: string): string {
  return `While ${name} is suspended, revoke-access does not unbind anything.`;
}

function warningFor(object: AnyObject, suspend: boolean): string | undefined {
  if (suspend) return suspendWarnings[object.kind as KindName]?.(nameOf(object));
  const requested = object.kind === "ApiKey" ? pendingRotation(object as ApiKey) : undefined;
  return (
    requested &&
    `A rotation of ${nameOf(object)} was requested${requested.text}: its key is replaced next.`
  );
}
