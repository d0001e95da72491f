import type { KubeObject, ObjectKey, ResourceType } from "../resource.ts";

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface WriteOptions extends CallOptions {
  /** Runs admission, quota and validation without storing the object. The answer is as secret as the object. */
  readonly dryRun?: boolean;
  /** Rejects with BadRequest if the object has unknown fields. */
  readonly strict?: boolean;
}

export interface PatchOptions extends WriteOptions {
  readonly subresource?: "status" | undefined;
}

export interface ApplyOptions extends PatchOptions {
  /** Defaults to the operator's own field manager. */
  readonly fieldManager?: string | undefined;
}

export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface ListOptions extends CallOptions {
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Returns objects without spec, status and data. */
  readonly metadataOnly?: boolean | undefined;
}

/**
 * The Kubernetes API for any kind of object. Every method sends its request once and rejects with KubeError only.
 * Mutating calls reject with NotLeading while the lease may be lost.
 */
export interface KubeClient {
  /** `undefined` if the object does not exist. */
  get<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    options?: CallOptions,
  ): Promise<T | undefined>;
  /** Resolves to the objects of all pages; rejects if a page is missing. */
  list<T extends KubeObject>(type: ResourceType<T>, options?: ListOptions): Promise<readonly T[]>;
  /** Like {@link KubeClient.list}, but keeps only the result of `digest` for each object, page by page. */
  collect<T extends KubeObject, R>(
    type: ResourceType<T>,
    digest: (object: T) => R | undefined,
    options?: ListOptions,
  ): Promise<readonly R[]>;
  /** Rejects with AlreadyExists if the name is in use. */
  create<T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    options?: WriteOptions,
  ): Promise<T>;
  /**
   * Server-side apply with force. `metadata.uid` and `metadata.resourceVersion`, if given, are preconditions
   * (Conflict). Creates the object if it does not exist and no uid is given, whatever the resourceVersion. On a
   * subresource, a uid without a resourceVersion costs a read, because the server ignores the uid there.
   */
  apply<T extends KubeObject>(
    type: ResourceType<T>,
    object: KubeObject & object,
    options?: ApplyOptions,
  ): Promise<T>;
  /** JSON merge patch. Preconditions belong in `metadata`. */
  mergePatch<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: object,
    options?: PatchOptions,
  ): Promise<T>;
  /** Full replacement of an object that was read before; its resourceVersion is the precondition. */
  replace<T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    options?: WriteOptions,
  ): Promise<T>;
  /**
   * Resolves even if the object no longer exists, but a NotFound is confirmed by a read. Rejects with Conflict if a
   * precondition fails.
   */
  delete(
    type: ResourceType,
    key: ObjectKey,
    preconditions: Preconditions,
    options?: WriteOptions,
  ): Promise<void>;
}
