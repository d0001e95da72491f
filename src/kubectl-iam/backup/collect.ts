/** Reads what a backup holds. */
import { clusterConnectionKind, connectionKind } from "../../api/connection.ts";
import { labels, MANAGED_BY } from "../../api/meta.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import { sourcesOf } from "../../connections/inputs.ts";
import type { Source } from "../../connections/source.ts";
import { keyText } from "../../kube/resource.ts";
import {
  configMapType,
  namespaceType,
  type Secret,
  secretType,
} from "../../kube/resource-types.ts";
import { isBeingDeleted } from "../../util/object-meta.ts";
import type { Options } from "../cli/options.ts";
import { type Cluster, scopeOf } from "../cluster/cluster.ts";
import type { FileObject } from "../cluster/given-objects.ts";
import type { AnyObject } from "../cluster/kinds.ts";
import { operatorNamespace } from "../cluster/operator.ts";
import {
  objectsOf,
  type Reading,
  readWorld,
  unlessForbidden,
  type World,
} from "../cluster/read.ts";
import { readAll } from "../cluster/read-all.ts";
import { usersOf } from "../cluster/relations.ts";
import { forgottenKeys, gapsOf } from "./gaps.ts";
import { keyIdIn, secretNamesOf } from "./key-secrets.ts";
import { inOrder, toManifest } from "./manifest.ts";

interface Backup {
  readonly objects: readonly FileObject[];
  readonly unreadable: Reading["unreadable"];
  /** What a restore from these objects lacks, one sentence each. */
  readonly gaps: readonly string[];
  /** What to know about a restore from them. */
  readonly remarks: readonly string[];
}

/** Rejects with KubeError. */
export async function collectBackup(cluster: Cluster, options: Options): Promise<Backup> {
  const scope = scopeOf(cluster, options);
  const { world: found, unreadable } = await readWorld(cluster, scope);
  // A gap names each ClusterConnection that the objects of a namespace use.
  const unread = unreadable.filter((kind) => scope === undefined || kind !== "ClusterConnection");
  const world = scope === undefined ? found : withUsedConnections(found);
  const own = objectsOf(world) as readonly (AnyObject & FileObject)[];
  const [inputs, pairs, namespaces] = await Promise.all([
    readInputs(cluster, world, options),
    options.withoutSecrets ? undefined : readPairs(cluster, world, scope),
    readNamespaces(cluster, own),
  ]);
  const stored = [...namespaces, ...inputs.objects, ...(pairs ?? []), ...own];
  const objects = stored.filter((each) => !isBeingDeleted(each)).map(toManifest);
  return {
    objects: inOrder(objects),
    unreadable: unread,
    gaps: [...inputs.gaps, ...gapsOf(world, pairs)],
    remarks: forgottenKeys(world),
  };
}

/** Without the ClusterConnections that only other namespaces use. */
function withUsedConnections(world: World): World {
  const clusterConnections = world.clusterConnections.filter(
    (each) => usersOf(each as AnyObject, world).length > 0,
  );
  return { ...world, clusterConnections };
}

interface Inputs {
  readonly objects: readonly FileObject[];
  readonly gaps: readonly string[];
}

/** The Secrets and ConfigMaps with the credentials and certificates of the connections. */
async function readInputs({ kube }: Cluster, world: World, options: Options): Promise<Inputs> {
  const found = new Map<string, FileObject>();
  const gaps: string[] = [];
  for (const { kind, at } of inputsOf(world, operatorNamespace(options))) {
    if (kind === "Secret" && options.withoutSecrets) continue;
    const type = kind === "Secret" ? secretType : configMapType;
    const object = await unlessForbidden(kube.get(type, at));
    if (object !== undefined) found.set(`${kind} ${keyText(at)}`, object as FileObject);
    else gaps.push(`A connection needs ${kind} ${keyText(at)}, which cannot be read: left out.`);
  }
  return { objects: [...found.values()], gaps };
}

function inputsOf({ clusterConnections, connections }: World, home: string): readonly Source[] {
  const sources = [
    ...clusterConnections.map((each) => ({
      spec: parseSpec(clusterConnectionKind, each),
      at: home,
    })),
    ...connections.map((each) => ({
      spec: parseSpec(connectionKind, each),
      at: each.metadata.namespace ?? "",
    })),
  ].flatMap(({ spec, at }) => (spec.ok ? sourcesOf(spec.spec, at) : []));
  return sources.filter((source) => source !== undefined);
}

/** The Secrets with the pairs of the ApiKeys, delivered and pending. */
async function readPairs(
  { kube }: Cluster,
  { apiKeys }: World,
  namespace: string | undefined,
): Promise<readonly (Secret & FileObject)[]> {
  const keyOf = new Map(
    apiKeys.flatMap((key) =>
      secretNamesOf(key).map((name) => [`${key.metadata.namespace}/${name}`, key.metadata.name]),
    ),
  );
  const labelSelector = `${labels.managedBy}=${MANAGED_BY}`;
  const isPair = (secret: Secret) => {
    const apiKey = keyOf.get(`${secret.metadata.namespace}/${secret.metadata.name}`);
    return apiKey !== undefined && keyIdIn(secret, apiKey) !== undefined;
  };
  return kube.collect(
    secretType,
    (secret) => (isPair(secret) ? (secret as Secret & FileObject) : undefined),
    { namespace, labelSelector },
  );
}

/** Grants can select namespaces by label. */
async function readNamespaces(
  { kube }: Cluster,
  objects: readonly FileObject[],
): Promise<readonly FileObject[]> {
  const names = new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []));
  const found = await readAll([...names], (name) =>
    unlessForbidden(kube.get(namespaceType, { namespace: "", name })),
  );
  return found.filter((each) => each !== undefined) as readonly FileObject[];
}
