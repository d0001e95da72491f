/** The objects that this operator reconciles, if several operators divide the objects by label selectors. */

import { parseLabelSelector } from "../kube/label-selector.ts";
import type { KubeObject } from "../kube/resource.ts";
import type { Caches } from "../reconciler/context.ts";
import type { KindModule } from "../reconciler/kind-module.ts";

/** Returns a function that recognizes the operator's own objects; an empty selector selects all objects. */
export function createSharding(
  kinds: readonly Pick<KindModule, "type" | "shardKeyObject">[],
  caches: Caches,
  selector: string,
): (object: KubeObject) => boolean {
  const selects = parseLabelSelector(selector);
  if (selector === "" || selects === undefined) return () => true;
  const modules = new Map(kinds.map((module) => [module.type.kind, module]));
  return (object) => {
    const { shardKeyObject } = modules.get(object.kind ?? "") ?? {};
    const shardKey = shardKeyObject === undefined ? object : shardKeyObject(object, caches);
    return shardKey === undefined || selects(shardKey.metadata.labels);
  };
}
