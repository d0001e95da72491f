/** What a replacement decides by: the objects of the namespace, and a read of what is bound to the account now. */
import type { KindName } from "../../api/kinds.ts";
import { annotations } from "../../api/meta.ts";
import { isPlanOnly } from "../../api/plan-only.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { toMicroTime } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { exitCode } from "../cli/errors.ts";
import { isCurrent, isGone } from "../cluster/bound-policies.ts";
import { reportedCauseOfDelay } from "../cluster/chain.ts";
import { changeOf, isToWait, makeChanges } from "../cluster/change.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { type AnyObject, nameOf } from "../cluster/kinds.ts";
import { notListable, readObject, readWorld } from "../cluster/read.ts";
import { waitForAll } from "../cluster/wait.ts";
import { readinessOf } from "../view/readiness.ts";
import { bindingsOf, notRead, type Objects } from "./plan.ts";

const KINDS: readonly KindName[] = ["ServiceAccount", "PolicyBinding", "ApiKey"];

/** Rejects with KubeError, even if only one kind cannot be listed. */
export async function readNamespace(cluster: Cluster): Promise<Objects> {
  const { world, unreadable } = await readWorld(cluster, cluster.namespace, { kinds: KINDS });
  if (unreadable.length > 0) throw notListable(unreadable, cluster.namespace, undefined);
  return world;
}

/**
 * The account and the objects, after the operator has read what is bound to the account: the status can be minutes old,
 * and the revocation unbinds everything. Throws UsageError if the operator does not read it, and Failure if no read comes
 * in time.
 */
export async function readAccount(
  invocation: Invocation,
  cluster: Cluster,
  account: ServiceAccount,
): Promise<readonly [ServiceAccount, Objects]> {
  const objects = await readNamespace(cluster);
  if (!needsRead(account, invocation)) return [account, objects];
  const now = await awaitRead(invocation, cluster, account, objects);
  return [now, await readNamespace(cluster)];
}

/** Whether the command decides by what is bound in the console. */
function needsRead(account: ServiceAccount, { options }: Invocation): boolean {
  const isBound = account.status?.saId !== undefined && account.spec.access !== "Revoked";
  const isOnlyShown = options.export === true || !isToWait(options);
  return isBound && !isGone(account) && options.withoutForeign !== true && !isOnlyShown;
}

/** One PolicyBinding is enough, since the operator reads what is bound to the whole account. */
async function awaitRead(
  invocation: Invocation,
  cluster: Cluster,
  account: ServiceAccount,
  objects: Objects,
): Promise<ServiceAccount> {
  const { name } = account.metadata;
  const [binding] = bindingsOf(name, objects);
  if (binding === undefined) throw notRead(account, "no PolicyBinding names it.");
  const token = toMicroTime(invocation.io.clock.now());
  const patch = { metadata: { annotations: { [annotations.reconcileRequestedAt]: token } } };
  const change = changeOf(binding as AnyObject, patch, "reconcile requested");
  const changed = await makeChanges(invocation, cluster, [change]);
  await waitForAll(invocation, cluster, changed, {
    findMissing: async (now) => {
      if (now.status?.lastHandledReconcileAt === token) return undefined;
      const { text } = await reportedCauseOfDelay(cluster, now);
      return {
        text: `the policies of ${nameOf(account)} are not read yet (--without-foreign goes on without a read): ${text}`,
      };
    },
    done: () => exitCode.ok,
  });
  const [current, handled] = await Promise.all([
    readObject(cluster, "ServiceAccount", name),
    readObject(cluster, "PolicyBinding", binding.metadata.name),
  ]);
  const isPaused = current.spec.suspend === true || isPlanOnly(current);
  if (isGone(current) || (!isPaused && isCurrent(current, [handled]))) return current;
  const { reason, message } = readinessOf(handled);
  throw notRead(current, `${reason}: ${message}`);
}
