/** Stored objects that go by another object. */

import type { ApiKey } from "../../api/api-key.ts";
import type { ConnectionSpec } from "../../api/connection.ts";
import type { ConnectionRef } from "../../api/fields.ts";
import type { KindName } from "../../api/kinds.ts";
import { targetSecretName } from "../../api/secret-names.ts";
import { sourcesOf } from "../../connections/inputs.ts";
import { keyOf, keyText } from "../../kube/resource.ts";
import type { Cluster } from "./cluster.ts";
import type { FileObject } from "./given-objects.ts";
import { type AnyObject, typeOf } from "./kinds.ts";
import { notListable, readUsers, readWorld } from "./read.ts";
import { belongsTo, refersTo, refsOf } from "./relations.ts";

export type StoredObject = AnyObject & FileObject;

type Listing = Promise<readonly StoredObject[]>;

/** Objects for which the operator may do something else if the object changes. Rejects with KubeError. */
export async function usersOf(cluster: Cluster, object: FileObject): Listing {
  const { kind, metadata } = object;
  switch (kind) {
    case "ClusterConnection":
    case "Connection":
      return usersWhere(cluster, metadata.namespace, (user) => refersTo(user, object));
    case "Namespace":
      return usersWhere(
        cluster,
        metadata.name,
        (user) => refsOf(user).connectionRef?.kind === "ClusterConnection",
      );
    case "ServiceAccount":
      return usersOfAccount(cluster, metadata.namespace, metadata.name);
    case "PolicyBinding":
      return usersOfAccount(cluster, metadata.namespace, refsOf(object).serviceAccountRef?.name);
    case "Secret":
      return apiKeysOf(cluster, object);
    default:
      return [];
  }
}

const userKinds: readonly KindName[] = [
  "ServiceAccount",
  "PolicyBinding",
  "ApiKey",
  "ResourceQuotaExport",
];

/** Accounts, their PolicyBindings and ApiKeys, and exports. */
async function usersWhere(
  cluster: Cluster,
  namespace: string | undefined,
  refersToIt: (user: AnyObject) => boolean,
): Listing {
  const { world, unreadable } = await readWorld(cluster, namespace, { kinds: userKinds });
  if (unreadable.length > 0) throw notListable(unreadable, namespace, undefined);
  const accounts = (world.serviceAccounts as readonly AnyObject[]).filter(refersToIt);
  const exports = (world.quotaExports as readonly AnyObject[]).filter(refersToIt);
  const ofAccounts = [...world.policyBindings, ...world.apiKeys].filter((user) =>
    accounts.some((account) => belongsTo(user, account)),
  );
  return stored([...accounts, ...ofAccounts, ...exports]);
}

/** The PolicyBindings and ApiKeys of an account, which need not exist. */
async function usersOfAccount(cluster: Cluster, namespace = "", name = ""): Listing {
  const { policyBindings, apiKeys } = await readUsers({ ...cluster, namespace }, name);
  const account = { metadata: { namespace, name } };
  return stored([...policyBindings, ...apiKeys.filter((each) => belongsTo(each, account))]);
}

/** The ApiKeys whose pair the Secret holds or is to hold. */
async function apiKeysOf({ kube }: Cluster, { metadata }: FileObject): Listing {
  const { namespace } = metadata;
  const apiKeys = await kube.list(typeOf("ApiKey"), { namespace });
  return stored(
    (apiKeys as readonly ApiKey[]).filter((apiKey) => targetSecretName(apiKey) === metadata.name),
  );
}

/** The stored connections that read the Secret or ConfigMap. Rejects with KubeError. */
export async function readersOf(
  { kube }: Cluster,
  source: FileObject,
  operatorNamespace: string,
): Listing {
  const { namespace } = source.metadata;
  const list = (kind: ConnectionRef["kind"], within?: string) =>
    kube.list(typeOf(kind), { namespace: within });
  const lists = await Promise.all([
    list("Connection", namespace),
    namespace === operatorNamespace ? list("ClusterConnection") : [],
  ]);
  return stored(lists.flat()).filter((each) => reads(each, source, operatorNamespace));
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

function stored(objects: readonly unknown[]): readonly StoredObject[] {
  return objects as readonly StoredObject[];
}
