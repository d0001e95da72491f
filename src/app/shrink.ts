/**
 * What the caches keep of large objects: whoever may create objects decides how large they are, and each of them stays in
 * memory for as long as it exists. The reconciler reads a shrunk object from the API server when it is its turn.
 */
import { annotations } from "../api/meta.ts";
import type { KubeObject } from "../kube/resource.ts";

/** Ordinary objects are far smaller, and are kept whole. */
const MOST_BYTES = 4_096;
/** More than any request that is heeded. */
const MOST_OF_REQUEST = 1_024;
const REQUESTS: readonly string[] = [
  annotations.reconcileRequestedAt,
  annotations.rotateRequestedAt,
];
const HELD_KEYS: readonly string[] = [annotations.keyId, annotations.previousKeyId];

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
type Entries = Readonly<Record<string, string>>;
interface WithSecret extends KubeObject {
  readonly spec?: { readonly secret?: { data?: unknown; labels?: unknown; annotations?: unknown } };
}

/** Drops what only the reconciler needs, where it is large; changes the object. `selector` is the operator's own. */
export function shrink<T extends KubeObject>(object: T, selector: string): T {
  const metadata = object.metadata as Mutable<T["metadata"]>;
  const { labels, annotations: notes, ownerReferences } = metadata;
  if (isLarge([labels, notes, ownerReferences])) {
    delete metadata.ownerReferences;
    metadata.labels = pick(labels, (key) => selector.includes(key));
    metadata.annotations = pick(notes, (key) => REQUESTS.includes(key));
    markPartial(object);
  }
  return object;
}

/** The same for an ApiKey, whose Secret may have 64 KiB of templates. */
export function shrinkApiKey<T extends WithSecret>(object: T, selector: string): T {
  const secret = object.spec?.secret;
  if (secret !== undefined && isLarge(secret)) {
    delete secret.data;
    delete secret.labels;
    delete secret.annotations;
    markPartial(object);
  }
  return shrink(object, selector);
}

/** Of a Secret: which ApiKey's it is, its version, and which keys it says that it has. */
export function shrinkSecret<T extends KubeObject>(object: T): T {
  const { creationTimestamp: _, ownerReferences: __, ...metadata } = object.metadata;
  const kept = pick(metadata.annotations, (key) => HELD_KEYS.includes(key));
  return { ...object, metadata: { ...metadata, annotations: kept } };
}

function isLarge(value: unknown): boolean {
  return JSON.stringify(value).length > MOST_BYTES;
}

function pick(entries: Entries = {}, isKept: (key: string) => boolean): Entries {
  return Object.fromEntries(
    Object.entries(entries)
      .filter(([key]) => isKept(key))
      .map(([key, value]) => [key, value.slice(0, MOST_OF_REQUEST)]),
  );
}

function markPartial(object: KubeObject): void {
  (object as Mutable<KubeObject>).isPartial = true;
}
