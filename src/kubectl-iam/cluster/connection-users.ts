/** Stored objects that go by a connection, by what it reads, or by the labels of their namespace. */
import type { ConnectionSpec } from "../../api/connection.ts";
import type { ConnectionRef } from "../../api/fields.ts";
import type { KindName } from "../../api/kinds.ts";
import { sourcesOf } from "../../connections/inputs.ts";
import { keyOf, keyText } from "../../kube/resource.ts";
import type { Cluster } from "./cluster.ts";
import type { FileObject } from "./given-objects.ts";
import { type AnyObject, typeOf } from "./kinds.ts";
import { notListable, readWorld } from "./read.ts";
import { belongsTo, refersTo, refsOf } from "./relations.ts";

export type StoredObject = AnyObject & FileObject;

const userKinds: readonly KindName[] = ["ServiceAccount", "PolicyBinding", "ApiKey"];

/** The users of a connection, in all namespaces for a ClusterConnection. Rejects with KubeError. */
export function usersOf(
  cluster: Cluster,
  connection: FileObject,
): Promise<readonly StoredObject[]> {
  return listUsers(cluster, connection.metadata.namespace, (account) =>
    refersTo(account, connection),
  );
}

/** The users of ClusterConnections in the namespace. Rejects with KubeError. */
export function grantedIn(cluster: Cluster, namespace: string): Promise<readonly StoredObject[]> {
  return listUsers(
    cluster,
    namespace,
    (account) => refsOf(account).connectionRef?.kind === "ClusterConnection",
  );
}

/** Accounts, and their PolicyBindings and ApiKeys. */
async function listUsers(
  cluster: Cluster,
  namespace: string | undefined,
  isUser: (account: AnyObject) => boolean,
): Promise<readonly StoredObject[]> {
  const { world, unreadable } = await readWorld(cluster, namespace, { kinds: userKinds });
  if (unreadable.length > 0) throw notListable(unreadable, namespace, undefined);
  const accounts = (world.serviceAccounts as readonly AnyObject[]).filter(isUser);
  const users = [...world.policyBindings, ...world.apiKeys].filter((user) =>
    accounts.some((account) => belongsTo(user, account)),
  );
  return [...accounts, ...users] as readonly AnyObject[] as readonly StoredObject[];
}

/** The stored connections that read the Secret or ConfigMap. Rejects with KubeError. */
export async function readersOf(
  { kube }: Cluster,
  source: FileObject,
  operatorNamespace: string,
): Promise<readonly StoredObject[]> {
  const { namespace } = source.metadata;
  const list = async (kind: ConnectionRef["kind"], within?: string) =>
    (await kube.list(typeOf(kind), { namespace: within })).map((each) => ({ ...each, kind }));
  const lists = await Promise.all([
    list("Connection", namespace),
    namespace === operatorNamespace ? list("ClusterConnection") : [],
  ]);
  const stored = lists.flat() as readonly AnyObject[] as readonly StoredObject[];
  return stored.filter((each) => reads(each, source, operatorNamespace));
}

/** Whether the connection reads the Secret or ConfigMap. */
export function reads(
  { kind, metadata, spec }: FileObject,
  source: FileObject,
  operatorNamespace: string,
): boolean {
  const namespace = kind === "Connection" ? (metadata.namespace ?? "") : operatorNamespace;
  return sourcesOf(spec as ConnectionSpec, namespace).some(
    (each) => each?.kind === source.kind && keyText(each.at) === keyText(keyOf(source)),
  );
}
