import type { ObjectMeta } from "../util/object-meta.ts";

/** The location of a kind in the API. */
export interface ResourceType<T extends KubeObject = KubeObject> {
  /** "" for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Only carries the type of its objects. */
  readonly objectType?: T;
  /** Applied to every object from a read, list, watch or write. Pure and idempotent. */
  readonly asRead?: <Read extends KubeObject>(object: Read) => Read;
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  /** Set on a cached object if the cache omitted some fields; code that needs them must read the object. */
  readonly isPartial?: true;
  /** Set on a partial object if lists in its status are among the omitted fields. */
  readonly lacksStatus?: true;
}

/** Applies the `asRead` of its type to `object`. */
export function asRead<T extends KubeObject>({ asRead }: ResourceType, object: T): T {
  return asRead === undefined ? object : asRead(object);
}

/** Names one object of a kind. `namespace` is "" for cluster-scoped objects. */
export interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}

export function keyOf(object: KubeObject): ObjectKey {
  return { namespace: object.metadata.namespace ?? "", name: object.metadata.name };
}

/** `namespace/name`, or `name` for cluster-scoped objects; for maps, logs and messages. */
export function keyText({ namespace, name }: ObjectKey): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}

export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf("/");
  return slash < 0
    ? { namespace: "", name: text }
    : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

/**
 * Compares two resource versions of one resource; negative if `a` is older. Resource versions are decimal numbers of
 * any length and comparable since Kubernetes 1.35 (KEP-5504).
 */
export function compareResourceVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Whether a cached object lacks fields. */
export function isPartial(object: KubeObject | undefined): boolean {
  return object?.isPartial === true;
}

/** Whether the object was created earlier; of two objects of the same second, the one with the smaller uid. */
export function isCreatedEarlier(one: KubeObject, other: KubeObject): boolean {
  // RFC 3339 in UTC with whole seconds, so the strings sort like the times.
  const [time = "", otherTime = ""] = [one, other].map((each) => each.metadata.creationTimestamp);
  const [uid = "", otherUid = ""] = [one, other].map((each) => each.metadata.uid);
  return time === otherTime ? uid < otherUid : time < otherTime;
}
