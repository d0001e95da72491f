/** `suspend` and `resume` make the same change with different values. */
import type { ApiKey } from "../../api/api-key.ts";
import { isConnectionKind } from "../../api/fields.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { printReadiness } from "../view/readiness.ts";
import { changeOf, isToWait, makeChanges } from "./change.ts";
import { type Cluster, openCluster } from "./cluster.ts";
import { type AnyObject, kindNames, nameOf, typeOf } from "./kinds.ts";
import { listed } from "./listed.ts";
import { unlessForbidden } from "./read.ts";
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
  const [done, already] = suspend
    ? ["suspended", "is already suspended"]
    : ["resumed", "is not suspended"];
  const unchanged = objects.filter(({ spec }) => (spec?.suspend === true) === suspend);
  for (const object of unchanged) io.note(`${nameOf(object)} ${already}`);
  const changes = objects
    .filter((object) => !unchanged.includes(object))
    .map((object) => changeOf(object, { spec: { suspend } }, done));
  const changed = [...(await makeChanges(invocation, cluster, changes)), ...unchanged];
  for (const object of changed) {
    const warning = suspend
      ? await suspendWarning(cluster, object, objects)
      : resumeWarning(object);
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

/** What goes on although the object is suspended. `suspended`: the objects that this command suspends. */
async function suspendWarning(
  cluster: Cluster,
  object: AnyObject,
  suspended: readonly AnyObject[],
): Promise<string | undefined> {
  const name = nameOf(object);
  if (isConnectionKind(object.kind))
    return `While ${name} is suspended, revoke-access does not unbind anything.`;
  if (object.kind !== "ServiceAccount") return undefined;
  const keys = await rotatedKeysOf(cluster, object, suspended);
  const goesOn = `Keys of ${name} are still issued and rotated`;
  if (keys === undefined) return `${goesOn} for ApiKeys that are not suspended.`;
  return keys.length === 0
    ? undefined
    : `${goesOn}, because these ApiKeys are not suspended: ${listed(keys.map(nameOf))}.`;
}

/** The ApiKeys of the account that are not suspended; `undefined` if they cannot be listed. */
async function rotatedKeysOf(
  { kube }: Cluster,
  { metadata }: AnyObject,
  suspended: readonly AnyObject[],
): Promise<readonly ApiKey[] | undefined> {
  const { name, namespace } = metadata;
  const keys = await unlessForbidden(kube.list(typeOf("ApiKey"), { namespace }));
  const uids = new Set(suspended.map((each) => each.metadata.uid));
  return keys?.filter(
    (key) =>
      key.spec.serviceAccountRef.name === name &&
      key.spec.suspend !== true &&
      key.metadata.deletionTimestamp === undefined &&
      !uids.has(key.metadata.uid),
  );
}

function resumeWarning(object: AnyObject): string | undefined {
  const requested = object.kind === "ApiKey" ? pendingRotation(object as ApiKey) : undefined;
  return (
    requested &&
    `A rotation of ${nameOf(object)} was requested${requested.text}: its key is replaced next.`
  );
}
