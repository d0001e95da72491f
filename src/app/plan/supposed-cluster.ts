/**
 * A hypothetical cluster in which some objects are applied: caches and writes in memory over a cluster that is only
 * read.
 */
import { isDeepStrictEqual } from "node:util";
import type { Caches } from "../../controllers/frame/context.ts";
import { overlayKube } from "../../controllers/frame/plan/kube-overlay.ts";
import { PlanLog } from "../../controllers/frame/plan/plan-log.ts";
import { noMetrics } from "../../controllers/frame/plan/planning-context.ts";
import { kinds } from "../../controllers/kinds.ts";
import { configMapType, namespaceType, secretType } from "../../controllers/resource-types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type KubeReader, toKubeReader } from "../../kube/client/reader.ts";
import { isKubeError } from "../../kube/errors.ts";
import { type KubeObject, keyOf, type ResourceType } from "../../kube/resource.ts";
import type { StoreWriter } from "../../kube/store/memory-store.ts";
import { silentLog } from "../../util/log.ts";
import type { Random } from "../../util/random.ts";
import { type Clock, toIso8601 } from "../../util/time.ts";
import { createClusterCache } from "../caches.ts";

/** An object of the user, as written in a file. */
export interface GivenObject extends KubeObject {
  readonly kind: string;
  readonly spec?: unknown;
}

export interface SupposedCluster {
  readonly kube: KubeClient;
  readonly caches: Caches;
}

/** Given objects of these kinds have an effect; objects of other kinds are ignored. */
const types: readonly ResourceType[] = [
  namespaceType,
  secretType,
  configMapType,
  ...kinds.map(({ type }) => type),
];

function typeOfKind(kind: string): ResourceType | undefined {
  return types.find((type) => type.kind === kind);
}

/** Rejects if objects that the plan needs cannot be read. */
export async function supposeCluster(
  reader: KubeReader,
  objects: readonly GivenObject[],
  log: PlanLog,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<SupposedCluster> {
  const given = overlayKube(reader, new PlanLog());
  for (const object of objects) {
    const type = typeOfKind(object.kind);
    if (type !== undefined) await given.replace(type, await merged(reader, type, object, clock));
  }
  const cache = createClusterCache({
    api: { baseURL: "", userAgent: "", clock, send: unused, openStream: unused },
    namespaces: [],
    selector: "",
    watchSecrets: "false",
    clusterScoped: true,
    random,
    log: silentLog,
    metrics: noMetrics,
  });
  const namespaces = [...new Set(objects.map((object) => keyOf(object).namespace))];
  const writers = new Map<string, StoreWriter<KubeObject>>();
  for (const { type, store } of cache.types) {
    const writer = store.openScope("");
    writer.beginReplace()(await listed(given, type, namespaces), "0");
    writers.set(type.plural, writer);
  }
  const kube = overlayKube(toKubeReader(given), log, (type, object) =>
    writers.get(type.plural)?.put(object),
  );
  return { kube, caches: cache.caches };
}

/**
 * The object as applying it would leave it: replaces the whole spec, and adds to the existing labels and annotations.
 */
async function merged(
  reader: KubeReader,
  type: ResourceType,
  object: GivenObject,
  clock: Clock,
): Promise<KubeObject> {
  const stored: Partial<GivenObject> | undefined = await reader.get(type, keyOf(object));
  const { metadata, ...rest } = object;
  const made = { generation: 1, creationTimestamp: toIso8601(clock.now()) };
  if (stored?.metadata === undefined) return { ...rest, metadata: { ...made, ...metadata } };
  const isSame = isDeepStrictEqual(stored.spec, object.spec);
  const generation = (stored.metadata.generation ?? 0) + (isSame ? 0 : 1);
  const labels = { ...stored.metadata.labels, ...metadata.labels };
  const annotations = { ...stored.metadata.annotations, ...metadata.annotations };
  return {
    ...stored,
    ...rest,
    metadata: { ...stored.metadata, generation, labels, annotations },
  } as KubeObject;
}

/**
 * Cluster-scoped objects that the user has no permission to list count as absent, as they do for a tenant's operator.
 */
async function listed(
  reader: Pick<KubeReader, "list">,
  type: ResourceType,
  namespaces: readonly string[],
): Promise<readonly KubeObject[]> {
  const inNamespaces = namespaces.filter((namespace) => namespace !== "");
  if (type.namespaced)
    return (
      await Promise.all(inNamespaces.map((namespace) => reader.list(type, { namespace })))
    ).flat();
  try {
    return await reader.list(type);
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return [];
    throw error;
  }
}

async function unused(): Promise<never> {
  throw new Error("nothing is watched for a plan");
}
