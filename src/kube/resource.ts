import type { ObjectMeta } from "../util/object-meta.ts";

/** Where a kind of object lives in the API. */
export interface ResourceType<T extends KubeObject = KubeObject> {
  /** "" for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Only carries the type of its objects. */
  readonly objectType?: T;
  /** What every object that is read, listed, watched or written back becomes at once; pure, and without effect on its result. */
  readonly asRead?: <Read extends KubeObject>(object: Read) => Read;
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  /** Of a cached object: the cache has left something out, and whoever needs it has to read the object. */
  readonly isPartial?: true;
  /** Of a partial one: lists of its status are among what is left out. */
  readonly lacksStatus?: true;
}

/** `object` as its type is read. */
export function asRead<T extends KubeObject>({ asRead }: ResourceType, object: T): T {
  return asRead === undefined ? object : asRead(object);
}

/** Names one object of a kind. `namespace` is "" for cluster-scoped ones. */
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
 * Compares resource versions of one resource: negative when `a` is older. They are decimal numbers of any
 * length, comparable since Kubernetes 1.35 (KEP-5504).
 */
export function compareResourceVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}
