/** [L6] A deletion gives up a key that works only at its deadline, if its connection names a call that ends keys. */

import { blockedSince, CLEANUP_PATIENCE_MS } from "../../../src/reconciler/rules/cleanup.ts";
import { clusterConnectionType } from "../../../src/resources/resource-types.ts";
import { parseInstant, SECOND } from "../../../src/util/time.ts";
import type { Tree } from "../../api-server/tree.ts";
import { treeAt } from "../../api-server/tree.ts";
import type { SimWorld } from "../sim-world.ts";
import { hasLaggingLists } from "./evidence.ts";
import { accountsOf, asApiKey, placeOf, type StoredApiKey } from "./view.ts";
import type { CreateWatcher } from "./watcher.ts";

export const keysGivenUpInTime: CreateWatcher = (world, { widestSkew }) => ({
  onChange: ({ change, byOperator }) => {
    if (!byOperator || change.kind.type.kind !== "ApiKey" || change.type !== "DELETED")
      return undefined;
    if (hasLaggingLists(world)) return undefined;
    const apiKey = asApiKey(change.object);
    if (apiKey.spec.secret?.deletionPolicy === "Retain" || !canEndKeys(world, apiKey))
      return undefined;
    const since = blockedSince(apiKey) ?? Number.POSITIVE_INFINITY;
    // Times are written in whole seconds, by a clock that may be off.
    const isOver = world.kernel.now >= since + CLEANUP_PATIENCE_MS - SECOND - widestSkew;
    if (isOver || isAnswered(world, apiKey)) return undefined;
    const working = keyIdsOf(apiKey).find((keyId) => works(world, keyId));
    return working && `${placeOf(apiKey)} is gone, and ${working} was given up before the deadline`;
  },
});

function works(world: SimWorld, keyId: string): boolean {
  return world.console.world.whyKeyIsRefused(keyId) === undefined;
}

function keyIdsOf({ status }: StoredApiKey): readonly string[] {
  const { current, superseded = [] } = status ?? {};
  const live = superseded.filter(({ state }) => state === "Live");
  return [current, ...live].flatMap((key) => key?.keyId ?? []);
}

/** What the console has answered to a call for an end counts, true or not. */
function isAnswered(world: SimWorld, { metadata }: StoredApiKey): boolean {
  const { elapsed, now } = world.kernel;
  const deletedAt = elapsed - (now - (parseInstant(metadata.deletionTimestamp) ?? now));
  return world.journal.calls.some(
    ({ operation, outcome = "", sentAt }) =>
      (operation === "disableKey" || operation === "deleteKey") &&
      sentAt >= deletedAt - SECOND &&
      /^[2-4]/.test(outcome),
  );
}

function canEndKeys(world: SimWorld, { metadata, spec, status }: StoredApiKey): boolean {
  const { current } = status ?? {};
  const name = current?.serviceAccount ?? spec.serviceAccountRef.name;
  const account = accountsOf(world).find(
    (each) => each.metadata.name === name && each.metadata.namespace === metadata.namespace,
  );
  if (current === undefined || account?.status?.saId !== current.saId) return false;
  const ref = account?.spec.connectionRef;
  if (ref?.kind !== "ClusterConnection" || account?.status?.ownership !== "Owned") return false;
  const connection: Tree = world.get(clusterConnectionType, ref.name) ?? {};
  const { disableKey, deleteKey } = treeAt(treeAt(connection, "spec"), "extraCalls");
  return (disableKey ?? deleteKey) !== undefined;
}
