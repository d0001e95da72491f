/** Reads objects of ours. */
import type { ListOptions } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/errors.ts";
import { UsageError } from "../cli/errors.ts";
import type { Options } from "../cli/options.ts";
import { type Cluster, notFound, scopeOf } from "./cluster.ts";
import {
  type AnyObject,
  type KindName,
  type Kinds,
  type ObjectName,
  toText,
  typeOf,
} from "./kinds.ts";

/** Everything of ours in one namespace, or in all. */
export interface World {
  readonly clusterConnections: readonly Kinds["ClusterConnection"][];
  readonly connections: readonly Kinds["Connection"][];
  readonly serviceAccounts: readonly Kinds["ServiceAccount"][];
  readonly policyBindings: readonly Kinds["PolicyBinding"][];
  readonly apiKeys: readonly Kinds["ApiKey"][];
  readonly quotaExports: readonly Kinds["ResourceQuotaExport"][];
}

export async function readWorld(
  { kube }: Cluster,
  namespace: string | undefined,
  labelSelector?: string,
): Promise<World> {
  const within: ListOptions = {
    ...(namespace === undefined ? {} : { namespace }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
  };
  const [clusterConnections, connections, serviceAccounts, policyBindings, apiKeys, quotaExports] =
    await Promise.all([
      unlessForbidden(kube.list(typeOf("ClusterConnection"), {})),
      kube.list(typeOf("Connection"), within),
      kube.list(typeOf("ServiceAccount"), within),
      kube.list(typeOf("PolicyBinding"), within),
      kube.list(typeOf("ApiKey"), within),
      kube.list(typeOf("ResourceQuotaExport"), within),
    ]);
  return {
    clusterConnections: clusterConnections ?? [],
    connections,
    serviceAccounts,
    policyBindings,
    apiKeys,
    quotaExports,
  };
}

/** The ApiKeys and PolicyBindings of one account in the cluster's namespace. Rejects with KubeError. */
export async function readUsers(
  { kube, namespace }: Cluster,
  account: string,
): Promise<Pick<World, "apiKeys" | "policyBindings">> {
  const of = { namespace, fieldSelector: `spec.serviceAccountRef.name=${account}` };
  const [apiKeys, policyBindings] = await Promise.all([
    kube.list(typeOf("ApiKey"), of),
    kube.list(typeOf("PolicyBinding"), of),
  ]);
  return { apiKeys, policyBindings };
}

/** `undefined` where the API server says that this is not for us to read. */
export async function unlessForbidden<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return undefined;
    throw error;
  }
}

/** Throws Failure where there is no such object. */
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

/** The objects that a command line names, or that its selector finds. Throws UsageError where it does neither. */
export async function selectObjects(
  cluster: Cluster,
  names: readonly ObjectName[],
  selectorKinds: readonly KindName[],
  options: Options,
): Promise<readonly AnyObject[]> {
  const { selector, allNamespaces, all } = options;
  if (names.length > 0 && (selector !== undefined || allNamespaces || all))
    throw new UsageError("give either names, or --all or --selector to select objects");
  if (names.length === 0 && selector === undefined && !all)
    throw new UsageError("name at least one object, or select some with --all or -l team=a");
  if (names.length > 0)
    return Promise.all(
      names.map(({ kind, name }) => readObject(cluster, kind, name) as Promise<AnyObject>),
    );
  const namespace = scopeOf(cluster, options);
  const lists = await Promise.all(
    selectorKinds.map((kind) =>
      cluster.kube.list(typeOf(kind) as never, {
        ...(namespace === undefined ? {} : { namespace }),
        ...(selector === undefined ? {} : { labelSelector: selector }),
      }),
    ),
  );
  return lists.flat() as readonly AnyObject[];
}
