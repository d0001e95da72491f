/**
 * Bounds the size of cached objects: anyone who can create objects decides how large they are, and each object stays in
 * memory as long as it exists. The reconciler reads a shrunk object from the API server.
 */
import { annotations, FINALIZER, labels, requestAnnotations } from "../api/meta.ts";
import type { KubeObject } from "../kube/resource.ts";
import type { ObjectMeta } from "../util/object-meta.ts";

/** Characters of JSON. Ordinary objects are far smaller and are kept whole. */
const MOST_OF_OBJECT = 8_192;
const MOST_OF_STATUS = 16_384;
const MOST_OF_FIELD = 1_024;
/** The operator's schemas have fewer fields, with shorter names. */
const MOST_FIELDS = 64;
const LONGEST_NAME = 64;
/** Depth of `spec.secret`. Large values below it are left out as a whole. */
const DEEPEST = 1;
const SECRET_LABELS: readonly string[] = [labels.managedBy, labels.apiKey, labels.role];
const HELD_KEYS: readonly string[] = [annotations.keyId, annotations.previousKeyId];

type Entries = Readonly<Record<string, string>>;
type Fields = Readonly<Record<string, unknown>>;
interface Stored extends KubeObject {
  readonly spec?: Fields;
  readonly status?: Fields;
}

/**
 * Returns the object itself, or the kept part of a large object. `size` is at least the length of the object's JSON;
 * `selector` is the operator's own.
 */
export function shrink<T extends KubeObject>(object: T, selector: string, size: number): T {
  if (size <= MOST_OF_OBJECT || lengthOf(object) <= MOST_OF_OBJECT) return object;
  const { apiVersion, kind, metadata, spec, status }: Stored = object;
  const lacksStatus = lengthOf(status) > MOST_OF_STATUS;
  const kept = {
    apiVersion,
    kind,
    metadata: shrinkMetadata(metadata, selector),
    spec: spec && truncateFields(spec),
    status: status && (lacksStatus ? smallStatus(status) : status),
    isPartial: true,
    ...(lacksStatus ? { lacksStatus } : {}),
  };
  // Serialize and parse, because a substring keeps the whole text in memory.
  return JSON.parse(JSON.stringify(kept)) as T;
}

/**
 * Keeps of a Secret the labels that name its ApiKey and its role, its version, and the IDs of the keys that it
 * contains.
 */
export function shrinkSecret<T extends KubeObject>(object: T, size: number): T {
  const { creationTimestamp: _, ownerReferences: __, finalizers: ___, ...rest } = object.metadata;
  const metadata = {
    ...rest,
    labels: pick(rest.labels, (key) => SECRET_LABELS.includes(key)),
    annotations: pick(rest.annotations, (key) => HELD_KEYS.includes(key)),
  };
  const kept = { ...object, metadata };
  return size <= MOST_OF_OBJECT ? kept : (JSON.parse(JSON.stringify(kept)) as T);
}

function shrinkMetadata(metadata: ObjectMeta, selector: string): ObjectMeta {
  const {
    labels: tags,
    annotations: notes,
    finalizers,
    ownerReferences: _,
    ...identity
  } = metadata;
  return {
    ...identity,
    labels: pick(tags, (key) => selector.includes(key)),
    annotations: pick(notes, (key) => requestAnnotations.includes(key)),
    ...(finalizers?.includes(FINALIZER) ? { finalizers: [FINALIZER] } : {}),
  };
}

function truncateFields(fields: Fields, depth = 0): Fields {
  const kept = Object.entries(fields).flatMap(([name, value]) => {
    if (name.length > LONGEST_NAME) return [];
    if (lengthOf(value) <= MOST_OF_FIELD) return [[name, value] as const];
    return isFields(value) && depth < DEEPEST
      ? [[name, truncateFields(value, depth + 1)] as const]
      : [];
  });
  return Object.fromEntries(kept.slice(0, MOST_FIELDS));
}

/** Keeps the part of a status that other objects read: whether the object is ready, and why not. */
function smallStatus({ conditions, ...status }: Fields): Fields {
  if (!Array.isArray(conditions)) return truncateFields(status);
  const brief = conditions.map(({ type, status, reason }: Fields) => ({
    type: `${type}`.slice(0, LONGEST_NAME),
    status: `${status}`.slice(0, LONGEST_NAME),
    reason: `${reason}`.slice(0, LONGEST_NAME),
  }));
  return { ...truncateFields(status), conditions: brief.slice(0, MOST_FIELDS) };
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function lengthOf(value: unknown): number {
  return (JSON.stringify(value) ?? "").length;
}

function pick(entries: Entries = {}, isKept: (key: string) => boolean): Entries {
  return Object.fromEntries(
    Object.entries(entries)
      .filter(([key]) => isKept(key))
      .map(([key, value]) => [key, value.slice(0, MOST_OF_FIELD)]),
  );
}
