/** Reads the operator's custom resources. */

import type { KindName, Kinds } from "../../api/kinds.ts";
import { isKubeError, KubeError } from "../../kube/errors.ts";
import type { Io } from "../cli/io.ts";
import { type Cluster, notFound } from "./cluster.ts";
import { type AnyObject, kindNames, kindOf, toText, typeOf } from "./kinds.ts";

/** The operator's custom resources in one namespace, or in all namespaces. */
export interface World {
  readonly clusterConnections: readonly Kinds["ClusterConnection"][];
  readonly connections: readonly Kinds["Connection"][];
  readonly serviceAccounts: readonly Kinds["ServiceAccount"][];
  readonly policyBindings: readonly Kinds["PolicyBinding"][];
  readonly apiKeys: readonly Kinds["ApiKey"][];
  readonly quotaExports: readonly Kinds["ResourceQuotaExport"][];
}

export interface Reading {
  readonly world: World;
  /** Requested kinds that cannot be listed for lack of permission. */
  readonly unreadable: readonly KindName[];
}

/**
 * Reads the requested kinds, by default all of them. Kinds that are not requested, or that cannot be listed for lack of
 * permission, are empty. Rejects with KubeError, even if the only failure is that no kind can be listed. Its message
 * then names all these kinds.
 */
export async function readWorld(
  { kube }: Cluster,
  namespace: string | undefined,
  {
    kinds = kindNames,
    labelSelector,
  }: { kinds?: readonly KindName[]; labelSelector?: string | undefined } = {},
): Promise<Reading> {
  const unreadable: { kind: KindName; error: unknown }[] = [];
  const read = async <Name extends KindName>(kind: Name): Promise<readonly Kinds[Name][]> => {
    if (!kinds.includes(kind)) return [];
    try {
      const type = typeOf(kind);
      // ClusterConnections are few, and objects that match a selector need ClusterConnections without its labels.
      return await kube.list(type, type.namespaced ? { namespace, labelSelector } : {});
    } catch (error) {
      if (!isKubeError(error, "Forbidden")) throw error;
      unreadable.push({ kind, error });
      return [];
    }
  };
  const [clusterConnections, connections, serviceAccounts, policyBindings, apiKeys, quotaExports] =
    await Promise.all([
      read("ClusterConnection"),
      read("Connection"),
      read("ServiceAccount"),
      read("PolicyBinding"),
      read("ApiKey"),
      read("ResourceQuotaExport"),
    ]);
  if (unreadable.length > 0 && unreadable.length === kinds.length)
    throw notListable(kinds, namespace, unreadable[0]?.error);
  return {
    world: {
      clusterConnections,
      connections,
      serviceAccounts,
      policyBindings,
      apiKeys,
      quotaExports,
    },
    unreadable: kindNames.filter((name) => unreadable.some(({ kind }) => kind === name)),
  };
}

/** The error for kinds that cannot be listed. Names all of them, in the order of the CRDs. */
export function notListable(
  unlisted: readonly KindName[],
  namespace: string | undefined,
  cause: unknown,
): KubeError {
  const plurals = kindNames
    .filter((kind) => unlisted.includes(kind))
    .map((kind) => kindOf(kind).plural);
  const isOfCluster = unlisted.every((kind) => !typeOf(kind).namespaced);
  const scope = namespace === undefined ? " in all namespaces" : ` in namespace ${namespace}`;
  return new KubeError(
    "Forbidden",
    `you do not have permission to list ${plurals.join(", ")}${isOfCluster ? "" : scope}`,
    { status: 403, reason: "Forbidden", cause },
  );
}

export function objectsOf(world: World): readonly AnyObject[] {
  return Object.values(world).flat() as readonly AnyObject[];
}

/** Prints one line about the kinds that are left out; nothing if all kinds are shown. */
export function noteUnreadable(io: Pick<Io, "note">, unreadable: readonly KindName[]): void {
  if (unreadable.length === 0) return;
  const plurals = unreadable.map((kind) => kindOf(kind).plural).join(", ");
  io.note(`Not shown, since you do not have permission to list them: ${plurals}.`);
}

/**
 * The PolicyBindings of one account in the cluster's namespace, and all ApiKeys there: an ApiKey that has moved can still
 * have keys of the account. Rejects with KubeError.
 */
export async function readUsers(
  { kube, namespace }: Cluster,
  account: string,
): Promise<Pick<World, "apiKeys" | "policyBindings">> {
  const fieldSelector = `spec.serviceAccountRef.name=${account}`;
  const [apiKeys, policyBindings] = await Promise.all([
    kube.list(typeOf("ApiKey"), { namespace }),
    kube.list(typeOf("PolicyBinding"), { namespace, fieldSelector }),
  ]);
  return { apiKeys, policyBindings };
}

/** `undefined` if the API server denies the permission. */
export async function unlessForbidden<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return undefined;
    throw error;
  }
}

/** Throws Failure if the object does not exist. */
export async function readObject<Name extends KindName>(
  { kube, namespace }: Cluster,
  kind: Name,
  name: string,
): Promise<Kinds[Name]> {
  const type = typeOf(kind);
  const within = type.namespaced ? namespace : "";
  const found = await kube.get(type, { namespace: within, name });
  if (found === undefined) throw notFound(toText({ kind, name }), within);
  return found;
}

/** `undefined` if the object does not exist or cannot be read. */
export async function findObject<Name extends KindName>(
  { kube, namespace }: Cluster,
  { kind, name }: { readonly kind: Name; readonly name: string },
): Promise<Kinds[Name] | undefined> {
  const type = typeOf(kind);
  return unlessForbidden(kube.get(type, { namespace: type.namespaced ? namespace : "", name }));
}
