/** A cluster of which only the reading half is there: what would be written is noted, and remembered for later reads. */
import type { KubeClient, ListOptions, WriteOptions } from "../../../kube/client/client.ts";
import type { KubeReader } from "../../../kube/client/reader.ts";
import {
  type KubeObject,
  keyOf,
  keyText,
  type ObjectKey,
  type ResourceType,
} from "../../../kube/resource.ts";
import { secretType } from "../../resource-types.ts";
import { mergePatch } from "./merge-patch.ts";
import type { PlanLog } from "./plan-log.ts";

/** Objects that are not stored as they are here; `undefined` is gone. */
type Changes = Map<string, { readonly type: ResourceType; readonly object?: KubeObject }>;

/**
 * Objects of the changes are in every list of their namespace, whatever its selectors say. Conflicts are not noticed:
 * resource versions stay as they were read.
 */
export function overlayKube(
  reader: KubeReader,
  plan: PlanLog,
  changes: Changes = new Map(),
): KubeClient {
  const get: KubeReader["get"] = async <T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    options?: object,
  ) => {
    const changed = changes.get(idOf(type, key));
    return changed === undefined ? reader.get(type, key, options) : (changed.object as T);
  };
  const keep = <T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    { dryRun }: WriteOptions = {},
  ): T => {
    if (dryRun === true) return object;
    changes.set(idOf(type, keyOf(object)), { type, object });
    if (isSecret(type)) plan.writeSecret(keyText(keyOf(object)));
    else plan.noteEffect();
    return object;
  };
  const patch = async <T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    change: object,
    options?: WriteOptions,
  ) => {
    const stored = (await get(type, key, options)) ?? { metadata: { ...key } };
    return keep(type, identified(mergePatch(stored, change) as T), options);
  };
  return {
    ...reader,
    get,
    list: async (type, options) =>
      withChanges(type, await reader.list(type, options), changes, options),
    create: async (type, object, options) => keep(type, identified(object), options),
    apply: (type, object, options) => patch(type, keyOf(object), object, options),
    mergePatch: patch,
    replace: async (type, object, options) => keep(type, object, options),
    delete: async (type, key, _, { dryRun } = {}) => {
      if (dryRun === true) return;
      const isStored = (await reader.get(type, key)) !== undefined;
      changes.set(idOf(type, key), { type });
      if (isSecret(type)) plan.deleteSecret(keyText(key), isStored);
      else plan.noteEffect();
    },
  };
}

function withChanges<T extends KubeObject>(
  type: ResourceType<T>,
  stored: readonly T[],
  changes: Changes,
  { namespace }: ListOptions = {},
): readonly T[] {
  const here = [...changes.values()].filter(({ type: { group, plural } }) => {
    return group === type.group && plural === type.plural;
  });
  const changed = here.flatMap(({ object }) =>
    object !== undefined && (namespace ?? keyOf(object).namespace) === keyOf(object).namespace
      ? [object as T]
      : [],
  );
  return [...stored.filter((each) => !changes.has(idOf(type, keyOf(each)))), ...changed];
}

/** As the API server would answer. */
function identified<T extends KubeObject>(object: T): T {
  const made = { uid: `new:${keyText(keyOf(object))}`, resourceVersion: "0" };
  return { ...object, metadata: { ...made, ...object.metadata } };
}

function idOf({ group, plural }: ResourceType, key: ObjectKey): string {
  return `${group}/${plural}/${keyText(key)}`;
}

function isSecret({ group, plural }: ResourceType): boolean {
  return group === secretType.group && plural === secretType.plural;
}
