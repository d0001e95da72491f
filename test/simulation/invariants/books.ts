/** [S5] The books balance: the console against what the statuses name. */
import { isTree, type Json, listAt, textAt, treeAt } from "../../support/api-server/tree.ts";
import type { SimWorld } from "../sim-world.ts";
import type { EndCheck } from "./at-rest.ts";
import { accountsOf, apiKeysOf, issuerOf, placeOf } from "./view.ts";

/**
 * Every live key that the operator issued for an account of an object, and every account that it created for an object
 * that is still there, is named by a status.
 */
export const booksBalance: EndCheck = ({ world }) => {
  if (world.hasMeddled) return undefined;
  const named = namedIn(world);
  const lost = [...liveKeys(world), ...madeAccounts(world)].filter((id) => !named.has(id));
  return lost.length === 0 ? undefined : `no status names ${lost.join(", ")}`;
};

function liveKeys(world: SimWorld): readonly string[] {
  const { keys } = world.console.world;
  const accounts = new Set(accountsOf(world).map(({ status }) => status?.saId));
  const attempts = new Set(
    apiKeysOf(world).flatMap(({ status }) =>
      (status?.orphaned ?? [])
        .filter(({ keyId }) => keyId === undefined)
        .map((each) => each.attemptId),
    ),
  );
  return [...keys.values()]
    .filter(({ saId, status, expirationTime, description }) => {
      const issuer = issuerOf(description);
      const isLive = status === "active" && world.kernel.now < expirationTime;
      return isLive && accounts.has(saId) && issuer !== undefined && !attempts.has(issuer.attempt);
    })
    .map(({ keyId }) => keyId);
}

function madeAccounts(world: SimWorld): readonly string[] {
  const places = new Set(accountsOf(world).map(placeOf));
  return [...world.console.world.accounts.values()]
    .filter(({ description }) => places.has(issuerOf(description)?.key ?? ""))
    .map(({ saId }) => saId);
}

/** Lists of what the console shows name nothing: they say what there is, not whose it is. */
function namedIn(world: SimWorld): ReadonlySet<string> {
  const statuses = world.kube.storage.all
    .filter(({ kind }) => kind.custom)
    .map(({ object }) => treeAt(object, "status"));
  return new Set(
    statuses.flatMap((status) => [
      textAt(status, "saId") ?? "",
      textAt(treeAt(status, "current"), "keyId") ?? "",
      ...NAMING.flatMap((list) => listAt(status, list).flatMap(idsOf)),
    ]),
  );
}

const NAMING = ["superseded", "orphaned", "unmanagedKeys", "orphanedAccounts"];

function idsOf(entry: Json): readonly string[] {
  if (typeof entry === "string") return [entry];
  return isTree(entry) ? [textAt(entry, "keyId") ?? "", textAt(entry, "saId") ?? ""] : [];
}
