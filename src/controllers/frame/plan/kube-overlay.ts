/** A cluster client without writes: it notes the objects that would be written and shows them in later reads. */
import { BINDINGS_FIELD_MANAGER } from "../../../api/meta.ts";
import type {
  ApplyOptions,
  KubeClient,
  ListOptions,
  WriteOptions,
} from "../../../kube/client/client.ts";
import type { KubeReader } from "../../../kube/client/reader.ts";
import {
  asRead,
  type KubeObject,
  keyOf,
  keyText,
  type ObjectKey,
  type ResourceType,
} from "../../../kube/resource.ts";
import { secretType } from "../../resource-types.ts";
import { mergePatch } from "./merge-patch.ts";
import type { PlanLog } from "./plan-log.ts";

/** Objects that differ from the stored objects; without `object`, the object is deleted. */
type Changes = Map<string, { readonly type: ResourceType; readonly object?: KubeObject }>;

/** Higher than the versions of any real API server. */
const FIRST_VERSION = 10n ** 18n;

/**
 * Changed objects are in every list of their namespace, even if they do not match its selectors. Preconditions are not
 * compared: an overlay has only one writer. `onWrite` is called with every object that would be written.
 */
export function overlayKube(
  reader: KubeReader,
  plan: PlanLog,
  onWrite: (type: ResourceType, object: KubeObject) => void = () => undefined,
): KubeClient {
  const changes: Changes = new Map();
  const versions = { last: FIRST_VERSION };
  const get: KubeReader["get"] = async (type, key, options) => {
    const changed = changes.get(idOf(type, key));
    return changed === undefined ? reader.get(type, key, options) : (changed.object as never);
  };
  const keep = async <T extends KubeObject>(
    type: ResourceType<T>,
    wanted: T,
    { dryRun }: WriteOptions = {},
  ): Promise<T> => {
    if (dryRun === true) return wanted;
    const object = asRead(type, asStored(wanted, versions));
    changes.set(idOf(type, keyOf(object)), { type, object });
    if (isSecret(type)) plan.writeSecret(keyText(keyOf(object)));
    else plan.noteEffect();
    onWrite(type, object);
    return object;
  };
  const patch: KubeClient["mergePatch"] = async (type, key, change, options) => {
    const stored = (await get(type, key, options)) ?? { metadata: { ...key } };
    return keep(type, mergePatch(stored, change) as typeof stored & never, options);
  };
  return {
    ...reader,
    get,
    list: async (type, options) =>
      withChanges(type, await reader.list(type, options), changes, options),
    create: keep,
    apply: async (type, object, options) => {
      if (options?.subresource !== "status") return patch(type, keyOf(object), object, options);
      const stored = (await get(type, keyOf(object), options)) ?? object;
      return keep(type, withStatus(stored, object, options) as never, options);
    },
    mergePatch: patch,
    replace: keep,
    delete: async (type, key, _, { dryRun } = {}) => {
      if (dryRun === true) return;
      const isStored = (await reader.get(type, key)) !== undefined;
      changes.set(idOf(type, key), { type });
      if (isSecret(type)) plan.deleteSecret(keyText(key), isStored);
      else plan.noteEffect();
    },
  };
}

interface WithStatus extends KubeObject {
  readonly status?: Readonly<Record<string, unknown>>;
}

/**
 * Each field manager replaces only its own fields: the bindings' manager `bindings`, the operator's all other fields.
 */
function withStatus(
  stored: WithStatus,
  { status: applied }: WithStatus,
  { fieldManager }: ApplyOptions,
): WithStatus {
  const { bindings, ...own } = stored.status ?? {};
  const kept = fieldManager === BINDINGS_FIELD_MANAGER ? own : { bindings };
  const fields = Object.entries({ ...kept, ...applied });
  return {
    ...stored,
    status: Object.fromEntries(fields.filter(([, value]) => value !== undefined)),
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

/** The object as the API server would return it: with a uid and a version higher than all previous versions. */
function asStored<T extends KubeObject>(object: T, versions: { last: bigint }): T {
  const { uid = `new:${keyText(keyOf(object))}`, resourceVersion = "0" } = object.metadata;
  const before = BigInt(resourceVersion || 0);
  versions.last = (before > versions.last ? before : versions.last) + 1n;
  const metadata = { ...object.metadata, uid, resourceVersion: String(versions.last) };
  return { ...object, metadata };
}

function idOf({ group, plural }: ResourceType, key: ObjectKey): string {
  return `${group}/${plural}/${keyText(key)}`;
}

function isSecret({ group, plural }: ResourceType): boolean {
  return group === secretType.group && plural === secretType.plural;
}
