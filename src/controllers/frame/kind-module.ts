import type { KubeObject, ResourceType } from "../../kube/resource.ts";
import type { IndexFunction } from "../../kube/store/store-index.ts";

/** Everything about a kind that is not its schema. The list of all modules is `controllers/kinds.ts`. */
export interface KindModule<T extends KubeObject = KubeObject> {
  readonly type: ResourceType<T>;
  readonly cache?: KindCache<T>;
}

/** How the objects of a kind are kept in memory. */
export interface KindCache<T extends KubeObject> {
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>>;
  /**
   * What is kept of an object: `trimmed` is what is kept of a large one by default, and the object itself otherwise.
   * Absent: `trimmed`.
   */
  keep?(trimmed: T, whole: T): T;
}

/** A module without the type of its objects, so that modules can be listed. */
export function defineKind<T extends KubeObject>(module: KindModule<T>): KindModule {
  return module as unknown as KindModule;
}
