/** `suspend` and `resume` make the same change with different values. */
import type { ApiKey } from "../../api/api-key.ts";
import { isConnectionKind } from "../../api/fields.ts";
import { isBeingDeleted } from "../../util/object-meta.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import type { Options } from "../cli/options.ts";
import { printReadiness } from "../view/readiness.ts";
import { changeOf, isToWait, makeChanges } from "./change.ts";
import { type Cluster, openCluster, scopeOf } from "./cluster.ts";
import { type AnyObject, kindNames, nameOf, typeOf } from "./kinds.ts";
import { listed } from "./listed.ts";
import { unlessForbidden } from "./read.ts";
import { parseNames, selectObjects } from "./resolve.ts";
import { pendingRotation, rotationMissing } from "./rotation.ts";
import { type Missing, unobserved, waitForAll } from "./wait.ts";

/** Connections are suspended by name only, because a suspended connection also prevents revoking access. */
const selectable = kindNames.filter((kind) => !isConnectionKind(kind));

/** Changes what others use before the others: these report its suspension as long as it lasts. */
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
    .toSorted((one, other) => rankOf(one) - rankOf(other))
    .map((object) => changeOf(object, { spec: { suspend } }, done));
  const changed = [...(await makeChanges(invocation, cluster, changes)), ...unchanged];
  const isOfAccounts = suspend && changed.some(({ kind }) => kind === "ServiceAccount");
  const apiKeys = isOfAccounts ? await rotatedKeys(cluster, objects, options) : [];
  for (const object of changed) {
    const warning = suspend ? suspendWarning(object, apiKeys) : resumeWarning(object);
    if (warning !== undefined) io.note(warning);
  }
  if (!isToWait(options)) return exitCode.ok;
  const leaving = changed.filter(isBeingDeleted);
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

/** Connections first, then accounts. */
function rankOf({ kind }: AnyObject): number {
  if (isConnectionKind(kind)) return 0;
  return kind === "ServiceAccount" ? 1 : 2;
}

/** After `resume`, the command also waits for a rotation that was requested in the meantime. */
function resumedMissing(
  cluster: Cluster,
  object: AnyObject,
): Promise<Missing | undefined> | undefined {
  return object.kind === "ApiKey" ? rotationMissing(cluster, object as ApiKey) : undefined;
}

/** What goes on although the object is suspended. `apiKeys`: those that are not suspended, unless they are not known. */
function suspendWarning(
  { kind, metadata }: AnyObject,
  apiKeys: readonly ApiKey[] | undefined,
): string | undefined {
  const name = nameOf({ kind, metadata });
  if (isConnectionKind(kind))
    return `While ${name} is suspended, revoke-access does not unbind anything.`;
  if (kind !== "ServiceAccount") return undefined;
  const goesOn = `Keys of ${name} are still issued and rotated`;
  if (apiKeys === undefined) return `${goesOn} for ApiKeys that are not suspended.`;
  const own = apiKeys.filter(
    (key) =>
      key.metadata.namespace === metadata.namespace &&
      key.spec.serviceAccountRef.name === metadata.name,
  );
  return own.length === 0
    ? undefined
    : `${goesOn}, because these ApiKeys are not suspended: ${listed(own.map(nameOf))}.`;
}

/** The ApiKeys that stay unsuspended by this command; `undefined` if they cannot be listed. */
async function rotatedKeys(
  cluster: Cluster,
  suspended: readonly AnyObject[],
  options: Options,
): Promise<readonly ApiKey[] | undefined> {
  const namespace = scopeOf(cluster, options);
  const keys = await unlessForbidden(cluster.kube.list(typeOf("ApiKey"), { namespace }));
  const uids = new Set(suspended.map((each) => each.metadata.uid));
  return keys?.filter(
    (key) => key.spec.suspend !== true && !isBeingDeleted(key) && !uids.has(key.metadata.uid),
  );
}

function resumeWarning(object: AnyObject): string | undefined {
  const requested = object.kind === "ApiKey" ? pendingRotation(object as ApiKey) : undefined;
  return (
    requested &&
    `A rotation of ${nameOf(object)} was requested${requested.text}: its key is replaced unless something else stops that.`
  );
}
