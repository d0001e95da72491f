/** The objects that a change of a connection concerns. */
import type { KindName } from "../../api/kinds.ts";
import { isKubeError } from "../../kube/errors.ts";
import { type KubeObject, keyOf, keyText } from "../../kube/resource.ts";
import type { Cluster } from "./cluster.ts";
import type { FileObject } from "./given-objects.ts";
import { type AnyObject, nameOf } from "./kinds.ts";
import { notListable, readWorld } from "./read.ts";
import { belongsTo, refersTo } from "./relations.ts";

export type StoredUser = AnyObject & FileObject;

interface Users {
  readonly users: readonly StoredUser[];
  /** A line for each connection whose users cannot be listed. */
  readonly unlisted: readonly string[];
}

/** The users of connections, without those among `given`. Rejects with KubeError. */
export async function usersOfConnections(
  cluster: Cluster,
  connections: readonly FileObject[],
  given: readonly FileObject[],
): Promise<Users> {
  const ids = new Set(given.map(idOf));
  const all = await Promise.all(connections.map((each) => usersOf(cluster, each)));
  return {
    users: all.flatMap(({ users }) => users).filter((user) => !ids.has(idOf(user))),
    unlisted: all.flatMap(({ unlisted }) => unlisted),
  };
}

async function usersOf(cluster: Cluster, connection: FileObject): Promise<Users> {
  try {
    return { users: await listUsers(cluster, connection), unlisted: [] };
  } catch (error) {
    if (!isKubeError(error, "Forbidden")) throw error;
    const line = `error: ${nameOf(connection)}: what would change for the objects that use it is unknown: ${error.message}`;
    return { users: [], unlisted: [line] };
  }
}

const kinds: readonly KindName[] = ["ServiceAccount", "PolicyBinding", "ApiKey"];

/** The accounts, and their PolicyBindings and ApiKeys, in all namespaces for a ClusterConnection. */
async function listUsers(cluster: Cluster, connection: FileObject): Promise<readonly StoredUser[]> {
  const { namespace } = connection.metadata;
  const { world, unreadable } = await readWorld(cluster, namespace, { kinds });
  if (unreadable.length > 0) throw notListable(unreadable, namespace, undefined);
  const accounts = world.serviceAccounts.filter((each) => refersTo(each, connection));
  const users = [...world.policyBindings, ...world.apiKeys].filter((user) =>
    accounts.some((account) => belongsTo(user, account)),
  );
  return [...accounts, ...users] as readonly AnyObject[] as readonly StoredUser[];
}

function idOf(object: KubeObject): string {
  return `${object.kind} ${keyText(keyOf(object))}`;
}
