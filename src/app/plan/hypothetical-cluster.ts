/** A hypothetical cluster in which some objects are applied, over a cluster that is only read. */
import { isDeepStrictEqual } from "node:util";
import type { ServiceAccount } from "../../api/service-account.ts";
import type { KubeReader } from "../../kube/client/reader.ts";
import { isKubeError } from "../../kube/errors.ts";
import {
  asRead,
  type KubeObject,
  keyOf,
  keyText,
  type ObjectKey,
  type ResourceType,
} from "../../kube/resource.ts";
import type { StoreWriter } from "../../kube/store/memory-store.ts";
import type { Caches } from "../../reconciler/context.ts";
import { serviceAccountType } from "../../resources/resource-types.ts";
import { silentLog } from "../../util/log.ts";
import type { Random } from "../../util/random.ts";
import { type Clock, toIso8601 } from "../../util/time.ts";
import { createClusterCache } from "../caches.ts";
import { type GivenObject, typeOfGiven } from "./given-object.ts";
import { claimTypes, isImport } from "./imports.ts";
import { noMetrics } from "./unobserved.ts";

export interface HypotheticalCluster {
  readonly kube: KubeReader;
  readonly caches: Caches;
  /** Adds an object, or replaces an object or its status. */
  put(type: ResourceType, object: KubeObject): void;
  /** Whether the user may not list a type in the whole cluster: its absent objects may exist. */
  isUnlisted(type: ResourceType): boolean;
}

/** Rejects if objects that the plan needs cannot be read. */
export async function createHypotheticalCluster(
  reader: KubeReader,
  objects: readonly GivenObject[],
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<HypotheticalCluster> {
  const hypothetical = new HypotheticalObjects(reader);
  for (const object of objects) {
    const type = typeOfGiven(object);
    if (type !== undefined) hypothetical.put(type, await merged(reader, type, object, clock));
  }
  const { caches, types: cached } = createClusterCache({
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
  const isImporting = hypothetical.listOwn<ServiceAccount>(serviceAccountType).some(isImport);
  const writers = new Map<string, StoreWriter<KubeObject>>();
  const unlisted = new Set<string>();
  for (const { type, store } of cached) {
    const writer = store.openScope("");
    const isClaim = claimTypes.some(({ plural }) => plural === type.plural);
    const isWhole = !type.namespaced || (isImporting && isClaim);
    const all = isWhole ? await listAll(hypothetical, type) : undefined;
    if (isWhole && all === undefined) unlisted.add(type.plural);
    writer.beginReplace()(all ?? (await listIn(hypothetical, type, namespaces)), "0");
    writers.set(type.plural, writer);
  }
  return {
    kube: hypothetical,
    caches,
    put: (type, object) => writers.get(type.plural)?.put(hypothetical.put(type, object)),
    isUnlisted: ({ plural }) => unlisted.has(plural),
  };
}

/** Higher than the versions of any real API server. */
const FIRST_VERSION = 10n ** 18n;

/** Reads a cluster, with some objects that differ from the stored objects. */
class HypotheticalObjects implements KubeReader {
  readonly #reader: KubeReader;
  readonly #objects = new Map<
    string,
    { readonly type: ResourceType; readonly object: KubeObject }
  >();
  #version = FIRST_VERSION;

  constructor(reader: KubeReader) {
    this.#reader = reader;
  }

  /** Returns the object as the API server would return it. Of new objects, the first that is put is the oldest. */
  put(type: ResourceType, wanted: KubeObject): KubeObject {
    const key = keyOf(wanted);
    this.#version += 1n;
    const { uid = `new:${this.#version}` } = wanted.metadata;
    const metadata = { ...wanted.metadata, uid, resourceVersion: String(this.#version) };
    const object = asRead(type, { ...wanted, metadata });
    this.#objects.set(idOf(type, key), { type, object });
    return object;
  }

  get: KubeReader["get"] = async (type, key, options) => {
    const hypothetical = this.#objects.get(idOf(type, key));
    return hypothetical === undefined
      ? this.#reader.get(type, key, options)
      : (hypothetical.object as never);
  };

  /** Hypothetical objects are in every list of their namespace, even if they do not match its selectors. */
  list: KubeReader["list"] = async (type, options = {}) => {
    const stored = await this.#reader.list(type, options);
    const others = stored.filter((each) => !this.#objects.has(idOf(type, keyOf(each))));
    return [...others, ...this.listOwn(type, options.namespace)];
  };

  listOwn<T extends KubeObject>(type: ResourceType<T>, namespace?: string): readonly T[] {
    const own = [...this.#objects.values()].filter(
      ({ type: { group, plural }, object }) =>
        group === type.group &&
        plural === type.plural &&
        (namespace ?? keyOf(object).namespace) === keyOf(object).namespace,
    );
    return own.map(({ object }) => object as T);
  }

  collect: KubeReader["collect"] = async (type, digest, options) =>
    (await this.list(type, options)).map(digest).filter((each) => each !== undefined);
}

function idOf({ group, plural }: ResourceType, key: ObjectKey): string {
  return `${group}/${plural}/${keyText(key)}`;
}

/** The given object with the metadata that only the API server writes, and with the stored status. */
async function merged(
  reader: KubeReader,
  type: ResourceType,
  object: GivenObject,
  clock: Clock,
): Promise<KubeObject> {
  const stored: Partial<GivenObject> | undefined = await reader.get(type, keyOf(object));
  const { metadata, ...rest } = object;
  const { uid: _, ...given } = metadata;
  const made = { generation: 1, creationTimestamp: toIso8601(clock.now()) };
  if (stored?.metadata === undefined) return { ...rest, metadata: { ...given, ...made } };
  const isSame = isDeepStrictEqual(stored.spec, object.spec);
  const generation = (stored.metadata.generation ?? 0) + (isSame ? 0 : 1);
  const { labels, annotations } = metadata;
  return {
    ...stored,
    ...rest,
    metadata: { ...stored.metadata, generation, labels, annotations },
  } as KubeObject;
}

/** `undefined` if the user may not list the type in the whole cluster. */
async function listAll(
  reader: Pick<KubeReader, "list">,
  type: ResourceType,
): Promise<readonly KubeObject[] | undefined> {
  try {
    return await reader.list(type);
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return undefined;
    throw error;
  }
}

/** Of a cluster-scoped type, only the given objects. */
async function listIn(
  reader: HypotheticalObjects,
  type: ResourceType,
  namespaces: readonly string[],
): Promise<readonly KubeObject[]> {
  if (!type.namespaced) return reader.listOwn(type);
  const inNamespaces = namespaces.filter((namespace) => namespace !== "");
  const lists = inNamespaces.map((namespace) => reader.list(type, { namespace }));
  return (await Promise.all(lists)).flat();
}

async function unused(): Promise<never> {
  throw new Error("nothing is watched for a plan");
}
