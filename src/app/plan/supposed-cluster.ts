/** A cluster as it would be with some objects applied: what it holds, in caches, over one that can only be read. */
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

/** A person's object, as a file has it. */
export interface GivenObject extends KubeObject {
  readonly kind: string;
  readonly spec?: unknown;
}

export interface SupposedCluster {
  readonly kube: KubeClient;
  readonly caches: Caches;
}

/** What objects of these kinds say counts; others are left out. */
const types: readonly ResourceType[] = [
  namespaceType,
  secretType,
  configMapType,
  ...kinds.map(({ type }) => type),
];

function typeOfKind(kind: string): ResourceType | undefined {
  return types.find((type) => type.kind === kind);
}

/** Rejects where what concerns the objects cannot be read. */
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

/** As applying it would leave it: its spec as a whole, and its labels and annotations besides those that are there. */
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

/** What a person may not read of the cluster's own counts as absent, as it does for a tenant's operator. */
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
