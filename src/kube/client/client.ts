import type { KubeObject, ObjectKey, ResourceType } from "../resource.ts";

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export interface WriteOptions extends CallOptions {
  /** Runs admission, quota and validation without storing anything. The answer is as secret as the object. */
  readonly dryRun?: boolean;
}

export interface ApplyOptions extends WriteOptions {
  readonly subresource?: "status";
  /** Defaults to the operator's own field manager. */
  readonly fieldManager?: string;
}

export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface ListOptions extends CallOptions {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/**
 * The Kubernetes API for any kind of object. Every method sends its request once and rejects with KubeError
 * only; mutating calls are refused with NotLeading while the lease may be lost.
 */
export interface KubeClient {
  /** `undefined` where the object does not exist. */
  get<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    options?: CallOptions,
  ): Promise<T | undefined>;
  /** Every page; all or nothing. */
  list<T extends KubeObject>(type: ResourceType<T>, options?: ListOptions): Promise<readonly T[]>;
  /** As {@link KubeClient.list}, but keeps only what `digest` makes of each object, page by page. */
  collect<T extends KubeObject, R>(
    type: ResourceType<T>,
    digest: (object: T) => R | undefined,
    options?: ListOptions,
  ): Promise<readonly R[]>;
  /** AlreadyExists where the name is taken. */
  create<T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    options?: WriteOptions,
  ): Promise<T>;
  /**
   * Server-side apply with force. `metadata.uid` and `metadata.resourceVersion`, where given, are
   * preconditions (Conflict). Creates the object where it does not exist and no uid is given, whatever the
   * resourceVersion. On a subresource a uid without a resourceVersion costs a read, since the server ignores it there.
   */
  apply<T extends KubeObject>(
    type: ResourceType<T>,
    object: KubeObject & object,
    options?: ApplyOptions,
  ): Promise<T>;
  /** JSON merge patch; put preconditions into `metadata`. */
  mergePatch<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: object,
    options?: WriteOptions,
  ): Promise<T>;
  /** Full replacement of an untyped object read before; its resourceVersion is the precondition. */
  replace<T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    options?: WriteOptions,
  ): Promise<T>;
  /** Resolves also where the object is already gone; Conflict where a precondition fails. */
  delete(
    type: ResourceType,
    key: ObjectKey,
    preconditions: Preconditions,
    options?: WriteOptions,
  ): Promise<void>;
}
